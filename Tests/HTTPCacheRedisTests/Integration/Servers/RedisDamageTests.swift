// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import HTTPCacheEngine
import HTTPCacheRedis
import HTTPTypes
import Loopback
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Keys of the tier that another program changed or removed", .needsRedis, .timeLimit(.minutes(5)))
struct RedisDamageTests {
  private static func shape(_ size: Int) -> ResponseShape {
    var shape = ResponseShape()
    (shape.size, shape.validator, shape.hasGroup) = (size, .both, true)
    return shape
  }

  private func fleet(_ endpoint: RedisEndpoint) throws -> RedisFleet {
    try RedisFleet(endpoint) {
      $0.inlineLimit = 1000
      $0.pieceSize = 400
    }
  }

  /// The only key with an ending.
  private func name(_ ending: String, _ client: RedisClient) async throws -> [UInt8] {
    let names = try await client.send(words("KEYS *\(ending)")).elements ?? []
    return try #require(names.first?.bytes)
  }

  @Test(
    "A flipped, cut or longer value is a miss, or the response as it was stored", arguments: [0, 300, 3000])
  func everyByte(size: Int) async throws {
    try await withDatabase { endpoint in
      let shape = Self.shape(size)
      let origin = MemoryOrigin(shape)
      let fleet = try fleet(endpoint)
      try await fleet.reachable()
      _ = try await fleet.get(at: 0, from: origin)
      try await fleet.stored(1, by: 0)
      await fleet.close()
      let tier = try RedisSharedTier(.patient(endpoint))
      let key = try #require(CacheKey(RedisFleet.request("/")))
      try await withClient(endpoint) { client in
        let entry = try await name(":e", client)
        let fields = try #require(try await client.send([Array("HGETALL".utf8), entry]).elements)
        func check(_ index: Int, _ value: [UInt8], _ comment: String) async throws {
          _ = try await client.pipeline([
            [Array("DEL".utf8), entry],
            [Array("HSET".utf8), entry] + fields.indices.map { $0 == index ? value : fields[$0].bytes ?? [] },
          ])
          for found in try await tier.find(key.bytes) {
            guard
              let read = SharedEntryForm.read(
                found, key: key, place: key.bytes, at: SystemCacheClock.shared.now)
            else {
              continue
            }
            #expect(read.body == shape.content(1, for: RedisFleet.request("/")), "\(comment)")
            #expect(read.stored.value(of: .eTag) == "\"1\"", "\(comment)")
          }
        }
        try await check(-1, [], "unchanged")
        for index in stride(from: 1, to: fields.count, by: 2) {
          let value = try #require(fields[index].bytes)
          for position in value.indices {
            var changed = value
            changed[position] ^= 1
            try await check(index, changed, "value \(index), byte \(position)")
          }
          for count in stride(from: 0, to: value.count, by: 7) {
            try await check(index, Array(value[..<count]), "value \(index), \(count) bytes")
          }
          try await check(index, value + [0], "value \(index), longer")
          try await check(index, value + value, "value \(index), twice")
        }
      }
      await tier.close()
    }
  }

  /// What another program does to the keys of one response.
  enum Change: String, CaseIterable {
    case removedEntry, removedField, foreignField, emptyField, emptyFields, entryOfOtherType
    case removedPiece, emptyPiece, longerPiece, pieceOfOtherType, swappedPieces

