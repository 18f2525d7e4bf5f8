// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCaching
import HTTPTypes
import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("Reusable connections to the origin", .timeLimit(.minutes(10)))
struct OriginConnectionTests {
  /// A connection without an origin. Its event loop runs when the test says so.
  private struct Fixture: ~Copyable {
    let channel = EmbeddedChannel()
    let first: OriginConnection.Handle
    private let idle = Recorder<OriginConnection.Handle>()

    init(
      _ timeouts: ProxyConfiguration.Origin.Timeouts = .init(),
      uptake: @escaping () -> PeerUptake = { PeerUptake() }
    ) throws {
      channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
      let connection = OriginConnection(
        channel: channel, limits: ProxyConfiguration.HeadLimits(), timeouts: timeouts,
        transit: TransitBudget(capacity: 1 << 20), uptake: uptake,
        onIdle: { [idle] in idle.add($0) }, onEnd: { _ in })
      try channel.pipeline.syncOperations.addHandler(connection)
      first = connection.handle()
    }

    /// The handles of the connection that were given back for further requests.
    var returned: [OriginConnection.Handle] { idle.all }

    func start(
      _ handle: OriginConnection.Handle, method: HTTPRequest.Method = .get, _ body: MessageBody = .empty,
      upgrade: String? = nil
    ) -> EventLoopFuture<OriginReply> {
      let request = HTTPRequest(method: method, scheme: nil, authority: "a.example", path: "/")
      return handle.reference.start(
        OriginRequest(request: request, body: body, via: "1.1 test", upgrade: upgrade))
    }

    func receive(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }
    func run() { channel.embeddedEventLoop.run() }
  }

  /// What an origin sends in answer to a request, and what must come of it.
  struct Course: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var method = HTTPRequest.Method.get
    var bytes: String
    /// Whether the origin closes the connection behind them.
    var ends = false
    /// The status codes of the responses, in their order.
    var statuses: [Int]
    /// The content of the last response.
    var content: String?
    var trailer: String?
    var failure: OriginError.Kind?
    /// Whether the connection is good for another request.
    var isReused = false

