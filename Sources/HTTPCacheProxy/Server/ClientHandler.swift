// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCaching
import HTTPTypes
import Logging
import NIOCore

/// The handler of a channel on which a client's requests arrive: a connection of HTTP/1.1, or a stream of HTTP/2.
///
/// Stored responses are sent here, on the event loop, in the same turn in which the request was read; large ones go on
/// when the client takes more (``OutgoingContent``). So are small ones from the origin, as soon as they are there
/// (``OriginCall``). Every other request gets a task, which passes the parts of the response to the channel
/// (``ResponsePart``), and waits until each is written.
protocol ClientHandler: AnyObject {
  var context: ProxyContext { get }
  var loop: any EventLoop { get }
  var service: ClientConnection.Service { get }
  /// Names the client to the origin; `nil` before the connection is open.
  var forwarder: Forwarder? { get }
  /// The version of TLS, for the log; `nil` without it.
  var tlsVersion: String? { get }
  /// The lines of the access log; `nil` without one.
  var log: AccessLogLines? { get }
  var channelContext: ChannelHandlerContext? { get }
  var current: RequestInFlight? { get set }
  /// The content of the request, if more of it follows.
  var feed: BodyFeed? { get }
  /// Number of content bytes sent to the client.
  var contentBytes: Int { get }

  /// Writes a response whose content, if it has any, is not a stream.
  func writeWhole(_ head: ResponseHead, _ body: MessageBody, _ context: ChannelHandlerContext)
  /// Passes the content of a request to a feed, from now on.
  func receiveContent(of request: ClientRequest, to feed: BodyFeed)
  /// Called when a reader wants the content of the request.
  func contentWanted(_ context: ChannelHandlerContext)
  /// Sends the origin's 101, and then forwards bytes from either side to the other.
  func switchProtocols(_ head: HTTPResponse, _ origin: OriginConnection.Handle) throws
}

// MARK: - Answers

extension ClientHandler {
  /// Lets the answerer answer the request in flight.
  func answer(_ request: ClientRequest, by answerer: Exchange.Answerer, _ context: ChannelHandlerContext) {
    switch answerer {
    case .cache: answerFromCache(request, context)
    case .cacheWithContent: answerWithContent(request, context)
    case .proxy: answerHere(request, context)
    case .upgrade: if let protocols = request.upgrade { beginUpgrade(to: protocols, request, context) }
    }
  }

  /// RFC 9111 §4: a hit needs only memory. This handles a request without content, as nearly all requests are.
  private func answerFromCache(_ request: ClientRequest, _ context: ChannelHandlerContext) {
    if request.request.method == .purge { return respond(to: request, context) }
    let response: CachedResponse
    switch self.context.cache.begin(request.request) {
    case .answer(let answer): response = answer
    case .pending(let pending): return forward(request, pending, context)
    }
    guard !response.body.isStream else {
      let responder = Responder(context: self.context, channel: context.channel, client: request)
      current?.work = .task(Task { await responder.deliver(response) })
      return
    }
    let head = ResponseHead(response, to: request.request.method, in: request.version)
    writeWhole(head, response.body, context)
  }

  /// Sends a request without content to the origin, here if it waits for nothing else, and otherwise in a task.
  private func forward(
    _ request: ClientRequest, _ pending: PendingRequest, _ context: ChannelHandlerContext
  ) {
    let call = OriginCall(self.context, context.channel, request)
    guard call.site.origin.isAvailable,
      let sent = self.context.cache.exchange(
        for: pending, work: call, interim: call.interim, on: self.context.executors[loop],
        transport: call.transport)
    else {
      return respond(to: request, context, begun: pending)
    }
    current?.work = .exchange(sent)
    self.context.site(of: request).origin.send(
      sent.forwarded, .empty, call, for: .client(NIOLoopBound(self, eventLoop: loop), sent, since: .now()))
  }

  /// Ends an exchange with the origin's response, and answers if nothing else has to be waited for.
  func end(
    _ sent: SentRequest, _ call: OriginCall, _ result: Result<TransportResponse, any Error>,
    since start: NIODeadline
  ) {
    switch result {
    case .success: call.site.watch.answered(since: start)
    case .failure(let error): if !call.isCancelled { call.site.watch.failed(error) }
    }
    let ending = sent.finish(result)
    guard case .exchange(let own)? = current?.work, own === sent, let client = current?.request,
      let channelContext
    else { return }
    let responder = Responder(context: context, channel: channelContext.channel, client: client)
    switch ending {
    case .answer(let answer):
      let response = responder.complete(answer)
      if let head = responder.wholeHead(response) {
        writeWhole(head, response.body, channelContext)
      } else {
        run { _ in await responder.deliver(response, call) }
      }
    case .pending: run { _ in await responder.run(sent, call) }
    case .done: break
    }
  }