    func run(_ client: RedisClient) async throws {
      func send(_ words: String, _ rest: [[UInt8]] = []) async throws -> RedisValue {
        try await client.send(words.split(separator: " ").map { Array($0.utf8) } + rest)
      }
      let entry = try #require(try await send("KEYS *:e").elements?.first?.bytes)
      let fields = try #require(try await send("HGETALL", [entry]).elements).compactMap(\.bytes)
      let pieces = (try await send("KEYS *:e:*").elements ?? []).compactMap(\.bytes)
      let piece = try #require(pieces.first)
      switch self {
      case .removedEntry: _ = try await send("UNLINK", [entry])
      case .removedField: _ = try await send("HDEL", [entry, fields[0]])
      case .foreignField: _ = try await send("HSET", [entry, [0, 1, 2], [255, 58, 10]])
      case .emptyField: _ = try await send("HSET", [entry, fields[0], []])
      case .emptyFields:
        for index in stride(from: 0, to: fields.count, by: 2) {
          _ = try await send("HSET", [entry, fields[index], []])
        }
      case .entryOfOtherType:
        _ = try await client.pipeline([[Array("DEL".utf8), entry], [Array("LPUSH".utf8), entry, [1]]])
      case .removedPiece: _ = try await send("DEL", [piece])
      case .emptyPiece: _ = try await send("SET", [piece, []])
      case .longerPiece: _ = try await send("APPEND", [piece, [1]])
      case .pieceOfOtherType:
        _ = try await client.pipeline([[Array("DEL".utf8), piece], [Array("LPUSH".utf8), piece, [1]]])
      case .swappedPieces: _ = try await send("RENAME", [piece, pieces[1]])
      }
    }
  }

  @Test("A changed or removed key is a counted miss, and the origin responds", arguments: Change.allCases)
  func changes(change: Change) async throws {
    try await withDatabase { endpoint in
      let origin = MemoryOrigin(Self.shape(3000))
      let fleet = try fleet(endpoint)
      try await fleet.reachable()
      _ = try await fleet.get(at: 0, from: origin)
      try await fleet.stored(1, by: 0)
      try await withClient(endpoint) { try await change.run($0) }
      let before = fleet.statistics(1)
      let answer = try await fleet.get(at: 1, from: origin)
      #expect(answer.text == "1")
      let after = fleet.statistics(1)
      if change == .foreignField {
        #expect(answer.source == .hit)
        #expect(after.damaged == before.damaged + 1)
      } else {
        #expect(answer.source == .network)
        #expect(after.hits == before.hits)
        let isCounted =
          after.damaged > before.damaged || after.misses > before.misses || after.errors > before.errors
        #expect(isCounted)
      }
      await fleet.close()
    }
  }

  /// What another program does to the keys of the log and of leases.
  static let vandalism: [[String]] =
    ["meta", "log", "released"].flatMap { key -> [[String]] in
      let name = "httpcache:{log}:\(key)"
      return ["SET \(name) x", "LPUSH \(name) x", "SADD \(name) x"].map { ["DEL \(name)", $0] }
    } + [
      ["HSET httpcache:{log}:meta epoch x"], ["HSET httpcache:{log}:meta seed x"],
      ["HSET httpcache:{log}:meta began x"], ["HSET httpcache:{log}:meta run x"],
      ["HSET httpcache:{log}:meta n:x y"], ["HSET httpcache:{log}:meta n:1 y"],
      ["HSET httpcache:{log}:meta n:2 99999999999999999999999:99999999999999999999999:9999999999999999"],
      ["HSET httpcache:{log}:meta epoch 99999999999999999999999"],
      ["HSET httpcache:{log}:meta began 1e999"], ["HDEL httpcache:{log}:meta seed"],
      ["XADD httpcache:{log}:log * a b"], ["XADD httpcache:{log}:log 1-1 p x e 1 t x b 0"],
      ["XADD httpcache:{log}:log 18446744073709551615-1 a b"],
      ["XADD httpcache:{log}:log 9007199254740993-0 p x"],
      ["XADD httpcache:{log}:log 9223372036854775807-0 p x"],
      ["XADD httpcache:{log}:released * a b"], ["XADD httpcache:{log}:released 1-1 k"],
      ["XADD httpcache:{log}:released 18446744073709551615-18446744073709551615 k x"],
    ]

