// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import TransportSecurity

/// The admin port: metrics, a status page, health, readiness, purging and warming.
final class AdminServer: Sendable {
  /// Maximum connections: enough for a monitor, a dashboard and a few people. Fewer if there are very few descriptors.
  static let connectionLimit = 64

  private let context: ProxyContext
  private let connections: ConnectionTable

  init(_ context: ProxyContext) {
    self.context = context
    connections = ConnectionTable(
      .init(connections: Swift.min(Self.connectionLimit, DescriptorLimit.current.map { $0 / 8 } ?? .max)),
      of: "admin connections", statistics: nil,
      logger: context.logger)
  }

  /// Closes the open connections, and accepts no more.
  ///
  /// - Parameters:
  ///   - time: maximum time for requests in flight.
  ///   - isPatient: whether connections without a request may get one more.
  func closeConnections(within time: TimeAmount = .zero, isPatient: Bool = false) async {
    await connections.drain(within: time, isPatient: isPatient)
  }

  /// - Parameter predecessor: the process whose place this one takes.
  func open(
    _ endpoint: ProxyConfiguration.Endpoint, group: any EventLoopGroup, predecessor: Predecessor?
  ) async throws -> [ListeningSocket] {
    let (context, connections) = (context, connections)
    let bootstrap = ServerBootstrap(group: group)
      .accepting(in: connections)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          if context.configuration.adminUsesTLS {
            guard let encryption = context.settings.encryption.administrators else {
              throw ChannelError.operationUnsupported
            }
            let deadline = channel.eventLoop.now + context.settings.value.timeouts.head.timeAmount
            try encryption.encrypt(channel, by: deadline) { _ in }
          }
          let connection = AdminConnection(context)
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(connection)
          connection.place = connections.add(channel, connection)
        }
      }
    // Not with the ports that are shared: the kernel would give each purge to one of the processes.
    let servers = try await ListeningSocket.open(
      endpoint, .administrators, bootstrap, backlog: 64, predecessor: predecessor)
    // `localhost` is a name: its address is known only now.
    for server in servers where context.configuration.adminToken == nil {
      guard let bound = IPAddress(server.channel.localAddress), !bound.isLoopback else { continue }
      for server in servers { await server.close() }
      throw ProxyConfiguration.ValidationError(
        "\(endpoint) is \(bound), which can be reached from other machines; set an admin token, or use 127.0.0.1"
      )
    }
    return servers
  }
}

/// One connection to the admin port. NIOHTTP1 is sufficient here, because nothing is forwarded.
///
/// It is idle except between a complete request and the end of the response: a client that sends nothing, or only a part
/// of a request, loses its place to others.
final class AdminConnection: ChannelInboundHandler, TabledConnection {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  /// Maximum bytes of a request's content, which may be URLs: some thousand.
  static let contentLimit = 256 << 10

  private let context: ProxyContext
  private var head: HTTPRequestHead?
  /// The content; `nil` if it is too large.
  private var content: [UInt8]? = []
  private var timer: Scheduled<Void>?
  private var channelContext: ChannelHandlerContext?
  /// The place of the connection, which it loses to another while it is idle.
  var place: ConnectionPlace?
  /// Number of requests without the end of their response. The next one may arrive before that is written.
  private var answering = 0
  var isIdle: Bool { answering == 0 }
  /// Whether the connection ends with its next response.
  private var isLast = false

  init(_ context: ProxyContext) {
    self.context = context
  }

  func handlerAdded(context: ChannelHandlerContext) {
    channelContext = context
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    channelContext = nil
    // They refer to each other.
    place = nil
  }

  func drain(isPatient: Bool) {
    if isIdle, !isPatient { channelContext?.close(promise: nil) }
    isLast = true
  }

  func channelActive(context: ChannelHandlerContext) {
    armTimer(context)
    context.fireChannelActive()
  }

  func channelInactive(context: ChannelHandlerContext) {
    timer?.cancel()
    context.fireChannelInactive()
  }

  /// Starts the timer: each request with its response, and the time before it, gets the time-out of a stalled client,
  /// even if bytes move.
  private func armTimer(_ context: ChannelHandlerContext) {
    timer?.cancel()
    let channel = context.channel
    let time = self.context.settings.value.timeouts.stall.timeAmount
    timer = context.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      self.head = head
      content = []
    case .body(let bytes):
      content? += bytes.readableBytesView
      if let count = content?.count, count > Self.contentLimit { content = nil }
    case .end:
      guard let head else { return }
      self.head = nil
      answering += 1
      place?.began()
      // A client that sends so much may send it again.
      if content == nil { isLast = true }
      let admin = content.map { AdminRequest(head, content: $0, self.context) }
      content = []
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      let loop = context.eventLoop
      // Purging may take long, so it does not run on the event loop.
      Task {
        let answer = await admin?.answer() ?? AdminRequest.Answer.tooLarge
        loop.execute {
          let (connection, context) = bound.value
          connection.send(answer, to: head, context)
        }
      }
    }
  }

  private func send(
    _ answer: AdminRequest.Answer, to request: HTTPRequestHead, _ context: ChannelHandlerContext
  ) {
    var head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: answer.status))
    head.headers.add(name: "Content-Type", value: answer.type)
    head.headers.add(name: "Content-Length", value: String(answer.text.utf8.count))
    head.headers.add(name: "Cache-Control", value: "no-store")
    head.headers.add(name: "X-Content-Type-Options", value: "nosniff")
    head.headers.add(name: "Content-Security-Policy", value: "default-src 'none'; style-src 'unsafe-inline'")
    if let challenge = answer.challenge { head.headers.add(name: "WWW-Authenticate", value: challenge) }
    if let allow = answer.allow { head.headers.add(name: "Allow", value: allow) }
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    if request.method != .HEAD {
      context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: answer.text)))), promise: nil)
    }
    let written = context.eventLoop.makePromise(of: Void.self)
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    written.futureResult.whenSuccess {
      let (connection, context) = bound.value
      guard context.channel.isActive else { return }
      guard request.isKeepAlive, !connection.isLast else { return context.close(promise: nil) }
      connection.armTimer(context)
      connection.answering -= 1
      if connection.isIdle { connection.place?.becameIdle(at: context.eventLoop.now) }
    }
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}
