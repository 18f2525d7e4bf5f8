// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

extension CacheEngine {
  /// A fresh stored response that answers a request as it is: what ``CacheEngine/hit(for:policy:stored:now:)`` found.
  public struct Hit: Hashable, Sendable {
    package var ageInSeconds: Int64
    package var remainingSeconds: Int64
    /// Why it may answer.
    public var reason: Reason

    /// The response's current age, rounded down to seconds (RFC 9111 §4.2.3).
    public var age: Duration { .seconds(ageInSeconds) }
    /// How much longer the response is fresh, in whole seconds.
    public var remainingLifetime: Duration { .seconds(remainingSeconds) }
  }
}

extension CacheEngine.Service {
  /// The same as the first door says it of a lone candidate.
  public init(_ hit: CacheEngine.Hit) {
    self.init(
      candidate: 0, ageInSeconds: hit.ageInSeconds, remainingSeconds: hit.remainingSeconds, isStale: false,
      content: .whole,
      revalidation: nil, reason: hit.reason)
  }
}

extension CacheEngine {
  /// The first door's short way: whether the only response that is stored for a request answers it, because it is fresh
  /// and the request says nothing of caching, conditions or ranges.
  ///
  /// It says yes only where ``plan(for:policy:candidates:now:)`` would, and then says the same. What it needs is read
  /// where it lies, at the front of the stored form: no text is parsed, nothing is allocated, no lock is taken.
  ///
  /// - Parameters:
  ///   - request: as the client sent it.
  ///   - policy: how the request may use what is stored.
  ///   - stored: what ``StoredResponse/encoded()`` wrote. Only the front is read: decoding says whether the rest is valid.
  ///   - now: the present time, read after the response was looked up.
  /// - Returns: `nil` where it takes more to decide. Then decode the response, and ask
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
    // Responses that share their content are told apart by the same selecting fields: only one can match.
    guard let front = StoredFront(stored), front.special.isSubset(of: .sharesContent),
      front.selectingCount <= SelectingBytes.most
    else { return nil }
    let facts = front.facts
    // Whether its cookies are stored with it is not said here.
    if facts.flags.contains(.setsCookie), configuration.keepsNoCookies { return nil }
    // As `ReuseFacts.staleness(at:)`, and each number once.
    let age = facts.currentAge(at: now)
    let remaining = facts.lifetime.milliseconds.saturatingSubtracted(age)
    guard !facts.forbidsFreshUse, !facts.isFromTheFuture(at: now), remaining > 0 else { return nil }
    let method = request.method
    guard method == .get || method == .head,
      front.selectingCount == 0
        ? !Self.mayForbidReuse(request.headerFields)
        // Both in one walk over the fields.
        : SelectingBytes.match(stored, count: front.selectingCount, request.headerFields)
    else { return nil }
    return Hit(
      ageInSeconds: age / 1000, remainingSeconds: facts.lifetime.milliseconds / 1000 - age / 1000,
      reason: facts.freshReason)
  }

  /// Whether there is a field that has a part in the decision.
  private static func mayForbidReuse(_ fields: HTTPFields) -> Bool {
    for index in 0..<fields.count {
      let count = fields[index].name.canonicalName.utf8.count
      if RequestFields.decides(fields[index].name, count: count) { return true }
    }
    return false
  }
}

extension RequestFields {
  /// Whether a field has a part in the decision to reuse: any that is read, but for one.
  ///
  /// - Parameter count: the length of its name.
  @inline(__always)
  static func decides(_ name: HTTPField.Name, count: Int) -> Bool {
    // Who asks has a say in storing only (§3.5).
    if let name = Name(name, count: count) { name != .authorization } else { false }
  }
}
