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
      case .proxyHeader: if !readProxyHeader(context) { return }
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

  /// Removes the ``ProxyHeader`` from the beginning of the connection; `false` if it is missing or malformed.
  private func readProxyHeader(_ context: ChannelHandlerContext) -> Bool {
    do throws(MessageFault) {
      guard case .complete(let sender, let length) = try ProxyHeader.parse(inbound.readableBytesView) else {
        return false
      }
      inbound.moveReaderIndex(forwardBy: length)
      switch sender {
      case .peer: break
      case .client(let client): forwarder = Forwarder(client, self.context.settings.value)
      case .unknown: forwarder = Forwarder(nil, self.context.settings.value)
      }
      machine.proxyHeaderReceived()
      return isAdmitted(context)
    } catch {
      reject(error.reason, context)
      return false
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
        head, reader, scheme: context.configuration.scheme, authority: context.authority)
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
      .init(request), contentLimit: limit, isStopping: self.context.isDraining.load(ordering: .relaxed))
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

  /// RFC 9111 §4: a hit needs only memory. This handles a HEAD or GET without content, as nearly all requests are.
  private func answerFromCache(_ request: ClientRequest, _ context: ChannelHandlerContext) {
    guard request.request.method == .get || request.request.method == .head else {
      current?.work = respond(to: request, body: .empty, context)
      return
    }
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
    _ request: ClientRequest, _ begun: PendingRequest, _ context: ChannelHandlerContext
  ) {
    let responder = Responder(context: self.context, channel: context.channel, client: request)
    let call = OriginClient.Call(minorVersion: request.minorVersion, loop: loop)
    let executor = self.context.executors[loop]
    var pending = begun
    guard
      let exchange = self.context.cache.exchange(
        for: &pending, work: call, interim: responder.interim(call), on: executor,
        transport: responder.transport(call))
    else {
      current?.work = .task(
        Task(executorPreference: executor) { [pending] in
          await responder.run(.empty, begun: pending, on: executor)
        })
      return
    }
    current?.work = .exchange(exchange)
    let (start, bound) = (NIODeadline.now(), NIOLoopBound(self, eventLoop: loop))
    self.context.origin.send(exchange.request, .empty, call) { [loop] result in
      // The connection to the origin is usually on this event loop. Without the client, the loop may be gone.
      if loop.inEventLoop {
        bound.value.end(exchange, call, result, since: start, responder, on: executor)
      } else if exchange.isLeft {
        _ = exchange.finish(result)
      } else {
        loop.execute { bound.value.end(exchange, call, result, since: start, responder, on: executor) }
      }
    }
  }

  /// Ends an exchange with the origin's response, and answers if nothing else has to be waited for.
  private func end(
    _ exchange: DirectExchange, _ call: OriginClient.Call, _ result: Result<TransportResponse, any Error>,
    since start: NIODeadline, _ responder: Responder, on executor: LoopExecutor
  ) {
    switch result {
    case .success: self.context.watch.answered(since: start)
    case .failure(let error): if !call.isCancelled { self.context.watch.failed(error) }
    }
    let outcome = exchange.finish(result)
    guard case .exchange(exchange)? = current?.work, let channelContext else { return }
    switch outcome {
    case .answer(let answer):
      let response = responder.complete(answer)
      if let head = responder.wholeHead(response) {
        writeWhole(head, response.body, channelContext)
      } else {
        current?.work = .task(
          Task(executorPreference: executor) { await responder.deliver(response, call) })
      }
    case .pending:
      current?.work = .task(Task(executorPreference: executor) { await responder.run(exchange, call) })
    case .done: break
    }
  }

  /// RFC 9110 §7.6.2: the last recipient answers.
  private func answerHere(_ request: ClientRequest, _ context: ChannelHandlerContext) {
    let (response, bytes) =
      request.request.method == .trace
      ? GeneratedResponse.trace(request.request, minorVersion: request.minorVersion)
      : GeneratedResponse.options()
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
        request.framing, limits: self.context.configuration.limits.head, isResponse: false))
    let body = MessageBody(FeedReader(feed), length: request.framing.length)
    current?.work = respond(to: request, body: body, context)
  }

  /// Handles a signal: the content of the request is wanted now, or no longer.
  private func requestContent(_ signal: BodyFeed.Signal) {
    guard case .demand = signal, let channelContext, machine.awaitsContent else { return }
    perform(machine.contentWanted(at: now), channelContext)
    process(channelContext)
    flush(channelContext)
    readOn(channelContext)
  }

  /// Responds to a request in its own task, on the event loop of the connection.
  private func respond(
    to client: ClientRequest, body: MessageBody, _ context: ChannelHandlerContext
  ) -> Current.Work {
    let responder = Responder(context: self.context, channel: context.channel, client: client)
    let executor = self.context.executors[context.eventLoop]
    return .task(Task(executorPreference: executor) { await responder.run(body, on: executor) })
  }
}

extension ClientConnectionStateMachine.Request {
  init(_ request: ClientRequest) {
    let method = request.request.method
    self.init(
      framing: request.framing, closes: request.closes, expectsContinue: request.expectsContinue,
      acceptsInterim: request.minorVersion > 0,
      wantsUpgrade: request.upgrade != nil && method.rawValue != "PURGE",
      isAnsweredHere: request.maxForwards == 0,
      isTrace: request.framing != .none && method == .trace)
  }
}