    init(
      _ name: String, _ bytes: String, method: HTTPRequest.Method = .get, ends: Bool = false,
      _ statuses: [Int] = [200], _ content: String? = nil, trailer: String? = nil,
      failure: OriginError.Kind? = nil, isReused: Bool = false
    ) {
      (testDescription, self.method, self.bytes, self.ends) = (name, method, bytes, ends)
      (self.statuses, self.content, self.trailer) = (statuses, content, trailer)
      (self.failure, self.isReused) = (failure, isReused)
    }
  }

  private static let ok = "HTTP/1.1 200 OK\r\n"
  private static let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"

  static let whole: [Course] = [
    Course("Content of a known length", ok + "Content-Length: 2\r\n\r\nab", [200], "ab", isReused: true),
    Course("No content", ok + "Content-Length: 0\r\n\r\n", isReused: true),
    Course("A status without content", "HTTP/1.1 204 No Content\r\n\r\n", [204], isReused: true),
    Course(
      "A status without content, with a length", "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n",
      [204],
      isReused: true),
    Course(
      "A status without content, with content", "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nab",
      [204]),
    Course(
      "304 without its content", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", [304],
      isReused: true),
    Course("HEAD without its content", ok + "Content-Length: 9\r\n\r\n", method: .head, isReused: true),
    Course("HEAD with content", ok + "Content-Length: 1\r\n\r\na", method: .head),
    Course(
      "Chunks", ok + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n1;x=y\r\nb\r\n0\r\nX-Sum: 3\r\n\r\n", [200],
      "ab", trailer: "3", isReused: true),
    Course("Content that ends with the connection", ok + "\r\nab", ends: true, [200], "ab"),
    Course("An origin that closes", ok + "Connection: close\r\nContent-Length: 2\r\n\r\nab", [200], "ab"),
    Course("An origin of HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", [200], "ab"),
    Course("A response without a request", ok + "Content-Length: 2\r\n\r\nab" + ok, [200], "ab"),
    Course(
      "Interim responses", hint + "HTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nab",
      [103, 100, 200], "ab", isReused: true),
    Course(
      "A response behind an interim one, on a connection that has ended", hint + ok + "\r\nab", ends: true,
      [103, 200], "ab"),
  ]

  static let broken: [Course] = [
    Course("No response", "", ends: true, [], failure: .connectionTerminated),
    Course("Half a head", "HTTP/1.1 200", ends: true, [], failure: .connectionTerminated),
    Course(
      "Less than the length", ok + "Content-Length: 3\r\n\r\nab", ends: true, failure: .responseIncomplete),
    Course(
      "Chunks without an end", ok + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n", ends: true,
      failure: .responseIncomplete),
    Course(
      "A chunk without a size", ok + "Transfer-Encoding: chunked\r\n\r\nx\r\n", failure: .protocolError),
    Course(
      "Two lengths", ok + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na", [], failure: .protocolError),
    Course(
      "A length and chunks",
      ok + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", [],
      failure: .protocolError),
    Course(
      "A coding that was not asked for", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", [],
      failure: .protocolError),
    Course("A line that ends with LF alone", "HTTP/1.1 200 OK\n\n", [], failure: .protocolError),
    Course("Another protocol", "SSH-2.0-OpenSSH_9.2\r\n\r\n", [], failure: .protocolError),
    Course(
      "A switch that was not asked for", "HTTP/1.1 101 Yes\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", [],
      failure: .protocolError),
    Course(
      "Interim responses without an end", String(repeating: hint, count: 65),
      Array(repeating: 103, count: 64), failure: .protocolError),
  ]

  /// The result of an exchange.
  private final class Record: Sendable {
    struct State {
      var statuses: [Int] = []
      var content = OriginReply.Content.none
      var failure: OriginError?
    }
    let state = Mutex(State())

    /// Notes the response, and those behind it.
    func follow(_ reply: EventLoopFuture<OriginReply>, _ handle: OriginReference) {
      reply.whenComplete { [self] result in
        switch result {
        case .success(let reply):
          state.withLock { state in
            state.statuses.append(reply.head.status.code)
            state.content = reply.content
          }
          if reply.isInterim { follow(handle.next(), handle) }
        case .failure(let error): state.withLock { $0.failure = error as? OriginError }
        }
      }
    }
  }

  /// Runs an exchange in one thread, as an embedded channel must be.
  private static func run(_ course: Course, isWhole: Bool) throws -> (Record.State, isReused: Bool) {
    let fixture = try Fixture()
    let record = Record()
    record.follow(fixture.start(fixture.first, method: course.method), fixture.first.reference)
    fixture.run()
    let parts = isWhole ? [course.bytes] : course.bytes.utf8.map { String(decoding: [$0], as: UTF8.self) }
    for part in parts where fixture.channel.isActive {
      try fixture.receive(part)
      fixture.run()
    }
    if course.ends { fixture.channel.pipeline.fireChannelInactive() }
    fixture.run()
    let isReused = fixture.channel.isActive && fixture.returned.count == 1 && !course.ends
    defer { _ = try? fixture.channel.finish() }
    return (record.state.withLock { $0 }, isReused)
  }

  @Test(
    "An exchange ends as its bytes require, however they arrive", arguments: whole + broken, [true, false])
  func course(_ course: Course, isWhole: Bool) async throws {
    let (ended, isReused) = try Self.run(course, isWhole: isWhole)
    #expect(ended.statuses == course.statuses)
    #expect(isReused == course.isReused)
    var (failure, content) = (ended.failure?.kind, [UInt8]())
    switch ended.content {
    case .none: break
    case .whole(let bytes): content = bytes
    case .arriving(let feed, _):
      do {
        for try await chunk in FeedReader(feed) { content += chunk }
      } catch {
        failure = (error as? OriginError)?.kind
      }
      #expect(feed.trailers?.first?.value == course.trailer)
    }
    #expect(failure == course.failure)
    if course.failure == nil { #expect(String(decoding: content, as: UTF8.self) == course.content ?? "") }
  }

  @Test("Small content is delivered with its head if it follows soon", arguments: [true, false])
  func held(isSoon: Bool) throws {
    let fixture = try Fixture()
    let record = Record()
    record.follow(fixture.start(fixture.first), fixture.first.reference)
    try fixture.receive(Self.ok + "Content-Length: 2\r\n\r\na")
    fixture.channel.embeddedEventLoop.advanceTime(by: .microseconds(4999))
    #expect(record.state.withLock { $0.statuses } == [])
    if !isSoon {
      fixture.channel.embeddedEventLoop.advanceTime(by: .microseconds(1))
      #expect(record.state.withLock { $0.statuses } == [200])
    }
    try fixture.receive("b")
    let ended = record.state.withLock { $0 }
    #expect(ended.statuses == [200])
    switch ended.content {
    case .whole(let bytes): #expect(isSoon && bytes == Array("ab".utf8))
    case .arriving(_, let length): #expect(!isSoon && length == 2)
    case .none: Issue.record("no content")
    }
    #expect(fixture.returned.count == 1)
    _ = try? fixture.channel.finish()
  }

  // MARK: - Time

  private static var timeouts: ProxyConfiguration.Origin.Timeouts {
    var timeouts = ProxyConfiguration.Origin.Timeouts()
    (timeouts.firstByte, timeouts.betweenBytes, timeouts.idle) = (.seconds(1), .seconds(1), .seconds(4))
    return timeouts
  }

  @Test(
    "The response timeout begins with the whole request, and interim responses do not restart it",
    arguments: [false, true])
  func responseTime(isSending: Bool) throws {
    let fixture = try Fixture(Self.timeouts)
    let record = Record()
    let content = MessageBody(AsyncThrowingStream<ArraySlice<UInt8>, any Error> { $0.finish() }, length: 2)
    record.follow(
      fixture.start(fixture.first, method: .post, isSending ? content : .empty), fixture.first.reference)
    fixture.run()
    if isSending {
      // The client may take its time.
      fixture.channel.embeddedEventLoop.advanceTime(by: .milliseconds(5000))
      fixture.first.reference.finishSending()
      fixture.run()
    }
    fixture.channel.embeddedEventLoop.advanceTime(by: .milliseconds(900))
    try fixture.receive(Self.hint)
    fixture.run()
    fixture.channel.embeddedEventLoop.advanceTime(by: .milliseconds(99))
    #expect(fixture.channel.isActive)
    fixture.channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
    #expect(!fixture.channel.isActive)
    let ended = record.state.withLock { $0 }
    #expect(ended.statuses == [103])
    #expect(ended.failure?.kind == .responseTimeout)
    _ = try? fixture.channel.finish()
  }

  @Test("What the origin has taken of a request is looked at, unless the request is small")
  func uptake() throws {
    var (taken, looks): (UInt64, Int) = (0, 0)
    let fixture = try Fixture(Self.timeouts) {
      PeerUptake { _ in
        looks += 1
        return PeerUptake.Queue(acknowledged: taken, isEmpty: false)
      }
    }
    let loop = fixture.channel.embeddedEventLoop
    _ = fixture.start(fixture.first, method: .post, MessageBody(Array(repeating: 0x61, count: 100_000)))
    fixture.run()
    for _ in 1...10 {
      taken += 1
      loop.advanceTime(by: .milliseconds(900))
      #expect(fixture.channel.isActive)
    }
    loop.advanceTime(by: .milliseconds(1250))
    #expect(!fixture.channel.isActive && looks > 10)
    _ = try? fixture.channel.finish()
    // A small request costs no system call.
    let small = try Fixture(Self.timeouts) { PeerUptake { _ in fatalError("a small request needs no look") } }
    _ = small.start(small.first)
    small.run()
    small.channel.embeddedEventLoop.advanceTime(by: .milliseconds(1000))
    #expect(!small.channel.isActive)
    _ = try? small.channel.finish()
  }

  @Test("An idle connection is closed before the origin closes it")
  func idleTime() throws {
    let fixture = try Fixture(Self.timeouts)
    _ = fixture.start(fixture.first)
    fixture.run()
    try fixture.receive(Self.ok + "Keep-Alive: timeout=3\r\nContent-Length: 0\r\n\r\n")
    fixture.channel.embeddedEventLoop.advanceTime(by: .milliseconds(1999))
    #expect(fixture.channel.isActive)
    fixture.channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
    #expect(!fixture.channel.isActive)
    _ = try? fixture.channel.finish()
  }

  // MARK: - Tunnels

  @Test(
    "A tunnel takes over the bytes after the switch, also from an origin that sends no more",
    arguments: ["", hint], [true, false])
  func takeOver(beginning: String, isEnded: Bool) throws {
    let fixture = try Fixture()
    let record = Record()
    record.follow(fixture.start(fixture.first, upgrade: "x"), fixture.first.reference)
    try fixture.receive(beginning + "HTTP/1.1 101 Yes\r\nUpgrade: x\r\n\r\nab")
    if isEnded { fixture.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
    fixture.run()
    #expect(record.state.withLock { $0.statuses.last } == 101)
    let rest = try #require(fixture.first.connection.value.takeOver())
    #expect(String(buffer: rest.bytes) == "ab" && rest.isEnded == isEnded)
    _ = try? fixture.channel.finish()
  }

  // MARK: - Other threads

  /// What another thread says of an exchange while its last byte is read.
  enum Late: CaseIterable { case abandonment, closing }

  @Test(
    "A late event of one request does not end the connection of the next", arguments: Late.allCases)
  func late(_ late: Late) throws {
    let fixture = try Fixture()
    let answered = fixture.start(fixture.first)
    fixture.run()
    try fixture.receive("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na")
    // The head waits no longer for the content.
    fixture.channel.embeddedEventLoop.advanceTime(by: .milliseconds(5))
    let feed = Mutex<BodyFeed?>(nil)
    answered.whenSuccess { reply in
      if case .arriving(let arriving, _) = reply.content { feed.withLock { $0 = arriving } }
    }
    switch late {
    case .abandonment: feed.withLock { $0 }?.abandon()
    case .closing: fixture.first.reference.close()
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

  @Test("Content abandoned midway ends its connection", arguments: Late.allCases)
  func givenUp(_ late: Late) throws {
    let fixture = try Fixture()
    let answered = fixture.start(fixture.first)
    fixture.run()
    try fixture.receive("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na")
    // The head waits no longer for the content.
    fixture.channel.embeddedEventLoop.advanceTime(by: .milliseconds(5))
    switch late {
    case .abandonment:
      answered.whenSuccess { if case .arriving(let feed, _) = $0.content { feed.abandon() } }
    case .closing: fixture.first.reference.close()
    }
    fixture.run()
    #expect(!fixture.channel.isActive)
    #expect(fixture.returned.isEmpty)
    _ = try? fixture.channel.finish()
  }

  @Test("A request on an ended connection is not sent, and its content stays unread")
  func unsent() throws {
    let fixture = try Fixture()
    fixture.channel.pipeline.fireChannelInactive()
    let answered = fixture.start(fixture.first, method: .post)
    fixture.run()
    let reach = Mutex<OriginError.Reach?>(nil)
    answered.whenFailure { error in reach.withLock { $0 = (error as? OriginError)?.reach } }
    #expect(reach.withLock { $0 } == .unsent)
    #expect(!fixture.first.connection.value.machine.isSending)
    #expect(try fixture.channel.readOutbound(as: ByteBuffer.self) == nil)
    _ = try? fixture.channel.finish()
  }

  /// A request that was lost, and what is known of it.
  struct Loss: Sendable {
    var reach: OriginError.Reach
    var method = HTTPRequest.Method.get
    var hasContent = true
    var isReused = true
    var attempt = 1
    var isRepeated: Bool
  }

  @Test(
    "A request is retried if it was not sent, or is idempotent with its content available (RFC 9110 §9.2.2)",
    arguments: [
      Loss(reach: .unsent, method: .post, hasContent: false, isRepeated: true),
      Loss(reach: .unsent, isReused: false, attempt: 2, isRepeated: true),
      Loss(reach: .unsent, attempt: 3, isRepeated: false),
      Loss(reach: .unanswered, isRepeated: true),
      Loss(reach: .unanswered, method: .put, isRepeated: true),
      Loss(reach: .unanswered, method: .put, hasContent: false, isRepeated: false),
      Loss(reach: .unanswered, method: .post, isRepeated: false),
      Loss(reach: .unanswered, isReused: false, isRepeated: false),
      Loss(reach: .unanswered, attempt: 2, isRepeated: false),
      Loss(reach: .answered, isRepeated: false), Loss(reach: .answered, method: .post, isRepeated: false),
    ])
  func retry(_ loss: Loss) {
    let content = MessageBody(AsyncThrowingStream<ArraySlice<UInt8>, any Error> { $0.finish() })
    let request = OriginCall.Sent(
      request: HTTPRequest(method: loss.method, scheme: nil, authority: nil, path: "/"),
      body: loss.hasContent ? .empty : content, attempts: loss.attempt, isReused: loss.isReused,
      needsNew: false)
    func isRepeated(after error: OriginError) -> Bool { error.allowsRetry(request) }
    #expect(isRepeated(after: .init(.connectionTerminated, "", reach: loss.reach)) == loss.isRepeated)
    #expect(!isRepeated(after: .init(.responseTimeout, "", reach: loss.reach)))
    #expect(!isRepeated(after: .init(.connectionTerminated, "", reach: loss.reach, isByProxy: true)))
  }
}
