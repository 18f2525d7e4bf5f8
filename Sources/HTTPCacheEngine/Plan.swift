// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

extension CacheEngine {
  /// The decision about a request before it goes to the network: the result of
  /// ``CacheEngine/plan(for:policy:candidates:now:)``.
  public enum Plan: Hashable, Sendable {
    /// A stored response answers.
    case serve(Service)
    /// The request goes to the origin.
    case forward(Forwarding)
    /// Neither: the request forbids the network, and no stored response can answer.
    case fail(Refusal)

    /// The reason of the decision.
    public var reason: Reason {
      switch self {
      case .serve(let service): service.reason
      case .forward(let forwarding): forwarding.reason
      case .fail(let refusal): refusal.reason
      }
    }
  }
}

extension CacheEngine {
  /// A stored response that answers a request.
  public struct Service: Hashable, Sendable {
    /// The position among the candidates.
    public var candidate: Int
    package var ageInSeconds: Int64
    package var remainingSeconds: Int64
    /// Whether the response is served stale.
    public var isStale: Bool
    /// The part of the stored content that is served.
    public var content: ContentSelection
    /// A request that revalidates the response in the background (RFC 5861 §3).
    public var revalidation: Forwarding?
    /// Why the response may answer.
    public var reason: Reason

    /// The response's current age, rounded down to seconds (RFC 9111 §4.2.3).
    public var age: Duration { .seconds(ageInSeconds) }
    /// The remaining freshness lifetime, in whole seconds; zero or less if the response is stale.
    public var remainingLifetime: Duration { .seconds(remainingSeconds) }
  }
}

extension CacheEngine {
  /// A request for the origin.
  public struct Forwarding: Hashable, Sendable {
    /// The request to send: the client's, with the cache's preconditions if it revalidates a stored response.
    public var request: HTTPRequest
    /// The candidate that could not answer without a revalidation, and answers if the origin validates it.
    package var selected: Int?
    /// Whether the request revalidates a stored response: its preconditions name the selected one, and no other. Those of
    /// other variants are not named, as RFC 9111 §4.1 permits: many origins make a tag of a record or a file, and not of
    /// each representation (against RFC 9110 §8.8.3.3), and so would confirm another client's response.
    package(set) public var isValidation: Bool
    /// The bytes that complete a stored response; `nil` if the request is for everything that the client requested.
    package var completion: Completion?
    /// The request as the client sent it.
    package var original: HTTPRequest
    package var policy: RequestCachePolicy
    /// Why the request goes to the origin.
    public var reason: Reason
    /// Why the client's request first went to the origin, if this one repeats it because the response was of no use.
    package var firstReason: Reason?
    /// Whether the request has `Authorization` (RFC 9111 §3.5).
    package var hasAuthorization = false
    /// Whether the request has `no-store`, so that nothing of the response may be stored (RFC 9111 §5.2.1.5).
    package var forbidsStoring = false
    /// Whether a request that arrives meanwhile may use the response though either requires a recent one: see
    /// ``CacheEngine/ReloadUse/validateOnce``.
    package var sharesReload = false
    /// Whether the request has a key to store a response under. ``CacheEngine/outcome(of:)`` reads it.
    var isTargetCacheable = true

    /// The position of the stored response that the preconditions name.
    var nominated: Int? { isValidation ? selected : nil }
  }
}

extension CacheEngine {
  /// The single range of bytes that a stored response lacks (RFC 9111 §3.3).
  package struct Completion: Hashable, Sendable {
    /// The position of the stored response among the candidates.
    package var candidate: Int
    /// The position of the first missing byte.
    package var first: Int64
    /// The position after the last missing byte; `nil` if the length of the representation is unknown.
    package var end: Int64?
  }
}

extension CacheEngine {
  /// A request that is not answered.
  public struct Refusal: Hashable, Sendable {
    /// Why the request is not answered.
    public var reason: Reason

    /// The response that a cache generates instead: 504 (Gateway Timeout), as §5.2.1.7 specifies for only-if-cached,
    /// and §5.2.2.2 for must-revalidate; 502 (Bad Gateway) if the origin's response is invalid (RFC 9110 §15.6.3).
    public var response: HTTPResponse {
      HTTPResponse(
        status: status,
        headerFields: [
          .contentType: "text/plain; charset=utf-8", .contentLength: String(content.count),
          .cacheControl: "no-store",
        ])
    }

    /// The content of ``response``: a line of text with the reason.
    public var content: [UInt8] { Array("\(status.code): \(reason.sentence)\n".utf8) }

    private var status: HTTPResponse.Status {
      reason == .unsolicitedNotModified ? .badGateway : .gatewayTimeout
    }
  }
}