  @Test(
    "A damaged log is an error or a new log, and the tier works again once it is removed",
    arguments: vandalism)
  func log(commands: [String]) async throws {
    try await withDatabase { endpoint in
      let exercise = try TierExercise(endpoint)
      let tier = exercise.tier
      let key = Array("https://a.example/".utf8)
      let position = try await tier.heartbeat(SharedNode(id: 1, applied: nil, lifetime: .seconds(1))).last
      _ = try await tier.append(SharedRemoval(payload: [1], keys: [key], scopes: [], isBroad: false))
      try await withClient(endpoint) { client in
        for command in commands { _ = try await client.send(words(command)) }
        /// Accepts a result, or an error with a text.
        func attempt(_ body: () async throws -> Void) async {
          do {
            try await body()
          } catch {
            #expect(error is RedisError, "\(error)")
          }
        }
        let entry = SharedEntry(
          key: key, variant: [], head: [1], body: [2], scopes: [], position: position, lifetime: .seconds(60))
        let lease = SharedLease(key: key, owner: 1, lifetime: .seconds(60))
        for _ in 0..<2 {
          await attempt { _ = try await tier.store(entry) }
          await attempt { _ = try await tier.find(key) }
          await attempt { _ = try await tier.records(after: position, waiting: .milliseconds(1)) }
          await attempt {
            _ = try await tier.heartbeat(SharedNode(id: 1, applied: position, lifetime: .seconds(1)))
          }
          await attempt {
            _ = try await tier.append(SharedRemoval(payload: [1], keys: [key], scopes: [], isBroad: false))
          }
          await attempt { _ = try await tier.acquire(lease) }
          await attempt { try await tier.waitForRelease(of: key, atMost: .milliseconds(1)) }
          await attempt { try await tier.release(lease) }
        }
        _ = try await client.send(words("FLUSHDB"))
      }
      try await exercise.run()
    }
  }

  @Test("A record that the tier did not write is an error with the name of the key")
  func foreignRecord() async throws {
    try await withDatabase { endpoint in
      let tier = try RedisSharedTier(.patient(endpoint))
      let start = try await tier.heartbeat(SharedNode(id: 1, applied: nil, lifetime: .seconds(1))).last
      _ = try await tier.append(SharedRemoval(payload: [1], keys: [], scopes: [], isBroad: true))
      try await withClient(endpoint) { _ = try await $0.send(words("XADD httpcache:{log}:log * a b")) }
      // What is before it is read.
      let page = try await tier.records(after: start, waiting: .zero)
      #expect(page.records.map(\.number) == [1])
      let error = await #expect(throws: RedisError.self) {
        _ = try await tier.records(
          after: SharedLogPosition(epoch: start.epoch, number: 1), waiting: .zero)
      }
      #expect(error?.description.contains("httpcache:{log}:log") == true)
      await tier.close()
    }
  }

  @Test(
    "With little memory the server drops any key, and each response is right",
    arguments: ["volatile-random", "allkeys-random", "allkeys-lru"])
  func evictions(policy: String) async throws {
    try await RedisServer.inTurn.with { server in
      try await server.expectOK("CONFIG SET maxmemory 4mb maxmemory-policy \(policy) maxmemory-samples 10")
      let fleet = try fleet(server.endpoint)
      try await fleet.reachable()
      var shapes = ResponseShape.few
      shapes.append(Self.shape(50_000))
      for number in 0..<120 {
        var shape = shapes[number % shapes.count]
        shape.size = max(shape.size, 50_000)
        let origin = MemoryOrigin(shape)
        for node in [0, 1] {
          #expect(try await fleet.get("/\(number)", at: node, from: origin).text == "1")
        }
        // Some of the first ones are gone from the tier.
        let early = MemoryOrigin(shapes[0])
        #expect(try await fleet.get("/early/\(number / 2)", at: number % 2, from: early).text == "1")
      }
      await fleet.close()
    }
  }
}

