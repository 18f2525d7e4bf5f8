// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Foundation
import HTTPCacheObserving
import HTTPTypes
import Logging
import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("Places of connections", .timeLimit(.minutes(10)))
struct ConnectionTableTests {
  private final class Connection: TabledConnection {
    let channel: EmbeddedChannel
    var isIdle = true
    /// Taken out at the end: they refer to each other.
    var place: ConnectionPlace?

    init(_ loop: EmbeddedEventLoop) throws {
      channel = EmbeddedChannel(loop: loop)
      channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
    }

    func drain(isPatient: Bool) {}

    func begin() {
      isIdle = false
      place?.began()
    }

    func end() {
      isIdle = true
      place?.becameIdle(at: channel.eventLoop.now)
    }
  }

  /// A port whose connections have no sockets.
  private final class Port {
    let loop = EmbeddedEventLoop()
    let statistics = ProxyStatistics()
    let table: ConnectionTable
    private(set) var connections: [Connection] = []
    private let calls = EventCount()

    init(_ limit: Int, perAddress: Int? = nil) {
      table = ConnectionTable(
        .init(connections: limit, perAddress: perAddress), of: "connections", statistics: statistics,
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// How often the table has said that there may be room.
    var calledBack: Int { calls.count }

    /// Tries to open a connection.
    func open() throws -> Connection? {
      let connection = try Connection(loop)
      let isAdmitted = table.admit(connection.channel) { [calls] in calls.next() }
      guard isAdmitted else { return nil }
      connection.place = table.add(connection.channel, connection)
      connections.append(connection)
      loop.advanceTime(by: .seconds(1))
      return connection
    }

    func finish() {
      for connection in connections {
        _ = try? connection.channel.finish()
        connection.place = nil
      }
    }
  }

  private static func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

  @Test("At the limit, the connection that is idle longest makes room")
  func oldest() throws {
    let port = Port(3)
    let connections = try (1...3).map { _ in try #require(try port.open()) }
    connections[0].begin()
    port.loop.advanceTime(by: .seconds(1))
    connections[0].end()
    #expect(try port.open() == nil)
    port.loop.advanceTime(by: ConnectionTable.grace)
    #expect(connections.map(\.channel.isActive) == [true, false, true])
    #expect(port.calledBack == 1)
    #expect(try port.open() != nil)
    #expect(port.statistics.idleClosed.value == 1)
    #expect(port.statistics.openConnections == 3)
    port.finish()
    #expect(port.statistics.openConnections == 0)
  }

  @Test("A search for the connection that is idle longest keeps none of the others alive")
  func closedAfterSearch() throws {
    var order = IdleOrder()
    let port = Port(4)
    weak var closed: ConnectionPlace?
    for _ in 1...4 {
      let place = try #require(try port.open()?.place)
      order.insert(place)
      closed = place
    }
    let oldest = order.takeOldest()
    #expect(oldest?.place === port.connections[0].place)
    for connection in port.connections { connection.place.map { order.remove($0) } }
    port.finish()
    #expect(closed == nil)
  }

  @Test("A connection with a request in progress keeps its place, and new ones wait until one is idle")
  func busy() throws {
    let port = Port(2)
    let connections = try (1...2).map { _ in try #require(try port.open()) }
    for connection in connections { connection.begin() }
    #expect(try port.open() == nil)
    port.loop.advanceTime(by: ConnectionTable.grace)
    #expect(connections.allSatisfy { $0.channel.isActive })
    #expect(port.calledBack == 0)
    connections[1].end()
    #expect(port.calledBack == 1)
    #expect(try port.open() == nil)
    port.loop.advanceTime(by: ConnectionTable.grace)
    #expect(connections.map(\.channel.isActive) == [true, false])
    #expect(port.calledBack == 2)
    #expect(try port.open() != nil)
    port.finish()
  }

  /// What happens to a connection between the choice and its event loop's turn.
  enum Meanwhile: CaseIterable { case request, unsentBytes }

  @Test(
    "A connection that is no longer idle when its turn comes is kept, and another one makes room",
    arguments: Meanwhile.allCases)
  func chosen(_ meanwhile: Meanwhile) throws {
    let port = Port(2)
    let connections = try (1...2).map { _ in try #require(try port.open()) }
    #expect(try port.open() == nil)
    switch meanwhile {
    case .request: connections[0].begin()
    case .unsentBytes: connections[0].channel.write(ByteBuffer(string: "a"), promise: nil)
    }
    port.loop.advanceTime(by: ConnectionTable.grace)
    #expect(connections.allSatisfy { $0.channel.isActive })
    #expect(port.calledBack == 1)
    #expect(try port.open() == nil)
    port.loop.advanceTime(by: ConnectionTable.grace)
    #expect(connections.map(\.channel.isActive) == [true, false])
    // It takes part again after its next request.
    connections[0].channel.flush()
    connections[0].begin()
    connections[0].end()
    let third = try #require(try port.open())
    third.begin()
    #expect(try port.open() == nil)
    port.loop.advanceTime(by: ConnectionTable.grace)
    #expect(!connections[0].channel.isActive && third.channel.isActive)
    port.finish()
  }

  @Test(
    "A connection has a second for its first request, and keeps its place if another becomes free meanwhile")
  func firstRequest() throws {
    let port = Port(2)
    let busy = try #require(try port.open())
    busy.begin()
    let new = try Connection(port.loop)
    #expect(port.table.admit(new.channel) {})
    new.place = port.table.add(new.channel, new)
    #expect(try port.open() == nil)
    port.loop.advanceTime(by: ConnectionTable.firstRequest - ConnectionTable.grace)
    #expect(new.channel.isActive)
    // It sends its request in time, so another must make room.
    new.begin()
    port.loop.advanceTime(by: .seconds(1))
    #expect(new.channel.isActive && busy.channel.isActive)
    new.end()
    #expect(try port.open() == nil)
    port.loop.advanceTime(by: ConnectionTable.grace)
    #expect(!new.channel.isActive)
    // No connection waits any more when the second of this one is over.
    let next = try Connection(port.loop)
    #expect(port.table.admit(next.channel) {})
    next.place = port.table.add(next.channel, next)
    #expect(try port.open() == nil)
    busy.channel.close(promise: nil)
    port.loop.advanceTime(by: .seconds(2))
    #expect(next.channel.isActive)
    // It is still among the idle ones.
    #expect(try port.open() != nil)
    #expect(try port.open() == nil)
    port.loop.advanceTime(by: ConnectionTable.grace)
    #expect(!next.channel.isActive)
    for connection in [new, next] { connection.place = nil }
    port.finish()
  }

  @Test("As many connections make room as wait for a place, however often they ask")
  func several() throws {
    let port = Port(4)
    let connections = try (1...4).map { _ in try #require(try port.open()) }
    let waiting = try (1...2).map { _ in try Connection(port.loop) }
    for _ in 1...5 { #expect(!port.table.admit(waiting[0].channel, waiting: 2) {}) }
    port.loop.advanceTime(by: ConnectionTable.grace)
    #expect(connections.map(\.channel.isActive) == [false, false, true, true])
    for connection in waiting {
      #expect(port.table.admit(connection.channel) {})
      _ = try connection.channel.finish()
    }
    port.finish()
  }

  @Test("Each port that waits for room learns of it")
  func ports() throws {
    let port = Port(2)
    let connections = try (1...2).map { _ in try #require(try port.open()) }
    let (first, second) = (NSObject(), NSObject())
    let (firstCalls, secondCalls) = (EventCount(), EventCount())
    let waiting = try (1...2).map { _ in try Connection(port.loop) }
    #expect(
      !port.table.admit(waiting[0].channel, of: ObjectIdentifier(first)) { firstCalls.next() }
        && !port.table.admit(waiting[1].channel, of: ObjectIdentifier(second)) { secondCalls.next() })
    port.loop.advanceTime(by: ConnectionTable.grace)
    #expect(connections.allSatisfy { !$0.channel.isActive })
    #expect(firstCalls.count > 0 && secondCalls.count > 0)
    for (connection, of) in zip(waiting, [first, second]) {
      #expect(port.table.admit(connection.channel, of: ObjectIdentifier(of)) {})
      _ = try connection.channel.finish()
    }
    port.finish()
  }

  @Test("A lower limit closes connections only for new ones, and a higher one admits at once")
  func limits() throws {
    let port = Port(3)
    let connections = try (1...3).map { _ in try #require(try port.open()) }
    port.table.setLimits(.init(connections: 2))
    port.loop.advanceTime(by: ConnectionTable.grace)
    #expect(connections.allSatisfy { $0.channel.isActive })
    #expect(try port.open() == nil)
    port.table.setLimits(.init(connections: 4))
    #expect(port.calledBack == 1)
    #expect(try port.open() != nil)
    port.finish()
  }

  @Test("Whatever connections do, the one that makes room is the one that is idle longest")
  func model() throws {
    var generator = SplitMix64(seed: 16)
    for round in 1...200 {
      let port = Port(8)
      /// Since when each open connection is idle.
      var idle: [ObjectIdentifier: NIODeadline] = [:]
      for _ in 1...100 {
        port.loop.advanceTime(by: .seconds(1))
        let open = port.connections.filter(\.channel.isActive)
        let one = open.randomElement(using: &generator)
        switch Int.random(in: 0..<8, using: &generator) {
        case 0, 1, 2:
          one?.begin()
          if let one { idle[ObjectIdentifier(one)] = nil }
        case 3, 4:
          one?.end()
          if let one { idle[ObjectIdentifier(one)] = port.loop.now }
        case 5: _ = one?.channel.close()
        default:
          let now = port.loop.now
          if let new = try port.open() {
            idle[ObjectIdentifier(new)] = now
            continue
          }
          #expect(open.count == 8)
          port.loop.advanceTime(by: ConnectionTable.grace)
          let victim = open.filter { idle[ObjectIdentifier($0)] != nil }
            .min {
              (idle[ObjectIdentifier($0)] ?? .distantFuture) < (idle[ObjectIdentifier($1)] ?? .distantFuture)
            }
          let closed = open.filter { !$0.channel.isActive }
          #expect(
            closed.map { ObjectIdentifier($0) } == [victim].compactMap { $0.map { ObjectIdentifier($0) } },
            "round \(round)")
        }
      }
      port.finish()
    }
  }

  // MARK: - Clients

  @Test("An address at its limit loses its connection that is idle longest, or gets no other if all are busy")
  func perAddress() throws {
    let port = Port(100, perAddress: 2)
    let addresses = try ["192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.1"].map { try Self.address($0) }
    let connections = try addresses.map { address in
      let connection = try #require(try port.open())
      #expect(connection.place?.belongs(to: address) == true)
      return connection
    }
    port.loop.advanceTime(by: ConnectionTable.grace)
    #expect(connections.map(\.channel.isActive) == [false, true, true, true])
    for connection in connections { connection.begin() }
    let refused = try #require(try port.open())
    #expect(refused.place?.belongs(to: addresses[0]) == false)
    #expect(port.statistics.connectionsRefused.value == 1)
    // One closes, and another may come.
    _ = try connections[1].channel.finish()
    #expect(refused.place?.belongs(to: addresses[0]) == true)
    port.finish()
  }

  @Test(
    "An IPv6 client has a network of 64 bits, and an IPv4 client an address",
    arguments: [
      ("2001:db8::1", "2001:db8::ffff:1", true), ("2001:db8::1", "2001:db8:0:1::1", false),
      ("192.0.2.1", "192.0.2.2", false), ("192.0.2.1", "192.0.2.1", true),
    ])
  func networks(first: String, second: String, isOne: Bool) throws {
    let port = Port(100, perAddress: 1)
    let connections = try [first, second].map { text in
      let connection = try #require(try port.open())
      #expect(connection.place?.belongs(to: try Self.address(text)) == true)
      return connection
    }
    port.loop.advanceTime(by: ConnectionTable.grace)
    #expect(connections.map(\.channel.isActive) == [!isOne, true])
    port.finish()
  }

  // MARK: - Accepting

  /// Counts the reads of a port, and keeps what it accepts.
  private final class Accepting: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias OutboundIn = any Channel
    private(set) var reads = 0

    func read(context: ChannelHandlerContext) { reads += 1 }
  }

  private final class Accepted: ChannelInboundHandler {
    typealias InboundIn = any Channel
    private(set) var channels: [any Channel] = []

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { channels.append(unwrapInboundIn(data)) }
  }

  @Test("A port accepts no more while an accepted connection waits for its place")
  func gate() throws {
    let port = Port(1)
    let (reads, accepted) = (Accepting(), Accepted())
    let server = EmbeddedChannel(handlers: [reads, AcceptGate(port.table), accepted], loop: port.loop)
    let clients = try (1...3).map { _ in try Connection(port.loop) }
    func accept(_ index: Int) { server.pipeline.fireChannelRead(clients[index].channel as any Channel) }
    server.read()
    accept(0)
    server.read()
    #expect(accepted.channels.count == 1 && reads.reads == 2)
    accept(1)
    server.read()
    #expect(accepted.channels.count == 1 && reads.reads == 2)
    // The first one leaves.
    clients[0].channel.close(promise: nil)
    port.loop.advanceTime(by: ConnectionTable.grace)
    #expect(accepted.channels.count == 2 && reads.reads == 3)
    // What still waits is closed with the port.
    accept(2)
    _ = try? server.finish()
    port.loop.advanceTime(by: ConnectionTable.grace)
    #expect(clients.map(\.channel.isActive) == [false, true, false])
    _ = try? clients[1].channel.finish()
  }

  @Test(
    "After accept has failed because no descriptor was left, a port tries again after a pause",
    arguments: [(EMFILE, true), (ENFILE, true), (ENOBUFS, true), (ENOMEM, true), (ECONNABORTED, false)])
  func failure(code: CInt, pauses: Bool) throws {
    let port = Port(2)
    let server = EmbeddedChannel(handlers: [AcceptGate(port.table)], loop: port.loop)
    func autoRead() -> [Bool] {
      server.options.filter { $0.option is ChannelOptions.Types.AutoReadOption }.compactMap {
        $0.value as? Bool
      }
    }
    for _ in 1...3 { server.pipeline.fireErrorCaught(IOError(errnoCode: code, reason: "accept")) }
    #expect(autoRead() == (pauses ? [false] : []))
    #expect(port.statistics.acceptFailures.value == (pauses ? 3 : 0))
    port.loop.advanceTime(by: AcceptGate.pause - .nanoseconds(1))
    #expect(autoRead() == (pauses ? [false] : []))
    port.loop.advanceTime(by: .nanoseconds(1))
    #expect(autoRead() == (pauses ? [true] : []))
    _ = try? server.finish()
    port.finish()
  }

  // MARK: - Descriptors

  @Test(
    "An attempt to connect that fails because of the process is not the origin's failure",
    arguments: [(EMFILE, true), (ENFILE, true), (ENOBUFS, true), (ENOMEM, true), (ECONNREFUSED, false)])
  func shortage(code: CInt, isOurs: Bool) {
    let error = IOError(errnoCode: code, reason: "connect")
    #expect((DescriptorLimit.shortage(in: error) != nil) == isOurs)
    #expect(DescriptorLimit.shortage(in: ChannelError.connectTimeout(.seconds(1))) == nil)
    let (response, bytes) = GeneratedResponse.failure(
      OriginError(.proxyInternalError, DescriptorLimit.text(of: error)), name: "p")
    #expect(response.status.code == 503)
    #expect(response.headerFields.contains { $0.value == "p; error=proxy_internal_error" })
    #expect(String(decoding: bytes, as: UTF8.self) == "503: the proxy is overloaded.\n")
  }

  @Test(
    "Clients get half of the descriptors that are left beside the reserve",
    arguments: [
      (1_048_576, 524_224), (20_128, 10_000), (4096, 1984), (1024, 448), (256, 64), (200, 36), (64, 8),
      (4, 1),
    ])
  func descriptors(limit: Int, connections: Int) {
    #expect(DescriptorLimit.connections(within: limit) == connections)
    if limit > 256 { #expect(DescriptorLimit.needed(for: connections) <= limit) }
    #expect(DescriptorLimit.needed(for: connections + 1) > limit || limit < 256)
    #expect(DescriptorLimit.needed(for: .max) == .max)
  }
}
