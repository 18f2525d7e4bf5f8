import HTTPCacheObserving
import HTTPCaching
import HTTPTypes
import NIOCore
import Synchronization

/// From bytes to requests, and each to whoever answers it.
extension ClientConnection {
  func process(_ context: ChannelHandlerContext) {
    // A response that ends inside calls here again.
    guard !isProcessing else { return }
    isProcessing = true
    defer { isProcessing = false }
    while true {
      switch reading {
      case .draining, .nothing: return
      case .head:
        guard current == nil, context.channel.isWritable else { return }
        do throws(MessageFault) {
          guard let request = try nextRequest() else {
            if inputIsClosed { end(context) }
            return
          }
          begin(request, context)
        } catch {
          refuse(error, context)
          return
        }
      case .content(let feed, var decoder, var left):
        do throws(MessageFault) {
          let event = try decoder.next(from: &inbound)
          switch event {
          case nil:
            reading = .content(feed, decoder, left: left)
            return
          case .data(let bytes):
            left -= bytes.readableBytes
            guard left >= 0 else { throw MessageFault(413, "the content of the request is too large") }
            reading = .content(feed, decoder, left: left)
            feed.push(bytes)
          case .end(let trailers):
            reading = .nothing
            feed.finish(.success(()), trailers: trailers)
            if current == nil { reading = .head }
          }
        } catch {
          feed.finish(.failure(error))
          reading = .nothing
          // The response may be on its way; what comes behind cannot be told apart from content.
          if current?.hasHead == true {
            context.close(promise: nil)
          } else {
            let request = current?.request
            current?.task?.cancel()
            current = nil
            refuse(error, context, of: request)
          }
          return
        }
      }
    }
  }

  /// The next request, once its head is there.
  func nextRequest() throws(MessageFault) -> ClientRequest? {
    // RFC 9112 §2.2: empty lines before a request are overlooked.
    while inbound.getInteger(at: inbound.readerIndex, as: UInt16.self) == 0x0D0A {
      inbound.moveReaderIndex(forwardBy: 2)
      reader.reset()
    }
    guard inbound.readableBytes > 0 else { return nil }
    guard let length = try reader.findEnd(in: inbound), let head = inbound.readSlice(length: length) else {
      if headStart == nil, let channelContext {
        headStart = .now()
        // The head's time is shorter than the idle connection's, whose timer is set.
        armTimer(channelContext, at: .now() + .milliseconds(context.settings.value.timeouts.head))
      }
      return nil
    }
    headStart = nil
    let reader = reader
    self.reader.reset()
    do throws(MessageFault) {
      var request = try ClientRequest(
        head, reader, scheme: context.configuration.scheme, authority: context.authority)
      // What is answered here is shown as it came.
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

  func begin(_ request: ClientRequest, _ context: ChannelHandlerContext) {
    let isLast = request.closes || self.context.isDraining.load(ordering: .relaxed)
    var current = Current(request: request, start: progress, closes: isLast)
    if let protocols = request.upgrade, request.request.method.rawValue != "PURGE" {
      return beginUpgrade(to: protocols, current, context)
    }
    if request.framing == .none, request.maxForwards != 0 {
      reading = .nothing
      // RFC 9111 §4: a hit needs nobody but memory. A HEAD or GET without content, as nearly all are.
      if request.request.method == .get || request.request.method == .head,
        let response = self.context.cache.storedResponse(for: request.request)
      {
        guard response.body.isInMemory, let count = response.body.length,
          count <= Responder.piece(self.context)
        else {
          let responder = Responder(context: self.context, channel: context.channel, client: request)
          current.task = Task { await responder.deliver(response) }
          self.current = current
          return
        }
        self.current = current
        let head = ResponseHead(
          response.head, to: request.request.method, minorVersion: request.minorVersion, isStored: true,
          length: count, Provenance(response))
        writeWhole(head, response.body, context, promise: nil)
        return
      }
      current.task = respond(to: request, body: .empty, context)
      self.current = current
      return
    }
    if request.maxForwards == 0 {
      // RFC 9110 §7.6.2: the last recipient answers.
      let (response, bytes) =
        request.request.method == .trace
        ? GeneratedResponse.trace(request.request, minorVersion: request.minorVersion)
        : GeneratedResponse.options()
      current.closes = current.closes || request.framing != .none
      reading = .nothing
      self.current = current
      let head = ResponseHead(
        response, to: request.request.method, minorVersion: request.minorVersion, isStored: true,
        length: bytes.count)
      writeWhole(head, MessageBody(bytes), context, promise: nil)
      return
    }
    let limit = self.context.settings.value.limits.requestBytes
    var length: Int?
    if case .length(let count) = request.framing {
      guard count <= limit else {
        return refuse(
          MessageFault(413, "the content of the request has more than \(limit) bytes"), context, of: request)
      }
      length = count
    }
    if request.request.method == .trace {
      return refuse(MessageFault("TRACE has no content (RFC 9110 §9.3.8)"), context, of: request)
    }
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    let loop = context.eventLoop
    let feed = BodyFeed(transit: self.context.cache.transit) { signal in
      loop.execute { bound.value.requestContent(signal) }
    }
    reading = .content(
      feed, BodyDecoder(request.framing, limits: self.context.configuration.limits.head, isResponse: false),
      left: limit)
    current.task = respond(to: request, body: MessageBody(FeedReader(feed), length: length), context)
    self.current = current
  }

  /// The content of the request is wanted now, or not any more.
  func requestContent(_ signal: BodyFeed.Signal) {
    guard let channelContext, case .content = reading else { return }
    switch signal {
    case .demand:
      guard var current else { return }
      if !current.wantsContent {
        current.wantsContent = true
        self.current = current
        progress = .now()
        // RFC 9110 §10.1.1; not behind the final response.
        if current.request.expectsContinue, !current.hasHead {
          write(HTTPResponse(status: .continue), channelContext)
        }
      }
      process(channelContext)
      flush(channelContext)
      readOn(channelContext)
    case .abandoned: break
    }
  }

  /// Answers in a task of its own: from the disk, from the origin, or from another's request.
  func respond(to client: ClientRequest, body: MessageBody, _ context: ChannelHandlerContext) -> Task<
    Void, Never
  > {
    let responder = Responder(context: self.context, channel: context.channel, client: client)
    return Task { await responder.run(body) }
  }
}
