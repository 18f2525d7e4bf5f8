// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCaching
import NIOCore

/// What a client's request has sent to the origin: the caller that gets the response, and what is known of it.
///
/// It is the only object of the proxy that a request without a task takes. So its functions for the cache and for the
/// connection capture nothing else: such a function needs no memory.
final class OriginCall: Cancellable {
  /// The caller of the transport, which gets the response.
  enum Caller {
    case task(CheckedContinuation<TransportResponse, any Error>)
    /// The client's channel, on its event loop.
    ///
    /// - Parameter since: when the request was sent.
    case client(NIOLoopBound<any ClientHandler>, SentRequest, since: NIODeadline)
  }

  /// A request that may be sent again.
  struct Repeatable {
    var request: HTTPRequest
    var body: MessageBody
    /// Whether the connection had served another request before.
    var isReused: Bool
    /// Whether the next attempt needs a connection that no other request has used: another idle one may be closing as well.
    var needsNew: Bool
  }

  private struct State {
    var isCancelled = false
    var caller: Caller?
    /// The connection on which a response is awaited.
    var connection: OriginReference?
    /// The place among the requests that wait for a connection.
    var ticket: Int?
    /// What is sent again if the connection turns out to be closing.
    var repeatable: Repeatable?
    /// Number of times that the request was sent.
    var attempts = 0
    /// The content of the final response.
    var feed: BodyFeed?
    /// The interim response that is being written to the client.
    var interim: EventLoopFuture<Void>?
  }

  private let context: ProxyContext
  /// The channel of the client's requests.
  private let channel: any Channel
  /// The client's event loop, on which the connection to the origin should be too.
  let loop: any EventLoop
  /// The client's HTTP version (RFC 9110 §7.6.3).
  let version: HTTPVersion
  let expectsContinue: Bool
  private let state = Mutex(State())

  init(_ context: ProxyContext, _ channel: any Channel, _ client: ClientRequest) {
    (self.context, self.channel, loop) = (context, channel, channel.eventLoop)
    (version, expectsContinue) = (client.version, client.expectsContinue)
  }

  // MARK: - The cache

  /// Sends requests to the origin.
  var transport: Transport {
    { [self] request, body in
      try await context.watch.observe { try await context.origin.send(request, body, self) }
    }
  }

  /// Passes interim responses to the client. The next one is read after the client, or the kernel, has taken this one.
  var interim: InterimReceiver {
    { [self] head in
      let write = channel.writeAndFlush(ResponsePart.interim(head))
      state.withLock { $0.interim = write }
    }
  }

  /// Also ends with the client's connection, which the stall time-out closes.
  func interimWritten() async {
    let write = state.withLock { $0.interim.take() }
    try? await write?.get()
  }

  /// The trailers of the response, once its content has been read.
  var trailers: HTTPFields? { state.withLock { $0.feed }?.trailers }

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Closes the connection if the response is awaited, or waits for a connection no longer. The call ends with an error.
  func cancel() {
    let (connection, ticket) = state.withLock { state in
      state.isCancelled = true
      return (state.connection, state.ticket.take())
    }
    connection?.close()
    if let ticket { context.origin.leave(ticket) }
  }

  // MARK: - The connection

  /// Receives responses from the connection.
  var receiver: OriginReply.Receiver {
    { [self] in context.origin.receive($0, self) }
  }

  /// Records the place among the requests that wait for a connection.
  ///
  /// - Returns: whether the client has left.
  func waits(_ ticket: Int) -> Bool {
    state.withLock { state in
      state.ticket = ticket
      return state.isCancelled
    }
  }

  var connection: OriginReference? { state.withLock { $0.connection } }

  func begin(for caller: Caller) { state.withLock { $0.caller = caller } }

  /// Records the connection that the request is sent on.
  func awaits(_ connection: OriginReference, _ repeatable: Repeatable) {
    let isCancelled = state.withLock { state in
      (state.connection, state.repeatable) = (connection, repeatable)
      state.attempts += 1
      return state.isCancelled
    }
    if isCancelled { connection.close() }
  }

  /// Returns the request if it may be sent again after an error.
  func takeRepeatable(after error: OriginError) -> Repeatable? {
    let (repeatable, attempts) = state.withLock { ($0.isCancelled ? nil : $0.repeatable.take(), $0.attempts) }
    guard let repeatable, error.allowsRetry(repeatable, attempt: attempts) else { return nil }
    return repeatable
  }

  /// Records that the final response has arrived.
  ///
  /// - Parameter feed: its content, if that is still arriving.
  func received(_ feed: BodyFeed?) {
    state.withLock { ($0.connection, $0.repeatable, $0.feed) = (nil, nil, feed) }
  }

  /// Passes the response, or the error, to the caller.
  func end(_ result: Result<TransportResponse, any Error>) {
    switch state.withLock({ $0.caller.take() }) {
    case .task(let continuation): continuation.resume(with: result)
    case .client(let bound, let sent, let start):
      // The connection to the origin is usually on this event loop. Without the client, the loop may be gone.
      if loop.inEventLoop {
        bound.value.end(sent, self, result, since: start)
      } else if sent.isLeft {
        _ = sent.finish(result)
      } else {
        loop.execute { bound.value.end(sent, self, result, since: start) }
      }
    case nil: break
    }
  }
}