@Suite("Replies that no server of Redis sends", .timeLimit(.minutes(5)))
struct HostileReplyTests {
  /// Values of the protocol.
  private static let replies = [
    "$-1\r\n", "*-1\r\n", "*0\r\n", ":0\r\n", ":1\r\n", ":-1\r\n", ":9223372036854775807\r\n",
    ":-9223372036854775808\r\n", "+OK\r\n", "$0\r\n\r\n", "$1\r\n5\r\n", "$19\r\n9223372036854775807\r\n",
    "$20\r\n18446744073709551615\r\n", "-ERR no\r\n", "-NOSCRIPT no\r\n", "-MOVED 1 h:1\r\n",
    "*2\r\n:9223372036854775807\r\n:9223372036854775807\r\n",
    "*2\r\n:-9223372036854775808\r\n:-9223372036854775808\r\n", "*2\r\n$1\r\n1\r\n$1\r\n1\r\n",
    "*3\r\n$1\r\n1\r\n$1\r\n1\r\n:9223372036854775807\r\n",
    "*5\r\n$1\r\n1\r\n$1\r\n1\r\n:9223372036854775807\r\n:9223372036854775807\r\n:9223372036854775807\r\n",
    "*1\r\n*2\r\n$1\r\na\r\n*1\r\n*2\r\n$3\r\n0-0\r\n*2\r\n$1\r\ne\r\n$1\r\n1\r\n",
    "*1\r\n*2\r\n$1\r\na\r\n*2\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\ne\r\n$1\r\n1\r\n*2\r\n$3\r\n0-0\r\n*1\r\n$1\r\ne\r\n",
    "*1\r\n*2\r\n$1\r\na\r\n*1\r\n*2\r\n$22\r\n18446744073709551615-0\r\n*2\r\n$1\r\ne\r\n$1\r\n1\r\n",
  ]

  /// A server that answers each command with one of the replies.
  private func withServer(seed: UInt64, _ body: (FakeServer) async throws -> Void) async throws {
    let random = Mutex(SplitMix64(seed: seed))
    try await FakeServer.with(
      {
        .send(random.withLock { random in Array((Self.replies.randomElement(using: &random) ?? "").utf8) })
      }, body)
  }

  @Test("The tier returns a result or an error", arguments: [UInt64](0..<8))
  func tier(seed: UInt64) async throws {
    try await withServer(seed: seed) { server in
      for _ in 0..<100 {
        let tier = try RedisSharedTier(.patient(server.endpoint))
        let key: [UInt8] = [1]
        let position = SharedLogPosition(epoch: 1, number: 1)
        let lease = SharedLease(key: key, owner: 1, lifetime: .milliseconds(1))
        for _ in 0..<3 {
          _ = try? await tier.heartbeat(SharedNode(id: 1, applied: position, lifetime: .seconds(1)))
          _ = try? await tier.find(key)
          _ = try? await tier.store(
            SharedEntry(
              key: key, variant: [], head: [1], body: [2], scopes: [], position: position,
              lifetime: .seconds(1)))
          _ = try? await tier.records(after: position, waiting: .zero)
          _ = try? await tier.append(SharedRemoval(payload: [], keys: [key], scopes: [], isBroad: false))
          _ = try? await tier.acquire(lease)
          _ = try? await tier.release(lease)
        }
        await tier.close()
      }
    }
  }

  @Test("A cache responds as if there were no tier", arguments: [UInt64](0..<8))
  func cache(seed: UInt64) async throws {
    try await withServer(seed: seed) { server in
      let fleet = try RedisFleet(server.endpoint, directories: [nil])
      let origin = MemoryOrigin(ResponseShape())
      for number in 0..<50 {
        #expect(try await fleet.get("/\(number)", at: 0, from: origin).text == "1")
      }
      try await eventually { fleet.statistics(0).errors > 0 }
      await fleet.close()
    }
  }
}
