// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// Sends a request to its origin and gives back the head of the response as soon as it is there, its content behind it.
///
/// It is to throw where no final response came, and to let the body throw where the content broke off: what ends
/// without an error is taken as whole. It must not follow redirects, nor keep a cache of its own.
public typealias Transport =
  @Sendable (_ request: HTTPRequest, _ body: MessageBody) async throws -> TransportResponse

/// Thrown by a transport around an error that does not mean that the origin is out of reach: it could not prove who it is,
/// did not speak HTTP, or the request could not be made. The caller gets the error itself.
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

  /// What a transport failed with, for the caller and for the rules.
  static func cause(of error: any Error) -> (error: any Error, result: CacheEngine.Exchange.Result) {
    (error as? TransportFault).map { ($0.error, .fault) } ?? (error, .failure)
  }
}

/// What a transport brings back.
public struct TransportResponse: Sendable {
  /// Waits for the response behind an interim one.
  public typealias Next = @Sendable () async throws -> TransportResponse

  /// The status and the fields.
  public var head: HTTPResponse
  /// The content.
  public var body: MessageBody
  /// Brings the response that follows this one, where this one is interim (1xx).
  public var next: Next?

  /// A final response.
  public init(head: HTTPResponse, body: MessageBody = .empty) {
    self.head = head
    self.body = body
  }

  /// An interim response, as 103 (Early Hints), and the means to have the one that follows: another, or the final one
  /// (RFC 9110 §15.2).
  public init(interim head: HTTPResponse, next: @escaping Next) {
    self.init(head: head)
    self.next = next
  }
}

/// Takes an interim (1xx) response that came before the final one (RFC 9110 §15.2). It must not block.
public typealias InterimReceiver = @Sendable (_ head: HTTPResponse) -> Void
