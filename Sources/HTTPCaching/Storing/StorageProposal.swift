// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// A response that is about to be stored, whole, as the application may still change it.
public struct StorageProposal: Sendable {
  /// What it answers.
  public let request: HTTPRequest
  /// The head that is stored.
  public let response: HTTPResponse
  /// The content that is stored. Of a response that is only a part of one (RFC 9111 §3.3), a change counts for nothing.
  public var content: [UInt8]
  /// Where the response is kept; nowhere refuses it.
  public var tiers = StoreTiers.all
  /// Bytes of the application's own, kept beside the response for as long as that is stored.
  public var annotation: [UInt8]?

  init(request: HTTPRequest, response: HTTPResponse, content: [UInt8]) {
    self.request = request
    self.response = response
    self.content = content
  }
}

/// Called before a response is stored, after the rules have allowed it. It must not block.
///
/// The response stays in memory until then, however large. Where one request serves several callers, that of the first
/// is asked; the caller gets the content as it came.
public typealias StorageHook = @Sendable (inout StorageProposal) -> Void

extension HTTPCache {
  /// Makes what is written visible, after the application has had its say.
  ///
  /// - Parameters:
  ///   - isBeginning: whether less has come than was announced, and `stored` says how much.
  ///   - isOvertaken: whether an entry in the same place keeps this one from being stored.
  func commit(
    _ writer: EntryWriter, as stored: StoredResponse, isBeginning: Bool = false,
    unless isOvertaken: (@Sendable (StoredEntry) -> Bool)?, for request: HTTPRequest,
    _ willStore: StorageHook?
  ) -> Result<EntryID, Refused> {
    let metadata = isBeginning ? stored.encoded() : nil
    guard let willStore, let taken = writer.takeEntry() else {
      return Self.result(
        writer.commit(metadata: metadata, unless: isOvertaken, keepsContent: stored.parts != nil), of: stored)
    }
    var entry = taken.entry
    metadata.map { entry.metadata = $0 }
    var proposal = StorageProposal(
      request: request, response: stored.response(age: nil), content: entry.body)
    willStore(&proposal)
    if proposal.tiers.isEmpty { return .failure(Refused(.refusedByApplication)) }
    if stored.parts == nil, proposal.content != entry.body {
      var edited = stored
      edited.replaceContent(count: proposal.content.count)
      entry.metadata = edited.encoded()
      entry.body = proposal.content
    }
    entry.tiers = proposal.tiers
    return insert(
      entry, annotation: proposal.annotation, unlessRemovedSince: taken.token, unless: isOvertaken, of: stored
    )
  }

  /// Stores an entry, and what is to be kept beside it.
  func insert(
    _ entry: NewEntry, annotation: [UInt8]?, unlessRemovedSince token: RemovalToken?,
    unless isOvertaken: (@Sendable (StoredEntry) -> Bool)? = nil, of stored: StoredResponse
  ) -> Result<EntryID, Refused> {
    let result = Self.result(
      store.insert(entry, unlessRemovedSince: token, unless: isOvertaken), of: stored)
    if let annotation, case .success(let id) = result {
      store.insert(Annotation(annotation, of: id).entry(beside: entry), unlessRemovedSince: token)
    }
    return result
  }

  private static func result(_ outcome: InsertOutcome, of stored: StoredResponse) -> Result<EntryID, Refused>
  {
    switch outcome {
    case .stored(let id): .success(id)
    case .refused(let refusal) where refusal.reason == .overtaken && stored.parts != nil:
      .failure(Refused(.partNotCombined))
    case .refused(let refusal): .failure(Refused(refusal))
    }
  }
}

/// A response was not stored.
struct Refused: Error {
  let reason: CacheEngine.Reason
  /// What the store says, where it refused.
  let refusal: InsertRefusal?

  init(_ reason: CacheEngine.Reason) {
    self.reason = reason
    refusal = nil
  }

  init(_ refusal: InsertRefusal) {
    reason = CacheEngine.Reason(refusal.reason)
    self.refusal = refusal
  }
}
