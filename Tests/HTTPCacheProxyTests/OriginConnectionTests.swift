import Dispatch
import HTTPCaching
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOPosix
import Synchronization
import Testing

@testable import HTTPCacheProxy

@Suite("Connections to the origin that serve one request after another")
struct OriginConnectionTests {
  /// A connection without an origin. Its event loop runs when the test says so.
  private struct Fixture: ~Copyable {
    let channel = EmbeddedChannel()
    let first: OriginConnection.Handle
    private let idle = Idle()

    private final class Idle: Sendable {
      let handles = Mutex<[OriginConnection.Handle]>([])
    }

    init() throws {
      channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
      let connection = OriginConnection(
        channel: channel, limits: ProxyConfiguration.HeadLimits(), timeouts: .patient,
        transit: TransitBudget(capacity: 1 << 20),
        onIdle: { [idle] handle in idle.handles.withLock { $0.append(handle) } }, onEnd: { _ in })
      try channel.pipeline.syncOperations.addHandler(connection)
      first = connection.handle()
    }

    /// The handles of the connection that were given back for further requests.
    var returned: [OriginConnection.Handle] { idle.handles.withLock { $0 } }

    func start(_ handle: OriginConnection.Handle, method: HTTPRequest.Method = .get)
      -> EventLoopFuture<OriginConnection.Reply>
    {
      handle.start(ByteBuffer(string: "request"), method: method, isWhole: true)
    }

    func receive(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }
    func run() { channel.embeddedEventLoop.run() }
  }

  /// What another thread says of an exchange while its last byte is read.
  enum Late: CaseIterable { case abandonment, closing }

  @Test(
    "What comes too late for one request does not end the connection of the next", arguments: Late.allCases)
  func late(_ late: Late) throws {
    let fixture = try Fixture()
    let answered = fixture.start(fixture.first)
    fixture.run()
    try fixture.receive("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na")
    let feed = Mutex<BodyFeed?>(nil)
    answered.whenSuccess { reply in feed.withLock { $0 = reply.feed } }
    switch late {
    case .abandonment: feed.withLock { $0 }?.abandon()
    case .closing: fixture.first.close()
    }
    try fixture.receive("b")
    let second = try #require(fixture.returned.first)
    let next = fixture.start(second, method: .post)
    fixture.run()
    try fixture.receive("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
    #expect(fixture.channel.isActive)
    let status = Mutex<Int?>(nil)
    next.whenSuccess { reply in status.withLock { $0 = reply.head.status.code } }
    #expect(status.withLock { $0 } == 201)
    #expect(fixture.returned.count == 2)
    _ = try? fixture.channel.finish()
  }

  @Test("Content that is given up in the middle ends its connection", arguments: Late.allCases)
  func givenUp(_ late: Late) throws {
    let fixture = try Fixture()
    let answered = fixture.start(fixture.first)
    fixture.run()
    try fixture.receive("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na")
    switch late {
    case .abandonment: answered.whenSuccess { $0.feed?.abandon() }
    case .closing: fixture.first.close()
    }
    fixture.run()
    #expect(!fixture.channel.isActive)
    #expect(fixture.returned.isEmpty)
    _ = try? fixture.channel.finish()
  }

  @Test("A request on a connection that has ended is not sent, and its content stays unread")
  func unsent() throws {
    let fixture = try Fixture()
    fixture.channel.pipeline.fireChannelInactive()
    let answered = fixture.start(fixture.first, method: .post)
    fixture.run()
    let reach = Mutex<OriginError.Reach?>(nil)
    answered.whenFailure { error in reach.withLock { $0 = (error as? OriginError)?.reach } }
    #expect(reach.withLock { $0 } == .unsent)
    #expect(!fixture.first.connection.value.isOpen)
    #expect(try fixture.channel.readOutbound(as: ByteBuffer.self) == nil)
    _ = try? fixture.channel.finish()
  }

  @Test(
    "A request is repeated if it was not sent, or if it may be applied twice and its content is there (RFC 9110 §9.2.2)",
    arguments: [
      (.unsent, .post, false, true), (.unsent, .get, true, true),
      (.unanswered, .get, true, true), (.unanswered, .put, true, true), (.unanswered, .put, false, false),
      (.unanswered, .post, true, false), (.answered, .get, true, false), (.answered, .post, true, false),
    ] as [(OriginError.Reach, HTTPRequest.Method, Bool, Bool)])
  func retry(reach: OriginError.Reach, method: HTTPRequest.Method, hasContent: Bool, expected: Bool) {
    var error = OriginError(.connectionTerminated, "ended")
    error.reach = reach
    #expect(error.allowsRetry(method, hasContent: hasContent) == expected)
    error = OriginError(.responseTimeout, "silent")
    error.reach = reach
    #expect(!error.allowsRetry(method, hasContent: hasContent))
  }

  #if os(Linux)
    @Test(
      "A request is not sent on a connection that the origin has closed, though the event loop has not looked yet"
    )
    func ending() async throws {
      let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      let (accepted, peers) = AsyncStream.makeStream(of: (any Channel).self)
      // The peer has another event loop.
      let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .childChannelInitializer { channel in
          peers.yield(channel)
          return channel.eventLoop.makeSucceededVoidFuture()
        }
        .bind(host: "127.0.0.1", port: 0).get()
      let (returned, handles) = AsyncStream.makeStream(of: OriginConnection.Handle.self)
      let first = try await ClientBootstrap(group: group).channelOption(.autoRead, value: false)
        .connect(host: "127.0.0.1", port: server.localAddress?.port ?? 0) { channel in
          channel.eventLoop.makeCompletedFuture {
            let connection = OriginConnection(
              channel: channel, limits: ProxyConfiguration.HeadLimits(), timeouts: .patient,
              transit: TransitBudget(capacity: 1 << 20), onIdle: { handles.yield($0) }, onEnd: { _ in })
            try channel.pipeline.syncOperations.addHandler(connection)
            return connection.handle()
          }
        }
      var peerIterator = accepted.makeAsyncIterator()
      let peer = try #require(await peerIterator.next())
      let answered = first.start(ByteBuffer(string: "request"), method: .get, isWhole: true)
      try await peer.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
      _ = try await answered.get()
      var handleIterator = returned.makeAsyncIterator()
      let second = try #require(await handleIterator.next())
      let reply = try await first.channel.eventLoop.submit {
        // The event loop is busy here until the origin has closed.
        let closed = DispatchSemaphore(value: 0)
        peer.close().whenComplete { _ in closed.signal() }
        closed.wait()
        return second.start(ByteBuffer(string: "request"), method: .post, isWhole: true)
      }.get()
      await #expect { try await reply.get() } throws: { ($0 as? OriginError)?.reach == .unsent }
      try await server.close()
      try await group.shutdownGracefully()
    }
  #endif
}
