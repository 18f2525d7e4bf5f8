// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Dispatch
import HTTPCacheRedis
import HTTPCaching
import Loopback
import NIOCore
import NIOPosix
import TestSupport
import Testing

@Suite(
  "The shared tier on Redis",
  .enabled(if: RedisServer.isInstalled, .init(rawValue: RedisServer.howToInstall)),
  .timeLimit(.minutes(5)))
struct RedisSharedTierTests {
  private let key = Array("https://a.example/".utf8)

  private func tier(
    _ endpoint: RedisEndpoint, configure: (inout RedisSharedTier.Configuration) -> Void = { _ in }
  ) throws -> RedisSharedTier {
    var configuration = RedisSharedTier.Configuration.patient(endpoint)
    configure(&configuration)
    return try RedisSharedTier(configuration)
  }

  private func entry(
    _ body: String, variant: [UInt8] = [], at position: SharedLogPosition, scopes: [[UInt8]] = [],
    key: [UInt8]? = nil
  ) -> SharedEntry {
    SharedEntry(
      key: key ?? self.key, variant: variant, head: [1, 2, 3], body: Array(body.utf8), scopes: scopes,
      position: position, lifetime: .seconds(3600))
  }

  private func position(_ tier: RedisSharedTier, applied: SharedLogPosition? = nil) async throws
    -> SharedLogPosition
  {
    try await head(tier, applied: applied).last
  }

  private func head(
    _ tier: RedisSharedTier, node: UInt64 = 1, applied: SharedLogPosition? = nil,
    lifetime: Duration = .milliseconds(1)
  ) async throws -> SharedLogHead {
    try await tier.heartbeat(SharedNode(id: node, applied: applied, lifetime: lifetime))
  }

  private func removal(keys: [[UInt8]] = [], scopes: [[UInt8]] = [], isBroad: Bool = false) -> SharedRemoval {
    SharedRemoval(payload: [7, 0, 255], keys: keys, scopes: scopes, isBroad: isBroad)
  }

