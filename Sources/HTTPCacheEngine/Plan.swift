// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

extension CacheEngine {
  /// What to do with a request, before the network is asked: the answer of ``CacheEngine/plan(for:policy:candidates:now:)``.
  public enum Plan: Hashable, Sendable {
    /// A stored response answers.
    case serve(Service)
    /// The origin is asked.
    case forward(Forwarding)
    /// Neither: the request forbids the network, and nothing stored can answer.
    case fail(Refusal)

    /// Why.
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
    /// Whether the response is stale, and served all the same.
    public var isStale: Bool
    /// How much of the stored content is the answer.
    public var content: ContentSelection
    /// A request that revalidates the response in the background (RFC 5861 §3).
    public var revalidation: Forwarding?
    /// Why it may answer.
    public var reason: Reason

    /// The response's current age, rounded down to seconds (RFC 9111 §4.2.3).
    public var age: Duration { .seconds(ageInSeconds) }
    /// How much longer the response is fresh, in whole seconds; zero or less if it is stale.
    public var remainingLifetime: Duration { .seconds(remainingSeconds) }
  }
}

extension CacheEngine {
  /// A request for the origin.
  public struct Forwarding: Hashable, Sendable {
    /// The request as it goes out: the client's, with preconditions of the cache where it validates stored responses.
    public var request: HTTPRequest
    /// The candidate that would have answered if it could, and does if the origin validates it.
    package var selected: Int?
    /// All candidates that the preconditions name; empty if the preconditions, if any, are the client's.
    package var nominated: [Int]
    /// What the request asks for to complete a stored response; `nil` if it asks for all that the client did.
    package var completion: Completion?
    /// The request as the client sent it.
    package var original: HTTPRequest
    package var policy: RequestCachePolicy
    /// Why the request goes to the origin.
    public var reason: Reason
    /// Whether there is a key to store a response under. ``CacheEngine/outcome(of:)`` reads it.
    var isTargetCacheable = true

    /// Whether the request validates something stored.
    public var isValidation: Bool { !nominated.isEmpty }
  }
}

extension CacheEngine {
  /// The one run of bytes that a stored response lacks (RFC 9111 §3.3).
  package struct Completion: Hashable, Sendable {
    /// The position of the stored response among the candidates.
    package var candidate: Int
    /// The first byte that is missing.
    package var first: Int64
    /// The position behind the last; `nil` where the length of the representation is not known.
    package var end: Int64?
  }
}

extension CacheEngine {
  /// A request that is not answered.
  public struct Refusal: Hashable, Sendable {
    /// Why the request is not answered.
    public var reason: Reason

    /// The response that a cache generates instead: 504 (Gateway Timeout), as §5.2.1.7 says for only-if-cached, and
    /// §5.2.2.2 for must-revalidate.
    public var response: HTTPResponse {
      HTTPResponse(
        status: .gatewayTimeout,
        headerFields: [
          .contentType: "text/plain; charset=utf-8", .contentLength: String(content.count),
          .cacheControl: "no-store",
        ])
    }

    /// The content of ``response``: a line of text that says why.
    public var content: [UInt8] { Array("504: \(reason.sentence)\n".utf8) }
  }
}
