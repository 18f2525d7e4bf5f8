import HTTPCaching
import HTTPTypes
import NIOCore
import NIOEmbedded
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
        channel: channel, limits: HeadLimits(), timeouts: .patient, transit: TransitBudget(capacity: 1 << 20),
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
      (.unsent, .post, false, false, true), (.unsent, .get, true, false, true),
      (.reset, .post, true, true, false), (.reset, .put, true, false, true),
      (.reset, .put, false, true, false),
      (.unknown, .get, true, true, true), (.unknown, .get, true, false, false),
      (.unknown, .post, true, true, false), (.unknown, .put, false, true, false),
    ] as [(OriginError.Reach, HTTPRequest.Method, Bool, Bool, Bool)])
  func retry(
    reach: OriginError.Reach, method: HTTPRequest.Method, hasContent: Bool, wasIdle: Bool, expected: Bool
  ) {
    var error = OriginError(.connectionTerminated, "ended")
    error.reach = reach
    #expect(error.allowsRetry(method, hasContent: hasContent, wasIdle: wasIdle) == expected)
    error = OriginError(.responseTimeout, "silent")
    #expect(!error.allowsRetry(method, hasContent: hasContent, wasIdle: wasIdle))
  }
}