  @Test("Variants come back as they were stored, in line and in pieces", arguments: [0, 3, 64, 65, 1000])
  func stores(count: Int) async throws {
    try await withDatabase { endpoint in
      let tier = try tier(endpoint) {
        $0.inlineLimit = 64
        $0.pieceSize = 100
      }
      let position = try await position(tier)
      #expect(try await tier.find(key).isEmpty)
      for variant: UInt8 in [1, 2, 1] {
        let entry = entry(String(repeating: "\(variant)", count: count), variant: [variant], at: position)
        #expect(try await tier.store(entry) == .stored)
      }
      let found = try await tier.find(key)
      #expect(found.allSatisfy { $0.head == [1, 2, 3] && $0.elapsed >= .zero })
      #expect(
        Set(found.map { $0.body.map { String(decoding: $0, as: UTF8.self) } ?? "lost" })
          == Set([1, 2].map { String(repeating: "\($0)", count: count) }))
      #expect(found.count == 2)
      // The pieces that were replaced are gone.
      let client = try RedisClient(.patient(endpoint))
      let pieces = count <= 64 ? 0 : (count + 99) / 100 * 2
      #expect(try await client.send(words("DBSIZE")).integer == Int64(2 + 1 + pieces))
      await client.close()
      await tier.close()
    }
  }

  /// What becomes of an entry between its storing and its refresh.
  enum Change: CaseIterable { case none, otherContent, otherVariant, lostPiece, removed }

  @Test(
    "A refresh stores a head beside the content that is there, or does nothing", arguments: [3, 1000],
    Change.allCases)
  func refreshes(count: Int, change: Change) async throws {
    try await withDatabase { endpoint in
      let tier = try tier(endpoint) {
        $0.inlineLimit = 64
        $0.pieceSize = 100
      }
      let client = try RedisClient(.patient(endpoint))
      let position = try await position(tier)
      let content = String(repeating: "x", count: count)
      #expect(try await tier.store(entry(content, variant: [1], at: position)) == .stored)
      switch change {
      case .none, .otherContent, .otherVariant: break
      case .lostPiece:
        let pieces = try await client.send(words("KEYS *:9")).elements ?? []
        for piece in pieces {
          _ = try await client.send([Array("DEL".utf8), try #require(piece.bytes)])
        }
      case .removed: _ = try await tier.append(removal(isBroad: true), within: .seconds(5))
      }
      var new = entry("", variant: [change == .otherVariant ? 2 : 1], at: position)
      (new.head, new.lifetime) = ([4, 5], .seconds(7200))
      let result = try await tier.refresh(new, within: .seconds(5)) { head in
        head == [1, 2, 3] && change != .otherContent
      }
      let isRefreshed = change == .none || change == .lostPiece && count == 3
      #expect(result == (isRefreshed ? .stored : change == .removed ? .removedSince : nil))
      let found = try await tier.find(key)
      #expect(found.map(\.head) == [isRefreshed ? [4, 5] : [1, 2, 3]])
      let isLost = change == .lostPiece && count == 1000
      #expect(found.first?.body == (isLost ? nil : Array(content.utf8)))
      // All that is there has the new lifetime.
      for name in try await client.send(words("KEYS *")).elements?.compactMap(\.bytes) ?? [] {
        let time = try await client.send([Array("TTL".utf8), name]).integer ?? 0
        if isRefreshed, time >= 0 { #expect((7100...7260).contains(time)) }
      }
      await client.close()
      await tier.close()
    }
  }

  @Test(
    "A large content comes back whole", arguments: [200_000, 262_144, 262_145, 524_288, 600_000, 3_000_000])
  func large(count: Int) async throws {
    try await withDatabase { endpoint in
      let tier = try tier(endpoint)
      let body = String(repeating: "x", count: count)
      #expect(try await tier.store(entry(body, at: try await position(tier))) == .stored)
      #expect(try await tier.find(key).first?.body == Array(body.utf8))
      await tier.close()
    }
  }

  @Test("A key with many variants takes no more, keeps those it has, and has room for notes")
  func manyVariants() async throws {
    try await withDatabase { endpoint in
      let tier = try tier(endpoint)
      let position = try await position(tier)
      for variant: UInt8 in 0..<60 {
        let result = try await tier.store(entry("content", variant: [variant], at: position))
        #expect(result == (variant < 8 ? .stored : .full))
      }
      for variant: UInt8 in 100..<108 {
        #expect(try await tier.store(entry("", variant: [variant], at: position)) == .stored)
      }
      #expect(try await tier.store(entry("new", variant: [7], at: position)) == .stored)
      let found = try await tier.find(key)
      #expect(found.count == 16)
      #expect(found.contains { $0.body == Array("new".utf8) })
      await tier.close()
    }
  }

  @Test(
    "What is reclaimed goes with its pieces, and nothing else does", arguments: ["httpcache:", "a*[b]\\?:"])
  func reclaims(prefix: String) async throws {
    try await withDatabase { endpoint in
      let tier = try tier(endpoint) {
        $0.inlineLimit = 64
        $0.pieceSize = 100
        $0.prefix = prefix
      }
      let client = try RedisClient(.patient(endpoint))
      // Of another application, and of another tier.
      for key in ["\(prefix){12}:x", "\(prefix){zz}:e", "x\(prefix){12}:e", "axb:{12}:e"] {
        _ = try await client.send([Array("SET".utf8), Array(key.utf8), [1]])
      }
      // An entry of another type.
      _ = try await client.send([Array("SET".utf8), Array("\(prefix){12}:e".utf8), [1]])
      let position = try await position(tier)
      for number in 0..<700 {
        var own = entry(
          String(repeating: "x", count: number % 3 * 90), variant: [UInt8(number % 2)], at: position,
          key: Array("https://a.example/\(number / 2)".utf8))
        own.head = Array("\(number)".utf8)
        #expect(try await tier.store(own) == .stored)
      }
      let isRemoved: @Sendable ([UInt8]) -> Bool = { head in
        Int(String(decoding: head, as: UTF8.self)).map { $0 % 2 == 0 || $0 >= 500 } ?? false
      }
      #expect(try await tier.reclaim(where: isRemoved) == 450)
      #expect(try await tier.reclaim(where: isRemoved) == 0)
      for number in [0, 1, 498, 499, 500, 699] {
        let found = try await tier.find(Array("https://a.example/\(number / 2)".utf8))
        let heads = found.map { String(decoding: $0.head, as: UTF8.self) }
        #expect(heads == (number < 500 ? ["\(number | 1)"] : []))
        #expect(found.allSatisfy { $0.body?.count == (number | 1) % 3 * 90 })
      }
      // The log's own, the other keys, 250 entries with a variant each, and the pieces of those that have any.
      let pieces = (0..<250).reduce(0) { $0 + ($1 * 2 + 1) % 3 }
      #expect(try await client.send(words("DBSIZE")).integer == Int64(2 + 5 + 250 + pieces))
      await client.close()
      await tier.close()
    }
  }

  @Test("A content without one of its pieces is lost")
  func lostPiece() async throws {
    try await withDatabase { endpoint in
      let tier = try tier(endpoint) {
        $0.inlineLimit = 0
        $0.pieceSize = 2
      }
      #expect(try await tier.store(entry("abcde", at: try await position(tier))) == .stored)
      let client = try RedisClient(.patient(endpoint))
      for value in try await client.send(words("KEYS *:1")).elements ?? [] {
        _ = try await client.send([Array("DEL".utf8), try #require(value.bytes)])
      }
      let found = try await tier.find(key)
      #expect(found.count == 1)
      #expect(found.first?.body == nil)
      await client.close()
      await tier.close()
    }
  }

  @Test("A value that the tier did not write is an entry without a body, or an error")
  func hostile() async throws {
    try await withDatabase { endpoint in
      let tier = try tier(endpoint)
      #expect(try await tier.store(entry("abc", at: try await position(tier))) == .stored)
      let client = try RedisClient(.patient(endpoint))
      let name = try #require(try await client.send(words("KEYS *:e")).elements?.first?.bytes)
      for value in [
        "", "1:2", "1:99999999999999999:5:0:0:ab", "1:99999999999999999:0:0:99999999999:", "x:y:z:0:0:",
        "-1:99999999999999999:0:0:0:", "1:99999999999999999:18446744073709551615:0:0:",
      ] {
        _ = try await client.send([Array("DEL".utf8), name])
        _ = try await client.send([Array("HSET".utf8), name, [1], Array(value.utf8)])
        let found = try await tier.find(key)
        #expect(found.allSatisfy { $0.body == nil }, "\(value)")
      }
      _ = try await client.send([Array("DEL".utf8), name])
      _ = try await client.send([Array("SET".utf8), name, [1]])
      await #expect(throws: RedisError.self) { try await tier.find(key) }
      await client.close()
      await tier.close()
    }
  }

  @Test("The server refuses an entry with a removal after its position, and no other")
  func refuses() async throws {
    try await withDatabase { endpoint in
      let tier = try tier(endpoint)
      let before = try await position(tier)
      let scope = Array("https://a.example".utf8)
      let other = Array("https://b.example/".utf8)
      #expect(before.number == 0)
      #expect(try await tier.append(removal(keys: [other], scopes: [other])).number == 1)
      #expect(try await tier.store(entry("1", at: before, scopes: [scope])) == .stored)
      #expect(try await tier.append(removal(keys: [key])).number == 2)
      #expect(try await tier.find(key).isEmpty)
      #expect(try await tier.store(entry("1", at: before, scopes: [scope])) == .removedSince)
      let second = SharedLogPosition(epoch: before.epoch, number: 2)
      #expect(try await tier.store(entry("2", at: second, scopes: [scope])) == .stored)
      _ = try await tier.append(removal(scopes: [scope]))
      #expect(try await tier.store(entry("2", at: second, scopes: [scope])) == .removedSince)
      #expect(try await tier.store(entry("2", at: second)) == .stored)
      _ = try await tier.append(removal(isBroad: true))
      #expect(try await tier.store(entry("2", at: second)) == .removedSince)
      let foreign = SharedLogPosition(epoch: before.epoch &+ 1, number: 4)
      #expect(try await tier.store(entry("2", at: foreign)) == .removedSince)
      let present = SharedLogPosition(epoch: before.epoch, number: 4)
      #expect(try await tier.store(entry("2", at: present)) == .stored)
      // More records than the script reads.
      for _ in 0..<300 { _ = try await tier.append(removal(keys: [other])) }
      #expect(try await tier.store(entry("2", at: present)) == .removedSince)
      await tier.close()
    }
  }

  @Test("Records arrive in order, also those that are appended while a node waits")
  func records() async throws {
    try await withDatabase { endpoint in
      let (tier, other) = (try tier(endpoint), try tier(endpoint))
      let start = try await position(tier)
      #expect(try await tier.records(after: start, waiting: .zero).records.isEmpty)
      let waiting = Task { try await tier.records(after: start, waiting: .seconds(20)) }
      _ = try await other.append(removal(keys: [key]))
      let page = try await waiting.value
      #expect(page.records == [SharedLogRecord(number: 1, payload: [7, 0, 255])])
      #expect(page.epoch == start.epoch)
      for _ in 0..<600 { _ = try await other.append(removal()) }
      var numbers: [UInt64] = []
      var position = start
      while true {
        let page = try await tier.records(after: position, waiting: .zero)
        guard let last = page.records.last else { break }
        numbers += page.records.map(\.number)
        position.number = last.number
      }
      #expect(numbers == Array(1...601))
      await tier.close()
      await other.close()
    }
  }

  @Test("Waiting for records ends with the task that waits, and the next call works")
  func cancelled() async throws {
    try await withDatabase { endpoint in
      let tier = try tier(endpoint)
      let start = try await position(tier)
      let waiting = Task { try await tier.records(after: start, waiting: .seconds(60)) }
      waiting.cancel()
      _ = try? await waiting.value
      _ = try await tier.append(removal())
      #expect(try await tier.records(after: start, waiting: .seconds(20)).records.count == 1)
      await tier.close()
    }
  }

  @Test("A task that is cancelled before its command is taken ends, and the next call works")
  func cancelledEarly() async throws {
    try await withDatabase { endpoint in
      let group = WatchedGroup()
      let tier = try tier(endpoint) { $0.eventLoopGroup = group }
      let start = try await position(tier)
      let (begin, cancelled) = (Gate(), Gate())
      let waiting = Task {
        await begin.wait()
        return try await tier.records(after: start, waiting: .seconds(60))
      }
      // The command is there already when its connection is made, and is taken after that.
      group.beforeNext {
        waiting.cancel()
        cancelled.open()
      }
      begin.open()
      await cancelled.wait()
      _ = try await tier.append(removal())
      // A second command at a time would be refused.
      #expect(try await tier.records(after: start, waiting: .seconds(20)).records.count == 1)
      await #expect(throws: CancellationError.self) { try await waiting.value }
      await tier.close()
    }
  }

  /// A server that keeps all, for the tests of epochs.
  private static let durable = SharedServers(
    start: { try await RedisServer.started(["appendonly yes", "appendfsync always"]) }
  ) { server in
    try await server.reset()
    return server
  }

  /// What happens to the server.
  enum Restart: CaseIterable {
    case withoutData, withData, durable, evictedLog, evictedMeta

    func run(_ server: RedisServer, _ tier: RedisSharedTier) async throws {
      switch self {
      case .withoutData:
        await server.kill()
        try server.removeData()
        try await server.start()
      case .withData, .durable:
        await server.kill()
        try await server.start()
      case .evictedLog: try await delete("httpcache:{log}:log", server)
      case .evictedMeta: try await delete("httpcache:{log}:meta", server)
      }
    }

    private func delete(_ key: String, _ server: RedisServer) async throws {
      #expect(try await server.send("DEL \(key)").integer == 1)
    }
  }

  @Test("A log that may have lost records has a new epoch", arguments: Restart.allCases)
  func epochs(restart: Restart) async throws {
    try await Self.durable.with { server in
      let tier = try tier(server.endpoint) {
        $0.isDurable = restart == .durable
      }
      _ = try await position(tier)
      let before = try await tier.append(removal(keys: [key]))
      try await restart.run(server, tier)
      // The connections notice the end of the server with their next command.
      let head = try await answered { try? await self.head(tier, lifetime: .seconds(600)) }
      if restart == .durable {
        #expect(head.last == before)
      } else {
        #expect(head.last.epoch != before.epoch)
        #expect(head.last.number == 0)
        #expect(try await tier.store(entry("1", at: before)) == .removedSince)
      }
      // Nodes of the time before may still trust themselves.
      #expect(head.appliedByAll == 0)
      #expect(try await tier.append(removal()).epoch == head.last.epoch)
      await tier.close()
    }
  }

  @Test("What all nodes have applied is the least of the registered ones")
  func applied() async throws {
    try await withDatabase { endpoint in
      let tier = try tier(endpoint)
      _ = try await position(tier)
      _ = try await tier.append(removal())
      let last = try await tier.append(removal())
      let first = SharedLogPosition(epoch: last.epoch, number: 1)
      func all(_ node: UInt64, _ applied: SharedLogPosition?, _ lifetime: Duration) async throws -> UInt64 {
        try await head(tier, node: node, applied: applied, lifetime: lifetime).appliedByAll
      }
      // A lifetime has to pass since the log began, and ends before the next call or a little later.
      try await eventually { try await all(1, last, .milliseconds(1)) == 2 }
      _ = try await all(2, first, .seconds(600))
      #expect(try await all(1, last, .milliseconds(1)) == 1)
      _ = try await all(2, last, .seconds(600))
      #expect(try await all(1, last, .milliseconds(1)) == 2)
      // A heartbeat that arrives late does not take it back.
      _ = try await all(2, first, .seconds(600))
      #expect(try await all(1, last, .milliseconds(1)) == 2)
      _ = try await all(2, nil, .seconds(600))
      #expect(try await all(1, last, .milliseconds(1)) == 0)
      try await tier.leave(SharedNode(id: 2, applied: nil, lifetime: .zero))
      #expect(try await all(1, last, .milliseconds(1)) == 2)
      await tier.close()
    }
  }

  /// The calls of a tier that a server does not answer.
  enum Call: CaseIterable {
    case find, store, append, acquire, release, waitForRelease
    case records, heartbeat, leave

    /// The calls that ask for the seed of the keys first.
    static let withSeed: [Call] = [.find, .store, .append, .acquire, .release, .waitForRelease]

    func run(_ tier: RedisSharedTier, within limit: Duration) async throws {
      let key: [UInt8] = [1]
      let position = SharedLogPosition(epoch: 1, number: 1)
      let lease = SharedLease(key: key, owner: 1, lifetime: .seconds(600))
      let node = SharedNode(id: 1, applied: position, lifetime: .seconds(600))
      switch self {
      case .find: _ = try await tier.find(key, within: limit)
      case .store:
        _ = try await tier.store(
          SharedEntry(
            key: key, variant: [], head: [], body: [], scopes: [], position: position, lifetime: .seconds(1)),
          within: limit)
      case .append:
        _ = try await tier.append(
          SharedRemoval(payload: [], keys: [], scopes: [], isBroad: true), within: limit)
      case .records: _ = try await tier.records(after: position, waiting: limit)
      case .heartbeat: _ = try await tier.heartbeat(node, within: limit)
      case .leave: try await tier.leave(node, within: limit)
      case .acquire: _ = try await tier.acquire(lease, within: limit)
      case .release: try await tier.release(lease, within: limit)
      case .waitForRelease: try await tier.waitForRelease(of: key, atMost: limit)
      }
    }
  }

  /// Without its own limit, a call would wait for that of the client, which is longer than that of the test.
  @Test(
    "A call ends at its time limit if the server does not answer, or answers only the first command",
    arguments: Call.allCases.map { ($0, false) } + Call.withSeed.map { ($0, true) })
  func limits(call: Call, tellsSeed: Bool) async throws {
    let isSilent = Mutex(!tellsSeed)
    let seed = Array("*2\r\n$1\r\n1\r\n$1\r\n1\r\n".utf8)
    @Sendable func react() -> FakeServer.Reaction {
      isSilent.withLock { isSilent in
        defer { isSilent = true }
        return isSilent ? .nothing : .send(seed)
      }
    }
    try await FakeServer.with(react) { server in
      var configuration = RedisSharedTier.Configuration(server.endpoint)
      // Reading the log takes this much longer than the caller wants to wait.
      configuration.requestTimeout = call == .records ? .milliseconds(50) : .seconds(3600)
      configuration.silenceTimeout = .seconds(3600)
      let tier = try RedisSharedTier(configuration)
      await #expect(throws: (any Error).self) { try await call.run(tier, within: .milliseconds(50)) }
      await tier.close()
    }
  }

  @Test("A wait for the release of a lease ends at its time limit, by the clock of the client")
  func waitLimit() async throws {
    try await withDatabase { endpoint in
      let clock = ManualClock(SystemCacheClock.shared.now)
      let (tier, other) = (try tier(endpoint), try tier(endpoint) { $0.clock = clock })
      #expect(try await tier.acquire(SharedLease(key: key, owner: 1, lifetime: .seconds(3600))))
      let waiting = Task { [key] in try await other.waitForRelease(of: key, atMost: .seconds(300)) }
      try await clock.sleepers()
      clock.advance(by: .seconds(300))
      try await waiting.value
      #expect(try await !other.acquire(SharedLease(key: key, owner: 2, lifetime: .seconds(3600))))
      await tier.close()
      await other.close()
    }
  }

  @Test("Scripts that the server has forgotten are sent again, and not otherwise")
  func scripts() async throws {
    try await RedisServer.inTurn.with { server in
      let tier = try tier(server.endpoint)
      let client = try RedisClient(.patient(server.endpoint))
      for _ in 0..<2 {
        let position = try await position(tier)
        _ = try await tier.append(removal())
        #expect(try await tier.store(entry("1", at: position)) == .stored)
        _ = try await client.send(words("SCRIPT FLUSH"))
      }
      _ = try await position(tier)
      _ = try await client.send(words("CONFIG RESETSTAT"))
      for _ in 0..<5 { _ = try await position(tier) }
      let statistics = try #require(try await client.send(words("INFO commandstats")).text)
      #expect(statistics.contains("cmdstat_evalsha:calls=5"))
      #expect(!statistics.contains("cmdstat_eval:"))
      await client.close()
      await tier.close()
    }
  }

  @Test("A lookup is one pipeline of two commands")
  func roundTrips() async throws {
    try await withDatabase { endpoint in
      let tier = try tier(endpoint)
      #expect(try await tier.store(entry("1", at: try await position(tier))) == .stored)
      let before = tier.statistics
      #expect(try await tier.find(key).count == 1)
      #expect(tier.statistics.commands - before.commands == 2)
      #expect(tier.statistics.roundTrips - before.roundTrips == 1)
      await tier.close()
    }
  }

  @Test("With little memory the server drops any part, and what is found is whole or lost")
  func evictions() async throws {
    try await RedisServer.inTurn.with { server in
      try await server.expectOK(
        "CONFIG SET maxmemory 6mb maxmemory-policy volatile-random maxmemory-samples 10")
      let tier = try tier(server.endpoint) {
        $0.inlineLimit = 1000
        $0.pieceSize = 16_000
      }
      let position = try await position(tier)
      var (whole, lost, gone) = (0, 0, 0)
      func key(_ number: Int) -> [UInt8] { Array("https://a.example/\(number)".utf8) }
      for number in 0..<200 {
        let entry = entry(String(repeating: "\(number % 10)", count: 80_000), at: position, key: key(number))
        #expect(try await tier.store(entry) == .stored)
      }
      for number in 0..<200 {
        let found = try await tier.find(key(number))
        guard let first = found.first else {
          gone += 1
          continue
        }
        guard let body = first.body else {
          lost += 1
          continue
        }
        #expect(body == Array(String(repeating: "\(number % 10)", count: 80_000).utf8))
        whole += 1
      }
      #expect(whole + lost + gone == 200)
      #expect(lost > 0, "\(whole) whole, \(lost) without a piece, \(gone) gone")
      // The log stays.
      #expect(try await self.position(tier) == position)
      await tier.close()
    }
  }
}

/// The event loops that SwiftNIO shares, for a test that acts before a connection gets one.
private final class WatchedGroup: EventLoopGroup {
  private let loops = MultiThreadedEventLoopGroup.singleton
  private let action = Mutex<(@Sendable () -> Void)?>(nil)

  /// Calls a function before the next event loop is given out, once.
  func beforeNext(_ function: @escaping @Sendable () -> Void) { action.withLock { $0 = function } }

  func next() -> any EventLoop {
    action.withLock { $0.take() }?()
    return loops.next()
  }

  func makeIterator() -> EventLoopIterator { loops.makeIterator() }

  /// The shared loops never end.
  func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
    queue.async { callback(nil) }
  }
}
