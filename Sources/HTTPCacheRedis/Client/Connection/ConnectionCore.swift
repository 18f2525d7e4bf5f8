// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import NIOCore
import NIOPosix
import TransportSecurity

/// The part of a ``RedisConnection`` that lives on its event loop: it connects, sends requests and receives replies.
final class ConnectionCore: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// What the owner of the connection is told, on the event loop.
  enum Event: Sendable {
    case ready
    case ended(RedisError)
  }

  private enum Phase {
    case connecting
    /// The greeting was sent.
    case greeting(ChannelHandlerContext)
    case ready(ChannelHandlerContext)
    case ended
  }

  private let eventLoop: any EventLoop
  private let settings: ConnectionSettings
  private let inbox: RequestInbox
  private let report: @Sendable (Event) -> Void
  private var reader: ReplyReader
  /// Succeeds when the connection ended and its socket is closed.
  private let closed: EventLoopPromise<Void>

  private var phase = Phase.connecting
  /// Set when there is, or may soon be, a socket.
  private var server: RedisAddress?
  private var queue = RequestQueue()
  private var greeting: (steps: Greeting, request: Request)?
  /// An error of the channel, which closes next: it says more than the closing.
  private var fault: String?
  private var check: (time: NIODeadline, timer: Scheduled<Void>)?

  init(
    on eventLoop: any EventLoop, _ settings: ConnectionSettings, inbox: RequestInbox,
    report: @escaping @Sendable (Event) -> Void
  ) {
    self.eventLoop = eventLoop
    self.settings = settings
    self.inbox = inbox
    self.report = report
    closed = eventLoop.makePromise()
    reader = ReplyReader(limit: settings.maximumReplyBytes)
  }

  // MARK: Connecting

  func connect(to server: RedisAddress) {
    guard case .connecting = phase else { return }
    prepare(for: server)
    let core = NIOLoopBound(self, eventLoop: eventLoop)
    let tls = settings.tls
    let bootstrap = ClientBootstrap(group: eventLoop)
      .connectTimeout(settings.connectTimeout)
      // Whole replies of usual size in one read.
      .channelOption(
        .recvAllocator,
        value: AdaptiveRecvByteBufferAllocator(minimum: 1024, initial: 16384, maximum: 256 << 10)
      )
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          if let tls {
            let deadline = channel.eventLoop.now + core.value.settings.connectTimeout
            try tls.encrypt(channel, to: server.host, by: deadline)
              .whenFailure { if $0 is TLSFailure { core.value.fault = "\($0)" } }
          }
          try channel.pipeline.syncOperations.addHandler(core.value)
        }
      }
    let connected =
      switch server {
      case .tcp(let host, let port):
        bootstrap
          .channelOption(ChannelOptions.socket(SocketOptionLevel(SOL_SOCKET), SO_KEEPALIVE), value: 1)
          .connect(host: host, port: port)
      case .unix(let path): bootstrap.connect(unixDomainSocketPath: path)
      }
    connected.whenFailure { error in
      core.value.end(RedisError(.unreachable, "cannot connect to \(server): \(error)"))
      core.value.closed.succeed()
    }
  }

  /// Makes the first commands. Their time limit begins before there is a socket.
  func prepare(for server: RedisAddress) {
    self.server = server
    let steps = Greeting(settings)
    let bytes = CommandWriter.write(steps.commands, with: ByteBufferAllocator())
    let deadline = eventLoop.now + settings.connectTimeout
    greeting = (steps, Request(bytes, commands: steps.commands.count, deadline: deadline))
    schedule(at: deadline)
  }

  func channelActive(context: ChannelHandlerContext) {
    settings.counters.connections.wrappingAdd(1, ordering: .relaxed)
    settings.counters.connectionsOpened.wrappingAdd(1, ordering: .relaxed)
    // The connection may have been closed while it was made.
    guard case .connecting = phase, let greeting else { return context.close(promise: nil) }
    phase = .greeting(context)
    queue.markSent(greeting.request, now: eventLoop.now)
    context.writeAndFlush(wrapOutboundOut(greeting.request.bytes), promise: nil)
  }

  private func finishGreeting(_ context: ChannelHandlerContext, _ replies: [RedisValue]) {
    guard let (steps, _) = greeting, let server else { return }
    greeting = nil
    if let fault = steps.fault(in: replies, from: server) { return end(fault) }
    phase = .ready(context)
    report(.ready)
    send()
  }

  // MARK: Sending

  /// Takes the requests out of the inbox, and sends them if the connection is ready.
  func drain() {
    if case .ended = phase { return }
    var earliest: NIODeadline?
    for request in inbox.take() {
      queue.add(request)
      earliest = min(earliest ?? request.deadline, request.deadline)
    }
    send()
    if let earliest { schedule(at: earliest) }
  }

  private func send() {
    guard case .ready(let context) = phase else { return }
    let now = eventLoop.now
    var sent = false
    while let request = queue.nextToSend(now: now, drop: { inbox.remove($0) }) {
      context.write(wrapOutboundOut(request.bytes), promise: nil)
      settings.counters.noteSent(request)
      sent = true
    }
    if sent { context.flush() }
  }

  // MARK: Receiving

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .ended = phase { return }
    let bytes = unwrapInboundIn(data)
    settings.counters.bytesReceived.wrappingAdd(bytes.readableBytes, ordering: .relaxed)
    let now = eventLoop.now
    queue.noteProgress(now: now)
    do throws(ReplyReader.Violation) {
      try reader.feed(bytes)
      while let value = try reader.next() {
        try receive(value, context, now: now)
        if case .ended = phase { return }
      }
    } catch {
      violated(error)
    }
  }

  private func receive(
    _ value: RedisValue, _ context: ChannelHandlerContext, now: NIODeadline
  ) throws(ReplyReader.Violation) {
    switch queue.receive(value, now: now) {
    case .partial: break
    case .complete(let request, let replies):
      if request === greeting?.request { return finishGreeting(context, replies) }
      inbox.remove(request)
      request.finish(.success(replies))
    case .unexpected: throw ReplyReader.Violation(what: "a reply to no command")
    }
  }

  private func violated(_ violation: ReplyReader.Violation) {
    settings.counters.protocolViolations.wrappingAdd(1, ordering: .relaxed)
    end(
      RedisError(
        .protocolViolation,
        "\(name) sent \(violation.what); check that it is a Redis or Valkey server and that the limit is large enough"
      ))
  }

  // MARK: Ending

  func channelInactive(context: ChannelHandlerContext) {
    settings.counters.connections.wrappingSubtract(1, ordering: .relaxed)
    let isGreeting = greeting != nil
    let what = fault.map { "the connection to \(name) failed: \($0)" } ?? "\(name) closed the connection"
    end(RedisError(isGreeting ? .unreachable : .connectionLost, what))
    closed.succeed()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    fault = "\(error)"
    context.close(promise: nil)
  }

  /// Ends the connection, and all that waits for it.
  func end(_ error: RedisError) {
    let context: ChannelHandlerContext?
    switch phase {
    case .ended: return
    case .connecting: context = nil
    case .greeting(let current), .ready(let current): context = current
    }
    phase = .ended
    greeting = nil
    check?.timer.cancel()
    check = nil
    let unsent = inbox.close(error)
    for request in queue.removeAll() + unsent { request.finish(.failure(error)) }
    context?.close(promise: nil)
    if server == nil { closed.succeed() }
    report(.ended(error))
  }

  var closeFuture: EventLoopFuture<Void> { closed.futureResult }

  private var name: String { server.map { "\($0)" } ?? "the server" }

  // MARK: Time

  /// Looks at the time limits at `time` or before. One timer serves all requests.
  private func schedule(at time: NIODeadline) {
    if let check, check.time <= time { return }
    check?.timer.cancel()
    let core = NIOLoopBound(self, eventLoop: eventLoop)
    check = (time, eventLoop.scheduleTask(deadline: time) { core.value.checkTime() })
  }

  private func checkTime() {
    if case .ended = phase { return }
    check = nil
    let now = eventLoop.now
    if let greeting, greeting.request.deadline <= now {
      return end(
        RedisError(
          .unreachable, "\(name) was not ready within the connect timeout"))
    }
    for request in queue.expired(now: now) {
      let error = RedisError(.timedOut, "\(name) did not answer within the time limit of the command")
      // Who sees the error sees it counted.
      request.finish(.failure(error)) { settings.counters.timeouts.wrappingAdd(1, ordering: .relaxed) }
    }
    if queue.isSilent(now: now, silence: settings.silence) {
      return end(RedisError(.connectionLost, "\(name) is silent; the connection was closed"))
    }
    let times = [queue.nextCheck(silence: settings.silence), greeting?.request.deadline]
    if let next = times.compactMap({ $0 }).min() { schedule(at: next) }
  }
}