  /// Answers a request that goes no further, because its port or its `Max-Forwards` says so (RFC 9110 §7.6.2).
  private func answerHere(_ request: ClientRequest, _ context: ChannelHandlerContext) {
    let (response, bytes) =
      switch service {
      case .refusesPlainText: GeneratedResponse.tlsRequired()
      case .redirects(let port): GeneratedResponse.redirect(request.request, toPort: port)
      case .answers where request.request.method == .trace: GeneratedResponse.trace(request)
      case .answers: GeneratedResponse.options()
      }
    let head = ResponseHead(
      generated: response, length: bytes.count, for: request, to: request.request.method,
      in: request.version, by: self.context.cache)
    writeWhole(head, MessageBody(bytes), context)
  }

  private func answerWithContent(_ request: ClientRequest, _ context: ChannelHandlerContext) {
    let (bound, loop) = (NIOLoopBound(self as any ClientHandler, eventLoop: loop), loop)
    let feed = BodyFeed(transit: self.context.cache.transit) { signal in
      // The reader may also be gone: then the content will not be read.
      guard case .demand = signal else { return }
      loop.execute { if let context = bound.value.channelContext { bound.value.contentWanted(context) } }
    }
    receiveContent(of: request, to: feed)
    respond(to: request, context, body: MessageBody(FeedReader(feed), length: request.framing.length))
  }

  private func beginUpgrade(to protocols: String, _ request: ClientRequest, _ context: ChannelHandlerContext)
  {
    let responder = Responder(context: self.context, channel: context.channel, client: request)
    let client = NIOLoopBound(self as any ClientHandler, eventLoop: loop)
    run { await responder.upgrade(client, to: protocols, on: $0) }
  }

  /// Responds to a request in its own task.
  private func respond(
    to client: ClientRequest, _ context: ChannelHandlerContext, body: MessageBody = .empty,
    begun pending: PendingRequest? = nil
  ) {
    let responder = Responder(context: self.context, channel: context.channel, client: client)
    run { await responder.run(body, begun: pending, on: $0) }
  }

  /// Lets a task answer the request, on the event loop of the client.
  private func run(_ answer: @escaping @Sendable (LoopExecutor) async -> Void) {
    let executor = context.executors[loop]
    current?.work = .task(Task(executorPreference: executor) { await answer(executor) })
  }
}

// MARK: - Log

extension ClientHandler {
  /// Records the head of the final response.
  func began(_ head: ResponseHead, at now: NIODeadline) {
    guard let microseconds = current?.began(head, at: now) else { return }
    let (statistics, outcome) = (context.site(of: current?.request).statistics, head.provenance.outcome)
    statistics.latency.record(microseconds: microseconds)
    statistics.answered(outcome, head.statusCode)
    context.statistics.answered(outcome)
  }

  /// Logs why the content of a response is incomplete.
  func noteFailure(_ error: any Error) {
    context.logger.debug(
      "response ended early",
      metadata: ["target": "\(current?.request.request.path ?? "")", "error": "\(error)"])
  }

  /// Counts the content of a finished response, and logs its request.
  func note(_ ended: RequestInFlight, endedAt end: NIODeadline, isAborted: Bool) {
    let count = contentBytes
    let site = context.site(of: ended.request)
    if let outcome = ended.provenance?.outcome { site.statistics.sent(count, outcome, ended.status) }
    guard let log else { return }
    log.append(
      AccessLogEntry(
        client: clientText(of: ended.request), version: ended.request.version, tlsVersion: tlsVersion,
        site: site.name, status: ended.status, contentBytes: count, provenance: ended.provenance,
        microsecondsToHead: ended.hasHead ? ended.microsecondsToHead : nil,
        microseconds: (end - ended.start).nanoseconds / 1000, isAborted: isAborted),
      ended.request.request)
  }

  /// Counts a refused request, and logs it.
  ///
  /// - Parameters:
  ///   - request: the request, if it could be read as one.
  ///   - unreadable: otherwise what the log has of it.
  ///   - start: when the request began to arrive.
  func note(
    _ fault: MessageFault, _ request: ClientRequest?, unreadable: ByteBuffer?, version: HTTPVersion,
    since start: NIODeadline, contentBytes: Int
  ) {
    let site = context.site(of: request)
    site.statistics.answered(.refused, fault.status)
    site.statistics.sent(contentBytes, .refused, fault.status)
    context.statistics.answered(.refused)
    guard let log else { return }
    let time = (loop.now - start).nanoseconds / 1000
    log.append(
      AccessLogEntry(
        client: clientText(of: request), version: request?.version ?? version, tlsVersion: tlsVersion,
        unreadable: unreadable, site: site.name, status: fault.status, contentBytes: contentBytes,
        provenance: Provenance(failure: fault), microsecondsToHead: time, microseconds: time,
        isAborted: false), request?.request)
  }

  /// Returns the client of a request, for the log. For nearly all, the text already exists.
  private func clientText(of request: ClientRequest?) -> String {
    guard let forwarder, forwarder.address != nil else { return "-" }
    guard let client = request?.client, client != forwarder.address else { return forwarder.text }
    return client.description
  }
}
