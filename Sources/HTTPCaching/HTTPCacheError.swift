// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine

/// A failure of the cache itself. Errors of the transport reach the caller unchanged.
///
/// Switch over ``code``, with a `default`: later versions may add codes. ``description`` is a text for people.
public struct HTTPCacheError: Error, Hashable, Sendable {
  /// The codes of failures.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Value: String {
      case notCached, contentTooLarge, incompleteContent, bodyAlreadyRead, leftBehind, noTarget
    }

    private let value: Value

    private init(_ value: Value) { self.value = value }

    /// The request forbids the network, and no stored response can answer it; ``HTTPCacheError/reason`` explains why.
    public static var notCached: Code { Code(.notCached) }
    /// The content has more bytes than the caller accepts; ``HTTPCacheError/limit`` is that number.
    public static var contentTooLarge: Code { Code(.contentTooLarge) }
    /// The origin sent more or fewer bytes than it had announced.
    public static var incompleteContent: Code { Code(.incompleteContent) }
    /// The body of a response was read a second time; a streamed body can be read only once.
    public static var bodyAlreadyRead: Code { Code(.bodyAlreadyRead) }
    /// The reader was so far behind another reader of the same response that its next bytes were no longer in memory, and
    /// the response was not stored. A repeated request is answered.
    public static var leftBehind: Code { Code(.leftBehind) }
    /// The request has no URL that a cache stores responses for: neither `http` nor `https`.
    public static var noTarget: Code { Code(.noTarget) }

    public var description: String { value.rawValue }
  }

  /// The kind of failure.
  public let code: Code
  /// Why no stored response can answer the request; `nil` for codes other than ``Code/notCached``.
  public let reason: CacheEngine.Reason?
  /// Maximum bytes that the caller accepts; `nil` for codes other than ``Code/contentTooLarge``.
  public let limit: Int?

  private init(_ code: Code, reason: CacheEngine.Reason? = nil, limit: Int? = nil) {
    self.code = code
    self.reason = reason
    self.limit = limit
  }

  package static func notCached(_ reason: CacheEngine.Reason) -> HTTPCacheError {
    HTTPCacheError(.notCached, reason: reason)
  }

  package static func contentTooLarge(limit: Int) -> HTTPCacheError {
    HTTPCacheError(.contentTooLarge, limit: limit)
  }

  package static var incompleteContent: HTTPCacheError { HTTPCacheError(.incompleteContent) }
  package static var leftBehind: HTTPCacheError { HTTPCacheError(.leftBehind) }
  package static var noTarget: HTTPCacheError { HTTPCacheError(.noTarget) }
  package static var bodyAlreadyRead: HTTPCacheError { HTTPCacheError(.bodyAlreadyRead) }
}

extension HTTPCacheError: CustomStringConvertible {
  public var description: String {
    switch code {
    case .notCached:
      (reason.map { "not answered from the cache: \($0)" } ?? "not answered from the cache.")
        + " Use another cache policy to let the request reach the network."
    case .contentTooLarge:
      "the content is larger than the limit of \(limit ?? 0) bytes; increase the limit, or read the body as a stream"
    case .incompleteContent:
      "the origin sent more or fewer bytes than it announced; repeat the request"
    case .bodyAlreadyRead:
      "the body was already read; keep its bytes if you need them twice"
    case .leftBehind:
      "the content was read too slowly, and its next bytes are no longer in memory; repeat the request"
    case .noTarget:
      "the request has no URL that a cache stores responses for; use http or https"
    default: "\(code)"
    }
  }
}
