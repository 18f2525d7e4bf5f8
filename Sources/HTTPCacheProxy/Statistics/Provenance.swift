// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching

/// How a request was answered, as counters and logs distinguish it.
enum RequestOutcome: String, CaseIterable, Sendable {
  /// From the store, fresh.
  case hit
  /// From the store, stale.
  case stale
  /// From the store, after the origin validated it.
  case validated
  /// From the origin.
  case network
  /// By the proxy itself, as intended: OPTIONS and TRACE with `Max-Forwards: 0`, 504 to `only-if-cached`.
  case generated
  /// By the proxy, because neither the store nor the origin had a response.
  case failed
  /// By the proxy, because the request was malformed or too large.
  case refused

  /// Its place in ``allCases``.
  var index: Int {
    switch self {
    case .hit: 0
    case .stale: 1
    case .validated: 2
    case .network: 3
    case .generated: 4
    case .failed: 5
    case .refused: 6
    }
  }

  init(_ source: CachedResponse.Source) {
    self =
      switch source {
      case .hit: .hit
      case .stale: .stale
      case .validated: .validated
      case .network: .network
      case .generated: .generated
      }
  }

  /// Its name in the cache's own metrics; `nil` if the cache never sees such a response.
  var source: CachedResponse.Source? {
    switch self {
    case .hit: .hit
    case .stale: .stale
    case .validated: .validated
    case .network: .network
    case .generated: .generated
    case .failed, .refused: nil
    }
  }
}

/// Where a response came from, and why.
struct Provenance: Sendable {
  var outcome: RequestOutcome
  /// Why the client gets this response: the `detail` of `Cache-Status`.
  var reason: CacheEngine.Reason?
  /// Says in the end whether the response was stored, which the head may not have said yet.
  var settlement: Settlement?
  /// Why the request was forwarded to the origin (RFC 9211 §2.2).
  var forward: CacheStatus.Forward?
  /// Why the origin sent no response.
  var originError: OriginError.Kind?
  /// The failure as readable text.
  var failure: String?

  init(_ outcome: RequestOutcome) {
    self.outcome = outcome
  }

  init(_ response: CachedResponse) {
    outcome = RequestOutcome(response.source)
    reason = response.cacheStatus.reason ?? response.reason
    forward = response.cacheStatus.forward
    settlement = response.settlement
    if response.reason == .unsolicitedNotModified {
      // The origin is at fault.
      (outcome, originError, failure) = (.failed, .protocolError, response.reason.sentence)
    }
  }

  init(failure error: any Error) {
    outcome = error is MessageFault ? .refused : .failed
    originError = (error as? OriginError)?.kind
    failure = (error as? MessageFault)?.reason ?? "\(error)"
  }

  /// A code for programs; `nil` if the client left before it was known whether the response is stored.
  var code: String? { (settlement == nil ? reason : settlement?.reason)?.rawValue ?? originError?.rawValue }
}
