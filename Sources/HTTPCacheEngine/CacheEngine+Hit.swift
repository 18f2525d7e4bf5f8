// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

extension CacheEngine {
  /// A fresh stored response that answers a request unchanged: the result of
  /// ``CacheEngine/hit(for:policy:stored:now:)``.
  public struct Hit: Hashable, Sendable {
    package var ageInSeconds: Int64
    package var remainingSeconds: Int64
    /// Why it may answer.
    public var reason: Reason
    /// Whether the client has this representation, so that 304 (Not Modified) answers (RFC 9110 §13.1.2).
    public var isNotModified = false

    /// The response's current age, rounded down to seconds (RFC 9111 §4.2.3).
    public var age: Duration { .seconds(ageInSeconds) }
    /// The remaining freshness lifetime, in whole seconds.
    public var remainingLifetime: Duration { .seconds(remainingSeconds) }
  }
}

extension CacheEngine.Service {
  /// Makes the service that the plan would return for this single candidate.
  public init(_ hit: CacheEngine.Hit) {
    self.init(
      candidate: 0, ageInSeconds: hit.ageInSeconds, remainingSeconds: hit.remainingSeconds, isStale: false,
      content: hit.isNotModified ? .notModified : .whole, revalidation: nil, reason: hit.reason)
  }
}

extension CacheEngine {
  /// Returns the only stored response for a request if it is fresh and the request has no fields about caching
  /// or ranges, and no condition but `If-None-Match` with the response's entity tag.
  ///
  /// This is the fast path of ``plan(for:policy:candidates:now:)``. It returns a hit only if that method would serve
  /// the response, with the same result. It reads the facts directly from the front of the stored form: it parses no
  /// text, allocates nothing and takes no lock.
  ///
  /// - Parameters:
  ///   - request: the request as the client sent it.
  ///   - policy: how the request may use stored responses.
  ///   - stored: the bytes from ``StoredResponse/encoded()``. Only the front is read: decoding checks the rest.
  ///   - now: the present time, read after the response was looked up.
  /// - Returns: the hit, or `nil` if the decision takes more. Then decode the response, and call
  ///   ``plan(for:policy:candidates:now:)``.
  /// - Complexity: O(*n*) in the number of the request's fields.
  public func hit(
    for request: HTTPRequest, policy: RequestCachePolicy, stored: RawSpan, now: Timestamp
  ) -> Hit? {
    switch policy {
    case .useProtocolCachePolicy, .returnCacheDataElseLoad, .returnCacheDataDontLoad: break
    case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData,
      .reloadRevalidatingCacheData:
      return nil
    }
    guard let front = StoredFront(stored), front.special.isSubset(of: .tagged),
      front.selectingCount <= SelectingBytes.most
    else { return nil }
    let facts = front.facts
    // The front does not contain whether the cookies are stored.
    if facts.flags.contains(.setsCookie), configuration.keepsNoCookies { return nil }
    // The same as `ReuseFacts.staleness(at:)`, but reads each number once.
    let age = facts.currentAge(at: now)
    let remaining = facts.lifetime.milliseconds.saturatingSubtracted(age)
    guard !facts.forbidsFreshUse, !facts.isFromTheFuture(at: now), remaining > 0 else { return nil }
    let method = request.method
    var conditions = RequestFields.Conditions()
    guard method == .get || method == .head,
      front.selectingCount == 0
        ? conditions.read(request.headerFields)
        // Both in one pass over the fields.
        : SelectingBytes.match(stored, count: front.selectingCount, request.headerFields, &conditions)
    else { return nil }
    var hit = Hit(
      ageInSeconds: age / 1000, remainingSeconds: facts.lifetime.milliseconds / 1000 - age / 1000,
      reason: facts.freshReason)
    if let position = conditions.noneMatch {
      // Any other comparison takes more: lists, a tag of another text, a response other than a success.
      guard facts.flags.contains(.isSuccessful),
        StoredResponse.isTagged(request.headerFields[position], stored)
      else { return nil }
      hit.isNotModified = true
    } else if conditions.hasModifiedSince {
      return nil
    }
    return hit
  }
}
