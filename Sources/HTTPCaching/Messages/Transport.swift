// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// Sends a request to its origin and returns the head of the response as soon as it arrives; the content follows.
///
/// A transport must throw if no final response arrives, and its body must throw if the content ends early. Content that
/// ends without an error counts as complete. A transport must not follow redirects or keep its own cache.
public typealias Transport =
  @Sendable (_ request: HTTPRequest, _ body: MessageBody) async throws -> TransportResponse

/// Marks an error of a transport as something else than an unreachable origin. Examples: the origin could not prove its
/// identity, it did not speak HTTP, or the request could not be made. The caller gets the wrapped error.
///
/// Any other error counts as a disconnection (RFC 9111 §4.2.4).
public struct TransportFault: Error, CustomStringConvertible {
  /// The error of the transport.
  public let error: any Error

  public var description: String { "\(error)" }

  /// - Parameter error: the error of the transport, which the caller gets if no stored response may answer.
  public init(_ error: any Error) {
    self.error = error
  }

  /// Returns the error of a transport, for the caller and for the rules.
  static func cause(of error: any Error) -> (error: any Error, result: CacheEngine.Exchange.Result) {
    (error as? TransportFault).map { ($0.error, .fault) } ?? (error, .failure)
  }
}

/// The error of a transport whose caller was cancelled before it had a response.
///
/// The requests that are coalesced with it do not fail: one of them leads the next fetch.
package struct TransportAbandoned: Error {
  package init() {}
}

/// Decides whether a request is withheld from an origin that does not answer.
///
/// It gets whether a stored response may answer instead, and returns the error that the request then ends with.
package typealias Withholding = @Sendable (_ hasFallback: () -> Bool) -> (any Error)?

/// The response that a transport returns.
public struct TransportResponse: Sendable {
  /// Waits for the response that follows an interim one.
  public typealias Next = @Sendable () async throws -> TransportResponse

  /// The status and the fields.
  public var head: HTTPResponse
  /// The content.
  public var body: MessageBody
  /// Returns the response that follows this one if this one is interim (1xx); else `nil`.
  public var next: Next?

  /// Makes a final response.
  public init(head: HTTPResponse, body: MessageBody = .empty) {
    self.head = head
    self.body = body
  }

  /// Makes an interim response, such as 103 (Early Hints), with a function that returns the following one: another
  /// interim response, or the final one (RFC 9110 §15.2).
  public init(interim head: HTTPResponse, next: @escaping Next) {
    self.init(head: head)
    self.next = next
  }
}

/// Receives an interim (1xx) response that came before the final one (RFC 9110 §15.2). It must not block.
public typealias InterimReceiver = @Sendable (_ head: HTTPResponse) -> Void
