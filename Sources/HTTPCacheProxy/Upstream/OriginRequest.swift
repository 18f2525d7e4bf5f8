// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import HTTPTypes
import NIOCore

/// A request as it goes to the origin, in either version of HTTP.
struct OriginRequest: Sendable {
  var request: HTTPRequest
  /// The content. Unless it is in memory, its pieces follow with ``OriginReference/send(_:)``.
  var body = MessageBody.empty
  /// Whether the origin must confirm before it gets the content (RFC 9110 §10.1.1).
  var expects = false
  /// What is added to `Via` (RFC 9110 §7.6.3).
  var via: String
  /// The protocols that the origin may switch to, which it does with 101 (RFC 9110 §7.8).
  var upgrade: String?

  /// Whether nothing follows what is sent at once.
  var isWhole: Bool { body.isInMemory }

  /// What the rules of the exchange need.
  var properties: OriginConnectionStateMachine.Request {
    OriginConnectionStateMachine.Request(method: request.method, isWhole: isWhole, upgrade: upgrade)
  }

  /// RFC 9110 §8.6: a request that normally has content states its absence.
  var announcesLength: Bool {
    guard let length = body.length else { return false }
    return length > 0 || request.method == .post || request.method == .put || request.method == .patch
  }
}

/// A connection of HTTP/1.1, or a stream of HTTP/2, that carries a request to the origin and the responses to it.
protocol OriginHandler: AnyObject {
  /// Number of finished exchanges.
  var exchanges: Int { get }
  /// Begins to send the request's content, which can be read only once.
  ///
  /// - Returns: whether the content is taken: not if the head was never written.
  func beginSending() -> Bool
  /// Sends a request, together with its content if that is in memory.
  func start(_ request: OriginRequest, _ receiver: @escaping OriginReply.Receiver)
  /// Waits for the response after an interim one. No more is read before.
  func next(_ receiver: @escaping OriginReply.Receiver)
  /// Sets the task that sends the content of the request: it is cancelled when the exchange ends.
  func attach(_ sending: Task<Void, Never>)
  /// Sends a piece of the request's content.
  func send(_ bytes: ByteBuffer) -> EventLoopFuture<Void>
  /// Ends the request's content.
  func finishSending()
  /// Ends the exchange if content must still be sent, which does not come: half a request is invalid.
  func stopSending()
  /// Ends the exchange.
  func close(_ error: OriginError?)
}

/// The head of a response, interim or final. After an interim response, ``OriginReference/next(_:)`` returns the next one.
struct OriginReply: Sendable {
  enum Content: Sendable {
    case none
    /// Small content that has arrived with the head, or soon after it: it is stored and sent as one, without a reader and
    /// its waiting.
    case whole([UInt8])
    case arriving(BodyFeed, length: Int?)
  }

  typealias Result = Swift.Result<OriginReply, OriginError>
  /// Gets a response, or the error, on the event loop of the exchange.
  typealias Receiver = @Sendable (Result) -> Void

  /// Maximum bytes of ``Content/whole(_:)``: what one read from the socket usually returns.
  static let smallContent = 64 << 10
  /// Maximum time that the head of a response waits for small content. Many origins write the two one after the other. A
  /// task for the content takes three times the time of the rest.
  static let holdingTime = TimeAmount.milliseconds(5)

  var head: HTTPResponse
  var content = Content.none

  /// Whether another response follows this one.
  var isInterim: Bool { head.status.kind == .informational }
}

/// Refers to an exchange with the origin, from any thread.
struct OriginReference: Sendable {
  let loop: any EventLoop
  let handler: NIOLoopBound<any OriginHandler>
  /// The number of the exchange: the connection may serve another request after it.
  let exchange: Int

  /// - Precondition: this is the event loop of `handler`.
  init(_ handler: any OriginHandler, on loop: any EventLoop) {
    (self.loop, exchange) = (loop, handler.exchanges)
    self.handler = NIOLoopBound(handler, eventLoop: loop)
  }

  /// Runs on the event loop, unless the exchange is finished.
  private func during(_ body: @escaping @Sendable (any OriginHandler) -> Void) {
    loop.execute {
      if handler.value.exchanges == exchange { body(handler.value) }
    }
  }

  /// See ``OriginHandler/next(_:)``.
  func next(_ receiver: @escaping OriginReply.Receiver) {
    loop.execute { handler.value.next(receiver) }
  }

  /// See ``OriginHandler/attach(_:)``.
  func attach(_ sending: Task<Void, Never>) {
    during { $0.attach(sending) }
  }

  /// See ``OriginHandler/beginSending()``.
  func beginSending() async throws -> Bool {
    try await loop.submit { handler.value.beginSending() }.get()
  }

  /// Sends a piece of the request's content; waits until it is written.
  func send(_ bytes: ByteBuffer) async throws {
    try await loop.flatSubmit { handler.value.send(bytes) }.get()
  }

  /// See ``OriginHandler/finishSending()``.
  func finishSending() {
    during { $0.finishSending() }
  }

  /// See ``OriginHandler/stopSending()``.
  func stopSending() {
    during { $0.stopSending() }
  }

  /// Cancels the exchange. Closing only the channel is not enough: content that ends with the connection would count as
  /// complete.
  func close() {
    during {
      $0.close(OriginError(.connectionTerminated, "the proxy closed the connection", isByProxy: true))
    }
  }
}
