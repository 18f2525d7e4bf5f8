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

  /// A request that was sent, and may be sent again.
  struct Sent {
    var request: HTTPRequest
    var body: MessageBody
    /// Number of times that it was sent to this server.
    var attempts = 0
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
    /// The server that has the request, and those that have not answered it.
    var server: OriginServer?
    var earlier: [OriginServer] = []
    /// The place among the requests that wait for a connection to the server.
    var ticket: Int?
    /// Whether a server may have got the request.
    var mayHaveArrived = false
    /// Whether the failure of a server to answer was counted.
    var hasFailed = false
    /// What was sent.
    var sent: Sent?
    /// Number of times that it was sent to this server.
    var attempts = 0
    /// The content of the request, if it is sent while it arrives.
    var content: KeptContent?
    /// The content of the final response.
    var feed: BodyFeed?
    /// The interim response that is being written to the client.
    var interim: EventLoopFuture<Void>?

    mutating func begin(at server: OriginServer) {
      (self.server, connection, ticket, attempts) = (server, nil, nil, 0)
    }
  }

  let site: ServedSite
  /// The channel of the client's requests; `nil` if no client waits for the response.
  private let channel: (any Channel)?
  /// The client's event loop, on which the connection to the origin should be too.
  let loop: any EventLoop
  /// The client's HTTP version (RFC 9110 §7.6.3).
  let version: HTTPVersion
  let expectsContinue: Bool
  private let state = Mutex(State())

  convenience init(_ context: ProxyContext, _ channel: any Channel, _ client: ClientRequest) {
    self.init(context, channel, on: channel.eventLoop, client)
  }

  init(
    _ context: ProxyContext, _ channel: (any Channel)?, on loop: any EventLoop, _ client: ClientRequest
  ) {
    (site, self.channel, self.loop) = (context.site(of: client), channel, loop)
    (version, expectsContinue) = (client.version, client.expectsContinue)
  }

  // MARK: - The cache

  /// Sends requests to the origin.
  var transport: Transport {
    { [self] request, body in
      try await site.watch.observe { try await site.origin.send(request, body, self) }
    }
  }

  /// Passes interim responses to the client. The next one is read after the client, or the kernel, has taken this one.
  var interim: InterimReceiver {
    { [self] head in
      let write = channel?.writeAndFlush(ResponsePart.interim(head))
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
    let (connection, server, ticket) = state.withLock { state in
      state.isCancelled = true
      return (state.connection, state.server, state.ticket.take())
    }
    connection?.close()
    if let ticket { server?.leave(ticket) }
  }

  // MARK: - The server

  /// The servers that have got the request, in this order.
  var servers: [OriginServer] { state.withLock { $0.earlier + [$0.server].compactMap(\.self) } }

  /// Records the server that gets a request first.
  func begins(at server: OriginServer) {
    state.withLock { state in
      (state.earlier, state.mayHaveArrived) = ([], false)
      state.begin(at: server)
    }
  }

  /// Records the server that gets the request next.
  func goes(to server: OriginServer) {
    state.withLock { state in
      if let last = state.server { state.earlier.append(last) }
      state.begin(at: server)
    }
  }

  var mayHaveArrived: Bool { state.withLock { $0.mayHaveArrived } }

  /// Whether a failure to answer the request counts for its server: the first one does.
  func countsFailure() -> Bool {
    state.withLock { state in
      defer { state.hasFailed = true }
      return !state.hasFailed
    }
  }

  /// Sends the request to another server.
  ///
  /// - Returns: whether there is one that may get it.
  func sendAgain(_ request: HTTPRequest, _ body: MessageBody, after cause: OriginError) -> Bool {
    site.origin.sendAgain(request, body, self, after: cause)
  }

  /// Waits for a response; if the task is cancelled, so is the call.
  func response(_ send: (Caller) -> Void) async throws -> TransportResponse {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { send(.task($0)) }
    } onCancel: {
      cancel()
    }
  }

  // MARK: - The connection

  /// Receives responses from the connection.
  var receiver: OriginReply.Receiver {
    { [self] result in state.withLock { $0.server }?.receive(result, self) }
  }

  /// Records the place among the requests that wait for a connection.
  ///
  /// - Returns: whether the client has left.
  func waits(_ ticket: Int, at server: OriginServer) -> Bool {
    state.withLock { state in
      // The request may have had its turn meanwhile, and be with another server, whose tickets are other ones.
      guard state.server === server else { return false }
      state.ticket = ticket
      return state.isCancelled
    }
  }

  // MARK: - The content of the request

  /// Returns content that can be sent again, as far as it is kept.
  func keeping(_ body: MessageBody, _ transit: TransitBudget) -> MessageBody {
    if body.isInMemory { return body }
    let content = KeptContent(body, transit: transit)
    state.withLock { $0.content = content }
    return MessageBody(content, length: body.length)
  }

  /// Whether all of the content can be sent to the next server, or on the next connection.
  var hasContent: Bool { state.withLock { $0.content }?.isWhole ?? true }

  /// Keeps the content no longer: it is not sent again.
  func releaseContent() { state.withLock { $0.content }?.release() }

  var connection: OriginReference? { state.withLock { $0.connection } }

  func begin(for caller: Caller) { state.withLock { $0.caller = caller } }

  /// Records the connection that the request is sent on.
  func awaits(_ connection: OriginReference, _ sent: Sent) {
    let isCancelled = state.withLock { state in
      state.attempts += 1
      (state.connection, state.sent, state.ticket) = (connection, sent, nil)
      state.sent?.attempts = state.attempts
      return state.isCancelled
    }
    if isCancelled { connection.close() }
  }

  /// Returns the request that was sent; `nil` if the client has left.
  ///
  /// - Parameter reach: how far it has come.
  func takeSent(_ reach: OriginError.Reach) -> Sent? {
    state.withLock { state in
      if reach != .unsent { state.mayHaveArrived = true }
      return state.isCancelled ? nil : state.sent.take()
    }
  }

  /// Records that the final response has arrived.
  ///
  /// - Parameter feed: its content, if that is still arriving.
  func received(_ feed: BodyFeed?) {
    state.withLock { ($0.connection, $0.sent, $0.feed) = (nil, nil, feed) }
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
