// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPCacheRedis

@Suite("Time limits of a connection")
struct ConnectionTimeTests {
  @Test("A connection whose server owes a reply is closed after the silence, and not before")
  func silence() throws {
    let connection = try EmbeddedConnection(silence: .milliseconds(50), isReady: true)
    defer { connection.finish() }
    let first = try connection.send("PING", within: .milliseconds(20))
    let second = try connection.send("PING", within: .seconds(60))
    connection.advance(.milliseconds(19))
    #expect(first.result == nil)
    connection.advance(.milliseconds(1))
    #expect(first.result == .failed(.timedOut))
    connection.advance(.milliseconds(29))
    #expect(connection.end == nil)
    connection.advance(.milliseconds(1))
    #expect(connection.end == .connectionLost)
    #expect(second.result == .failed(.connectionLost))
  }

  @Test("Bytes of a reply end the silence")
  func progress() throws {
    let connection = try EmbeddedConnection(silence: .milliseconds(50), isReady: true)
    defer { connection.finish() }
    let request = try connection.send("GET a", within: .milliseconds(20))
    for byte in ["$", "3", "\r\n", "a"] {
      connection.advance(.milliseconds(49))
      try connection.receive(byte)
    }
    #expect(request.result == .failed(.timedOut))
    #expect(connection.end == nil)
    connection.advance(.milliseconds(50))
    #expect(connection.end == .connectionLost)
  }

  @Test("A command that may block for longer than the silence keeps its connection")
  func blocking() throws {
    let connection = try EmbeddedConnection(silence: .milliseconds(1), isReady: true)
    defer { connection.finish() }
    let request = try connection.send("BLPOP list 60", within: .seconds(61))
    connection.advance(.seconds(60))
    #expect(connection.end == nil)
    try connection.receive("*-1\r\n")
    #expect(request.result == .reply(.null))
    // Without a request, a server may be silent.
    connection.advance(.hours(1))
    #expect(connection.end == nil)
  }

  @Test("A server that never greets is unreachable after the connect timeout")
  func noGreeting() throws {
    let connection = try EmbeddedConnection(silence: .seconds(2), isReady: false)
    defer { connection.finish() }
    let short = try connection.send("GET a", within: .milliseconds(10))
    let long = try connection.send("GET a", within: .seconds(60))
    connection.advance(.milliseconds(999))
    #expect(short.result == .failed(.timedOut))
    #expect(connection.end == nil)
    connection.advance(.milliseconds(1))
    #expect(connection.end == .unreachable)
    #expect(long.result == .failed(.unreachable))
  }

  @Test("The reply to a request whose time was over does not reach the next request")
  func lateReply() throws {
    let connection = try EmbeddedConnection(silence: .seconds(2), isReady: true)
    defer { connection.finish() }
    let late = try connection.send("A", within: .milliseconds(10))
    connection.advance(.milliseconds(10))
    #expect(late.result == .failed(.timedOut))
    let next = try connection.send("B", within: .seconds(1))
    try connection.receive("+a\r\n+")
    #expect(next.result == nil)
    try connection.receive("b\r\n")
    #expect(next.result == .reply(.string([0x62])))
    #expect(connection.inbox.commands == 0)
  }

  @Test("A request whose time is over before the greeting is not sent")
  func unsent() throws {
    let connection = try EmbeddedConnection(silence: .seconds(2), isReady: false)
    defer { connection.finish() }
    let early = try connection.send("A", within: .milliseconds(5))
    connection.advance(.milliseconds(5))
    #expect(early.result == .failed(.timedOut))
    _ = try connection.send("B", within: .seconds(1))
    _ = try connection.sent()
    try connection.receive("+PONG\r\n")
    #expect(try connection.sent() == "*1\r\n$1\r\nB\r\n")
  }
}

/// A connection on an event loop whose time the test advances.
private final class EmbeddedConnection {
  /// What the caller of a request got.
  final class Outcome: Sendable {
    enum Result: Equatable {
      case reply(RedisValue)
      case failed(RedisError.Code?)
    }

    private let state = Mutex<Result?>(nil)

    var result: Result? { state.withLock { $0 } }

    func take(_ result: Request.Result) {
      state.withLock {
        switch result {
        case .success(let replies): $0 = .reply(replies[0])
        case .failure(let error): $0 = .failed((error as? RedisError)?.code)
        }
      }
    }
  }

  private final class Ending: Sendable {
    let code = Mutex<RedisError.Code?>(nil)
  }

  let inbox = RequestInbox(maximumCommands: 100, maximumBytes: 10_000)
  private let channel: EmbeddedChannel
  private let core: ConnectionCore
  private let ending = Ending()

  /// - Parameter isReady: whether the server has answered the greeting.
  init(silence: TimeAmount, isReady: Bool) throws {
    channel = EmbeddedChannel()
    let settings = ConnectionSettings(
      credentials: nil, database: 0, requiresPrimary: false, tls: nil, connectTimeout: .seconds(1),
      silence: silence, maximumReplyBytes: 1000, maximumWaitingCommands: 100, maximumWaitingBytes: 10_000,
      counters: RedisCounters())
    core = ConnectionCore(on: channel.embeddedEventLoop, settings, inbox: inbox) { [ending] event in
      if case .ended(let error) = event { ending.code.withLock { $0 = error.code } }
    }
    core.prepare(for: .tcp(host: "127.0.0.1", port: 6379))
    try channel.pipeline.syncOperations.addHandler(core)
    channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 6379), promise: nil)
    if isReady {
      _ = try sent()
      try receive("+PONG\r\n")
    }
  }

  /// Why the connection has ended; `nil` if it has not.
  var end: RedisError.Code? { ending.code.withLock { $0 } }

  func advance(_ time: TimeAmount) { channel.embeddedEventLoop.advanceTime(by: time) }

  func send(_ command: String, within limit: TimeAmount) throws -> Outcome {
    let words = command.split(separator: " ").map { Array($0.utf8) }
    let request = Request(
      CommandWriter.write([words], with: ByteBufferAllocator()), commands: 1,
      deadline: channel.embeddedEventLoop.now + limit)
    let outcome = Outcome()
    request.whenFinished { outcome.take($0) }
    _ = try inbox.add(request)
    core.drain()
    return outcome
  }

  func receive(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }

  /// What the connection has sent since the last call.
  func sent() throws -> String {
    var text = ""
    while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
    return text
  }

  func finish() {
    core.end(.clientClosed)
    _ = try? channel.finish(acceptAlreadyClosed: true)
  }
}
