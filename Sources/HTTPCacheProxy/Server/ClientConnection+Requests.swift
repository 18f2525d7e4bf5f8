// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheObserving
import HTTPCaching
import HTTPTypes
import NIOCore

/// Turns bytes into requests, and passes each to its answerer.
extension ClientConnection {
  func process(_ context: ChannelHandlerContext) {
    // A response that ends during processing calls this method again.
    guard !isProcessing else { return }
    isProcessing = true
    defer {
      isProcessing = false
      // A client that does not take its response has a request in progress.
      if isIdle, context.channel.isWritable { place?.becameIdle(at: machine.progress) }
    }
    while true {
      switch machine.next(isWritable: context.channel.isWritable) {
      case .nothing: return
      case .head:
        do throws(MessageFault) {
          guard let request = try nextRequest() else {
            return perform(machine.headIncomplete(hasBegun: inbound.readableBytes > 0), context)
          }
          answer(request, context)
        } catch {
          return perform(machine.headFailed(error), context)
        }
      case .content: if !readContent(context) { return }
      }
    }
  }

  /// Takes a piece of the request's content; `false` if there is none.
  private func readContent(_ context: ChannelHandlerContext) -> Bool {
    do throws(MessageFault) {
      guard let event = try content?.decoder.next(from: &inbound) else { return false }
      switch event {
      case .data(let bytes):
        let action = machine.contentReceived(bytes.readableBytes)
        guard action == .none else {
          perform(action, context)
          return false
        }
        content?.feed.push(bytes)
      case .end(let trailers):
        machine.contentEnded()
        content?.feed.finish(.success(()), trailers: trailers)
        content = nil
      }
      return true
    } catch {
      perform(machine.contentFailed(error), context)
      return false
    }
  }

  /// Returns the next request, once its head has arrived.
  private func nextRequest() throws(MessageFault) -> ClientRequest? {
    // RFC 9112 §2.2: empty lines before a request are skipped.
    while inbound.getInteger(at: inbound.readerIndex, as: UInt16.self) == 0x0D0A {
      inbound.moveReaderIndex(forwardBy: 2)
      reader.reset()
    }
    guard inbound.readableBytes > 0, let length = try reader.findEnd(in: inbound),
      let head = inbound.readSlice(length: length)
    else { return nil }
    let reader = reader
    self.reader.reset()
    do throws(MessageFault) {
      var request = try ClientRequest(
        head, reader, scheme: service == .answers ? context.configuration.clientScheme : "http",
        authority: service == .answers ? context.authority : "")
      // A request that the proxy answers itself is shown as received.
      if request.maxForwards == 0 {
        request.client = clientAddress
      } else {
        request.client = forwarder?.apply(to: &request.request, given: request.forwarding)
      }
      return request
    } catch {
      unreadable = head
      throw error
    }
  }

  private func answer(_ request: ClientRequest, _ context: ChannelHandlerContext) {
    // Reading the limit takes a lock.
    let limit = request.framing == .none ? 0 : self.context.settings.value.limits.requestBytes
    let answerer = machine.requestReceived(
      .init(request, service), contentLimit: limit,
      isStopping: self.context.isDraining.load(ordering: .relaxed))
    if case .refusal(let action) = answerer { return perform(action, context, of: request) }
    current = Current(request: request, start: machine.progress)
    switch answerer {
    case .cache: answerFromCache(request, context)
    case .cacheWithContent: answerWithContent(request, context)
    case .proxy: answerHere(request, context)
    case .upgrade: if let protocols = request.upgrade { beginUpgrade(to: protocols, request, context) }
    case .refusal: break
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
    guard response.body.isInMemory else {
      let responder = Responder(context: self.context, channel: context.channel, client: request)
      current?.work = .task(Task { await responder.deliver(response) })
      return
    }
    let head = ResponseHead(response, to: request.request.method, minorVersion: request.minorVersion)
    writeWhole(head, response.body, context)
  }

  /// Sends a request without content to the origin, here if it waits for nothing else, and otherwise in a task.
  private func forward(
    _ request: ClientRequest, _ pending: PendingRequest, _ context: ChannelHandlerContext
  ) {
    let call = OriginCall(self.context, context.channel, request)
    guard
      let sent = self.context.cache.exchange(
        for: pending, work: call, interim: call.interim, on: self.context.executors[loop],
        transport: call.transport)
    else {
      return respond(to: request, context, begun: pending)
    }
    current?.work = .exchange(sent)
    self.context.origin.send(
      sent.forwarded, .empty, call,
      for: .connection(NIOLoopBound(self, eventLoop: loop), sent, since: .now()))
  }

  /// Ends an exchange with the origin's response, and answers if nothing else has to be waited for.
  func end(
    _ sent: SentRequest, _ call: OriginCall, _ result: Result<TransportResponse, any Error>,
    since start: NIODeadline
  ) {
    switch result {
    case .success: self.context.watch.answered(since: start)
    case .failure(let error): if !call.isCancelled { self.context.watch.failed(error) }
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
      case .answers where request.request.method == .trace:
        GeneratedResponse.trace(request.request, minorVersion: request.minorVersion)
      case .answers: GeneratedResponse.options()
      }
    let head = ResponseHead(
      response, to: request.request.method, minorVersion: request.minorVersion, isStored: true,
      length: bytes.count)
    writeWhole(head, MessageBody(bytes), context)
  }

  private func answerWithContent(_ request: ClientRequest, _ context: ChannelHandlerContext) {
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    let loop = context.eventLoop
    let feed = BodyFeed(transit: self.context.cache.transit) { signal in
      loop.execute { bound.value.requestContent(signal) }
    }
    content = IncomingContent(
      feed: feed,
      decoder: BodyDecoder(
        request.framing, limits: reader.limits, isResponse: false))
    let body = MessageBody(FeedReader(feed), length: request.framing.length)
    respond(to: request, context, body: body)
  }

  /// Handles a signal: the content of the request is wanted now, or no longer.
  private func requestContent(_ signal: BodyFeed.Signal) {
    guard case .demand = signal, let channelContext, machine.awaitsContent else { return }
    perform(machine.contentWanted(at: now), channelContext)
    process(channelContext)
    flush(channelContext)
    readOn(channelContext)
  }

  /// Responds to a request in its own task.
  private func respond(
    to client: ClientRequest, _ context: ChannelHandlerContext, body: MessageBody = .empty,
    begun pending: PendingRequest? = nil
  ) {
    let responder = Responder(context: self.context, channel: context.channel, client: client)
    run { await responder.run(body, begun: pending, on: $0) }
  }

  /// Lets a task answer the request, on the event loop of the connection.
  func run(_ answer: @escaping @Sendable (LoopExecutor) async -> Void) {
    let executor = context.executors[loop]
    current?.work = .task(Task(executorPreference: executor) { await answer(executor) })
  }
}

extension ClientConnectionStateMachine.Request {
  init(_ request: ClientRequest, _ service: ClientConnection.Service) {
    let method = request.request.method
    self.init(
      framing: request.framing, closes: request.closes, expectsContinue: request.expectsContinue,
      acceptsInterim: request.minorVersion > 0,
      wantsUpgrade: request.upgrade != nil && method.rawValue != "PURGE" && service == .answers,
      isAnsweredHere: request.maxForwards == 0 || service != .answers,
      isTrace: request.framing != .none && method == .trace)
  }
}
