import HTTPCacheObserving
import HTTPCacheStore
import HTTPCaching
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import Testing

@testable import HTTPCacheProxy

@Suite("A client's connection in virtual time")
struct ClientConnectionTests {
  /// A client that takes nothing.
  private final class Unread: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    private(set) var written = 0
    private var promises: [EventLoopPromise<Void>] = []

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      written += unwrapOutboundIn(data).readableBytes
      if let promise { promises.append(promise) }
    }

    func flush(context: ChannelHandlerContext) {}

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      for promise in promises { promise.fail(ChannelError.ioOnClosedChannel) }
      context.close(mode: mode, promise: promise)
    }
  }

  @Test(
    "A client that leaves a refusal unread keeps its place only for the time of a stalled client",
    arguments: ["GET / HT", "nonsense\r\n\r\n"])
  func refusalUnread(request: String) throws {
    var configuration = ProxyConfiguration(
      listen: ProxyConfiguration.Address(host: "127.0.0.1", port: 0),
      origin: ProxyConfiguration.Address(host: "127.0.0.1", port: 9))
    // The head has had its time as soon as it begins.
    configuration.timeouts.head = 0
    configuration.timeouts.stall = 1000
    let cache = try HTTPCache(.init(memoryCapacity: 1 << 20))
    let statistics = ProxyStatistics()
    let settings = CurrentConfiguration(configuration)
    let origin = OriginClient(
      settings, group: MultiThreadedEventLoopGroup.singleton, statistics: statistics,
      transit: cache.transit)
    let context = ProxyContext(
      settings, cache: cache, origin: origin, statistics: statistics,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let unread = Unread()
    let channel = EmbeddedChannel(handlers: [unread, ClientConnection(context)])
    channel.embeddedEventLoop.advanceTime(to: .now())
    channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
    try channel.writeInbound(ByteBuffer(string: request))
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(500))
    #expect(unread.written > 0)
    #expect(channel.isActive)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(600))
    #expect(!channel.isActive)
    _ = try? channel.finish()
  }
}
