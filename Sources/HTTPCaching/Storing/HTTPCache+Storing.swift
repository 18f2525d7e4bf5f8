// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// A copy of a stored response.
public struct StoredCopy: Sendable {
  /// The status and the stored fields, with the current `Age`.
  public var head: HTTPResponse
  /// The complete content.
  public var content: ArraySlice<UInt8>
  /// The application's own bytes for the response; see ``StorageProposal/annotation``.
  public var annotation: [UInt8]?
}

/// Storing and reading without a transport, to fill a cache by hand or to inspect it.
extension HTTPCache {
  /// Stores a response that did not come through ``respond(to:body:policy:partition:interim:willStore:lifetime:transport:)``, as
  /// if the origin had just sent it. The same rules decide, and it replaces what is stored.
  ///
  /// May block on the disk.
  ///
  /// - Parameters:
  ///   - response: the head to store.
  ///   - content: the whole content, with its content coding if the response has `Content-Encoding`.
  ///   - request: the request that the response answers; `Vary` selects by its fields.
  ///   - requestContent: the request's content, which is part of the key of a QUERY.
  ///   - tiers: where the response may be stored (default: memory and disk).
  ///   - annotation: see ``StorageProposal/annotation``.
  ///   - partition: the partition to store in (default: the configuration's).
  /// - Returns: why it is stored, or why not.
  @discardableResult
  public func store(
    _ response: HTTPResponse, content: [UInt8], for request: HTTPRequest, requestContent: [UInt8] = [],
    tiers: StoreTiers = .all, annotation: [UInt8]? = nil, partition: String? = nil
  ) -> CacheEngine.Reason {
    let ruled = currentRules.table?.ruled(request)
    let partition = partition ?? ruled?.partition(of: request) ?? configuration.partition
    let request = ruled?.rewritten(request) ?? request
    let reason = { () -> Result<CacheEngine.Reason, Refused> in
      guard request.method == .get || request.method.isQuery else {
        return .failure(Refused(.methodNotStored))
      }
      if tiers.isEmpty { return .failure(Refused(.refusedByApplication)) }
      let lookup =
        responses.lookUp(request, content: MessageBody(requestContent), partition, atOnce: false)
        ?? Lookup(partition: partition)
      let plan = plan(
        for: request, by: ruled, policy: .reloadIgnoringLocalCacheData, candidates: lookup.responses,
        now: clock.now)
      guard case .forward(let forwarding) = plan else { return .failure(Refused(plan.reason)) }
      let call = Call(
        request: request, body: MessageBody(requestContent), policy: forwarding.policy,
        transport: { _, _ in throw CancellationError() }, ruled: ruled)
      let sent = SentRequest(call, forwarding, lookup, in: self)
      let head = ruled?.engine.ruled(response, length: Int64(content.count)) ?? response
      let outcome = outcome(of: sent.exchange(.response(head), length: content.count), by: ruled)
      sent.apply(outcome)
      switch outcome.storage {
      case .none: return .failure(Refused(outcome.reason))
      case .refuse(let reason): return .failure(Refused(reason))
      case .store(let stored, let reason):
        let isWhole = outcome.assembly.map { $0.received == 0..<Int64(content.count) } ?? true
        guard stored.parts == nil, isWhole else { return .failure(Refused(.partNotCombined)) }
        if let length = stored.value(of: .contentLength), Int(length) != content.count {
          return .failure(Refused(.incompleteContent))
        }
        guard let place = responses.place(for: stored, lookup, tokens: sent.tokens) else {
          return .failure(
            Refused(lookup.key == nil ? request.reasonWithoutKey : responses.reasonWithoutPlace))
        }
        let entry = NewEntry(
          key: place.key, variant: store.fingerprint(of: stored.selecting.variantKey),
          metadata: stored.encoded(), body: content, storedAt: responses.storedAt(stored.facts.responseTime),
          tiers: tiers, scopes: outcome.scopes(under: lookup.key))
        let result = responses.insert(
          entry, annotation: annotation, unlessRemovedSince: place.token, of: stored)
        sent.removeSuperseded(outcome, by: stored, at: place.key, result)
        return result.map { _ in reason }
      }
    }()
    switch reason {
    case .success(let reason):
      hub.note(.stored, request, reason, byteCount: content.count, partition: partition)
      return reason
    case .failure(let refused):
      hub.note(.notStored, request, refused.reason, refusal: refused.refusal, partition: partition)
      return refused.reason
    }
  }

  /// Returns the complete stored response for a request, whatever its age, or `nil` if there is none. Conditions and
  /// ranges of the request are ignored.
  ///
  /// May block on the disk. The lookup does not count as a use and makes no event.
  ///
  /// - Parameters:
  ///   - request: the request that the response answers; `Vary` selects by its fields.
  ///   - requestContent: the request's content, which is part of the key of a QUERY.
  ///   - partition: the partition to look in (default: the configuration's).
  public func storedCopy(
    for request: HTTPRequest, requestContent: [UInt8] = [], partition: String? = nil
  ) -> StoredCopy? {
    let ruled = currentRules.table?.ruled(request)
    let partition = partition ?? ruled?.partition(of: request) ?? configuration.partition
    var request = ruled?.rewritten(request) ?? request
    for name in [
      HTTPField.Name.range, .ifRange, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince,
    ] { request.headerFields[name] = nil }
    guard
      let lookup = responses.lookUp(
        request, content: MessageBody(requestContent), partition, atOnce: false),
      case .serve(let service) = plan(
        for: request, by: ruled, policy: .returnCacheDataDontLoad, candidates: lookup.responses,
        now: clock.now),
      case .whole = service.content
    else { return nil }
    let entry = lookup.entries[service.candidate]
    // The store has already removed a damaged entry.
    guard let content = try? entry.body.readAll() else { return nil }
    return StoredCopy(
      head: lookup.responses[service.candidate].response(ageInSeconds: service.ageInSeconds),
      content: content,
      annotation: Annotation.find(beside: entry, in: store))
  }
}
