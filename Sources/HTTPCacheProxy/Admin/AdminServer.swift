import HTTPCaching
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// The admin port: metrics, a page for people, health, and purging.
final class AdminServer: Sendable {
  private let context: ProxyContext

  init(_ context: ProxyContext) {
    self.context = context
  }

  func bind(_ address: Address, group: any EventLoopGroup) async throws -> any Channel {
    let context = context
    return try await ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 64)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandlers(
            IdleStateHandler(allTimeout: .milliseconds(max(1, context.configuration.timeouts.stall))),
            AdminConnection(context))
        }
      }
      .bind(host: address.host, port: address.port).get()
  }
}

/// One connection to the admin port. NIOHTTP1 is all it needs: nothing is passed on from here.
private final class AdminConnection: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let context: ProxyContext
  private var head: HTTPRequestHead?

  init(_ context: ProxyContext) {
    self.context = context
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): self.head = head
    case .body: break
    case .end:
      guard let head else { return }
      self.head = nil
      let admin = AdminRequest(head, self.context)
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      let loop = context.eventLoop
      // Purging may wait for the disk: not on the event loop.
      Task {
        let answer = admin.answer()
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
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    if !request.isKeepAlive { context.close(promise: nil) }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}
