// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import Synchronization

/// A response from the store or from the origin, and why the client gets it.
public struct CachedResponse: Sendable {
  /// Where a response came from.
  public enum Source: String, Hashable, Sendable, CaseIterable, Codable {
    /// From the store, fresh.
    case hit
    /// From the store, stale; ``CachedResponse/reason`` says why that was allowed.
    case stale
    /// From the store, after the origin validated it.
    case validated
    /// From the origin.
    case network
    /// Generated here: 504, because `only-if-cached` could not be met, or because a stored response must be revalidated
    /// and the origin cannot be reached.
    case generated
  }

  private var heading: Heading

  private enum Heading: Sendable {
    case made(HTTPResponse)
    case stored(StoredHeading)
  }

  /// The status and the fields, with `Age` and `Cache-Status` where they apply.
  ///
  /// - Complexity: O(1), but for the first time that it is read of a ``Source/hit``: then it is made of the stored bytes,
  ///   in O(*n*) in the number of fields. Whoever wants the content alone never pays for it.
  public var head: HTTPResponse {
    get {
      switch heading {
      case .made(let head): head
      case .stored(let heading): heading.response
      }
    }
    set { heading = .made(newValue) }
  }
  /// The content.
  public var body: MessageBody
  /// Where the response came from.
  public var source: Source
  /// Why the client gets this response.
  public var reason: CacheEngine.Reason
  /// Whether the origin's response is being stored, and why (not); `nil` where nothing came that could be.
  public var storage: CacheEngine.Reason?
  /// What `Cache-Status` says (RFC 9211).
  public var cacheStatus: CacheStatus
  /// What becomes of the response that is being stored.
  var settlement: Settlement?

  /// Whether the origin's response is stored in the end, and why (not). It is known once the body has been read to its
  /// end; until then it is what ``storage`` says.
  public var finalStorage: CacheEngine.Reason? { settlement?.reason ?? storage }

  /// The ``head`` with a `Cache-Status` that knows ``finalStorage``.
  public var finalHead: HTTPResponse {
    guard let reason = settlement?.refusal, cacheStatus.isStored, let name = HTTPField.Name.cacheStatus else {
      return head
    }
    var status = cacheStatus
    status.isStored = false
    status.remainingSeconds = nil
    status.reason = reason
    var head = head
    // Ours is the last.
    head.headerFields[values: name] = head.headerFields[values: name].dropLast() + [status.fieldValue]
    return head
  }

  /// The current age, rounded down to seconds, if the response comes from the store (RFC 9111 §4.2.3).
  public var age: Duration? { ageInSeconds.map { .seconds($0) } }

  package var ageInSeconds: Int64? {
    switch heading {
    case .stored(let heading): heading.ageInSeconds
    case .made(let head): source == .network ? nil : head.headerFields[.age].flatMap { Int64($0) }
    }
  }
  /// How much longer the response is fresh, in whole seconds; negative if it is stale.
  public var remainingLifetime: Duration? { cacheStatus.timeToLive }

  init(
    head: HTTPResponse, body: MessageBody, source: Source, reason: CacheEngine.Reason,
    storage: CacheEngine.Reason? = nil,
    cacheStatus: CacheStatus
  ) {
    var head = head
    head.add(cacheStatus)
    heading = .made(head)
    self.body = body
    self.source = source
    self.reason = reason
    self.storage = storage
    self.cacheStatus = cacheStatus
  }

  /// A response from memory. Its head is not made before it is asked for.
  init(_ heading: StoredHeading, body: MessageBody, reason: CacheEngine.Reason) {
    self.heading = .stored(heading)
    self.body = body
    source = .hit
    self.reason = reason
    storage = nil
    cacheStatus = heading.cacheStatus
  }
}

/// The head of a response as it is stored, and what is added to it when it is asked for.
///
/// An object, so that it is made once for all copies: for most of a hit's cost was the making of its fields.
final class StoredHeading: Sendable {
  let entry: StoredEntry
  let ageInSeconds: Int64
  let cacheStatus: CacheStatus
  private let made = Mutex<HTTPResponse?>(nil)

  /// - Parameter entry: one whose metadata can be decoded.
  init(_ entry: StoredEntry, ageInSeconds: Int64, cacheStatus: CacheStatus) {
    self.entry = entry
    self.ageInSeconds = ageInSeconds
    self.cacheStatus = cacheStatus
  }

  var response: HTTPResponse {
    made.withLock { made in
      if let made { return made }
      // RFC 9211 §2, as for any response.
      let status = HTTPField.Name.cacheStatus.map { HTTPField(name: $0, value: cacheStatus.fieldValue) }
      var decoded: HTTPResponse?
      entry.withMetadata {
        decoded = HTTPResponse(stored: $0, ageInSeconds: ageInSeconds, adding: status.map { [$0] } ?? [])
      }
      // It can be decoded, or there would be no hit; and if it could not, that would be no reason to crash.
      let head = decoded ?? HTTPResponse(status: .internalServerError)
      made = head
      return head
    }
  }
}

/// What becomes of a response that is stored while it is read.
final class Settlement: Sendable {
  private let settled = Mutex<(reason: CacheEngine.Reason, isStored: Bool)?>(nil)

  func settle(_ reason: CacheEngine.Reason, isStored: Bool) { settled.withLock { $0 = (reason, isStored) } }

  var reason: CacheEngine.Reason? { settled.withLock { $0?.reason } }
  /// Why it is not stored, if it is not.
  var refusal: CacheEngine.Reason? { settled.withLock { $0.flatMap { $0.isStored ? nil : $0.reason } } }
}

extension HTTPResponse {
  /// RFC 9211 §2: each cache adds its member behind those of the caches nearer to the origin.
  fileprivate mutating func add(_ status: CacheStatus) {
    guard let name = HTTPField.Name.cacheStatus else { return }
    headerFields.append(HTTPField(name: name, value: status.fieldValue))
  }
}

extension HTTPField.Name {
  /// `Cache-Status` (RFC 9211), which HTTPTypes has no constant for.
  static let cacheStatus = HTTPField.Name("Cache-Status")
}

extension CacheStatus {
  /// Where the response came from.
  public var source: CachedResponse.Source {
    switch reason {
    case .validated: .validated
    case .fresh, .freshByHeuristic, .immutable: .hit
    case .staleAllowedByRequest, .staleWhileRevalidate, .staleIfError, .staleWhileDisconnected,
      .forbiddenWhileDisconnected, .policyReturnsStored:
      .stale
    case .onlyIfCached, .revalidationImpossible: .generated
    default: isHit ? .hit : .network
    }
  }
}

extension CacheStatus: CustomStringConvertible {
  /// The status in one line, for people: `stale, 75 s old, fresh for -15 s: The stored response … (RFC 5861 §3)`.
  public var description: String {
    var text = source.rawValue
    if let age { text += ", \(age.wholeSeconds) s old" }
    if let remainingSeconds { text += ", fresh for \(remainingSeconds) s" }
    return text + (reason.map { ": \($0)" } ?? "")
  }
}
