// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CHarness
import HTTPCacheRedis
import HTTPCaching
import HTTPTypes
import Loopback

/// Responses that a cache finds in a shared tier, beside the same bytes fetched by hiredis alone and by this package's
/// client alone; and hits in memory with a shared tier and without.
struct SharedBench {
  var requests: Int
  var sizes: [Int]
  var concurrency: Int
  var usesTCP: Bool
  var progress: ProgressLine

  func run() async throws -> [Measurement] {
    guard RedisServer.isInstalled else { throw BenchError.unprepared(RedisServer.howToInstall) }
    return try await RedisServer.with(on: usesTCP ? .port : .socket) { server in
      var measurements: [Measurement] = []
      for size in sizes {
        for depth in concurrency == 1 ? [1] : [1, concurrency] {
          progress.show("\(Format.bytes.text(size)), \(depth) at a time")
          measurements += try await SharedRun(server: server, requests: requests, size: size, depth: depth)
            .run()
        }
      }
      return measurements + (try await localHits(server))
    }
  }

  private func localHits(_ server: RedisServer) async throws -> [Measurement] {
    let size = 1024
    let plain = try HTTPCache(.init(kind: .shared, memoryCapacity: SharedRun.memoryCapacity(for: size)))
    let (tier, beside) = try SharedRun.cache(server, capacity: SharedRun.memoryCapacity(for: size))
    let origin = SharedRun.origin(size: size)
    try await SharedRun.waitUntilInStep(beside)
    for cache in [plain, beside] { _ = try await SharedRun.load(0, cache, origin) }
    var lanes = [
      SharedLane(.localHit) { numbers in
        for _ in numbers { try SharedRun.expect(.hit, size, try await SharedRun.load(0, plain, origin)) }
      },
      SharedLane(.localHitBesideTier) { numbers in
        for _ in numbers { try SharedRun.expect(.hit, size, try await SharedRun.load(0, beside, origin)) }
      },
    ]
    // A hit takes less than a reading of the clock tells apart.
    try await SharedLane.measure(&lanes, requests: 100 * requests, depth: 100)
    await tier.close()
    return lanes.map(\.measurement)
  }
}

/// The measurement of one size.
private struct SharedRun {
  var server: RedisServer
  var requests: Int
  var size: Int
  var depth: Int

  func run() async throws -> [Measurement] {
    // The first cache keeps each response until it is in the tier. In the second, each is found once: then it is in memory.
    let all = (64 << 20) + 4 * requests * (size + 1024)
    let origin = Self.origin(size: size)
    let (firstTier, first) = try Self.cache(server, capacity: all)
    let (tier, second) = try Self.cache(server, capacity: Self.memoryCapacity(for: size))
    let client = try RedisClient(.init(server.endpoint))
    let bare =
      switch server.address {
      case .tcp(let host, let port): hiredis_floor_open(host, Int32(port))
      case .unix(let path): hiredis_floor_open(path, 0)
      }
    guard let bare else { throw BenchError.unprepared("hiredis cannot connect to \(server.address)") }
    defer { hiredis_floor_close(bare) }
    // Keys without the size would be found in the memory of Redis from the run before.
    let base = size * 10_000_000 + depth * 1_000_000
    for cache in [first, second] { try await Self.waitUntilInStep(cache) }
    for number in 0..<requests { _ = try await Self.load(base + number, first, origin) }
    let deadline = ContinuousClock.now + .seconds(120)
    while first.sharedTierStatistics?.stores != requests {
      guard first.sharedTierStatistics?.dropped == 0, ContinuousClock.now < deadline else {
        throw BenchError.unprepared("the shared tier did not store all responses; choose fewer requests")
      }
      try await Task.sleep(for: .milliseconds(1))
    }
    // The head of a stored response has about 300 bytes.
    let value = [UInt8](repeating: UInt8(ascii: "x"), count: size + 300)
    for number in 0..<requests {
      _ = try await client.send(["HSET", "bench:\(number)", "v"].map { Array($0.utf8) } + [value])
    }
    @Sendable func commands(_ number: Int) -> [[[UInt8]]] {
      [["HGETALL", "bench:\(number)"].map { Array($0.utf8) }, [Array("TIME".utf8)]]
    }

    let depth = depth
    var lanes = [
      SharedLane(.fetchFromRedis, .hiredis) { numbers in
        let found = hiredis_floor_fetch(bare, numbers.lowerBound, numbers.upperBound, value.count)
        guard found == numbers.count else {
          throw BenchError.unexpected(what: "hiredis", found: "\(found) of \(numbers.count) values")
        }
      },
      SharedLane(.fetchFromRedis, .redisClient) { numbers in
        try await Self.concurrently(numbers, depth) { number in
          let replies = try await client.pipeline(commands(number))
          guard replies[0].elements?[1].bytes?.count == value.count else {
            throw BenchError.unexpected(what: "HGETALL", found: "\(replies[0])")
          }
        }
      },
      SharedLane(.sharedHit, trips: { tier.statistics.roundTrips }) { numbers in
        let size = size
        try await Self.concurrently(numbers, depth) { number in
          try Self.expect(.hit, size, try await Self.load(base + number, second, origin))
        }
      },
    ]
    try await SharedLane.measure(&lanes, requests: requests, depth: depth)
    await firstTier.close()
    await tier.close()
    await client.close()
    return lanes.map { lane in
      var one = lane.measurement
      one[.valueBytes] = Double(size)
      one[.concurrency] = Double(depth)
      return one
    }
  }

  private static func concurrently(
    _ numbers: Range<Int>, _ depth: Int, _ body: @escaping @Sendable (Int) async throws -> Void
  ) async throws {
    guard depth > 1 else {
      for number in numbers { try await body(number) }
      return
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in numbers { group.addTask { try await body(number) } }
      try await group.waitForAll()
    }
  }

  /// Large contents fill it soon, so that their memory is used again, as in a cache that has been running for a while.
  /// The first use of a page costs more than all the rest: up to 10 µs for each 4 KiB in a virtual machine.
  static func memoryCapacity(for size: Int) -> Int { max(32 << 20, 64 * size) }

  static func cache(_ server: RedisServer, capacity: Int) throws -> (RedisSharedTier, HTTPCache) {
    let tier = try RedisSharedTier(.init(server.endpoint))
    var options = HTTPCache.SharedTierOptions(tier)
    // The measurement must not fall back to the origin when the machine does other work.
    options.wait = .seconds(10)
    options.writeQueueCapacity = capacity
    var configuration = HTTPCache.Configuration(kind: .shared, memoryCapacity: capacity)
    configuration.sharedTier = options
    return (tier, try HTTPCache(configuration))
  }

  /// Before that, the cache stores nothing in the tier, and validates what it has.
  static func waitUntilInStep(_ cache: HTTPCache) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while cache.sharedTierStatistics?.isInStep != true {
      guard ContinuousClock.now < deadline else {
        throw BenchError.unprepared("the cache is not in step with the shared tier")
      }
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  static func origin(size: Int) -> Transport {
    let body = [UInt8](repeating: UInt8(ascii: "x"), count: size)
    return { _, _ in
      TransportResponse(
        head: HTTPResponse(
          status: .ok,
          headerFields: [.cacheControl: "max-age=3600", .eTag: "\"1\"", .contentType: "text/plain"]),
        body: MessageBody(body))
    }
  }

  static func load(
    _ number: Int, _ cache: HTTPCache, _ origin: @escaping Transport
  ) async throws -> (bytes: Int, source: CachedResponse.Source) {
    let request = HTTPRequest(method: .get, scheme: "http", authority: "bench.example", path: "/\(number)")
    let response = try await cache.respond(to: request, transport: origin)
    let content = try await response.body.collect(upTo: 1 << 20)
    return (content.count, response.source)
  }

  static func expect(
    _ source: CachedResponse.Source, _ size: Int, _ found: (bytes: Int, source: CachedResponse.Source)
  ) throws {
    guard found == (size, source) else {
      throw BenchError.unexpected(
        what: "a response",
        found: "\(found.bytes) bytes from \(found.source.rawValue), not \(size) from \(source.rawValue)")
    }
  }
}

/// Requests of one kind, timed in batches of those that are in flight together.
private struct SharedLane {
  let action: Action
  let contender: Contender
  let trips: () -> Int
  let load: (Range<Int>) async throws -> Void
  private var round = Round(timesEach: true)
  private var processor: [Double] = []
  private var requests = 0
  private var roundTrips = 0

  init(
    _ action: Action, _ contender: Contender = .ours, trips: @escaping () -> Int = { 0 },
    load: @escaping (Range<Int>) async throws -> Void
  ) {
    (self.action, self.contender, self.trips, self.load) = (action, contender, trips, load)
  }

  /// Runs all kinds in turns, in another order each time, so that other work on the machine affects all alike.
  static func measure(_ lanes: inout [SharedLane], requests: Int, depth: Int) async throws {
    var generator = SplitMix64(seed: 1)
    for start in stride(from: 0, to: requests, by: depth) {
      let numbers = start..<min(start + depth, requests)
      for index in lanes.indices.shuffled(using: &generator) {
        let (trips, busy) = (lanes[index].trips(), MonotonicClock.ofProcess)
        let begin = MonotonicClock.now
        try await lanes[index].load(numbers)
        let time = MonotonicClock.now - begin
        let processorTime = MonotonicClock.ofProcess - busy
        // The first requests are for warming up.
        if start == 0, requests > depth { continue }
        lanes[index].roundTrips += lanes[index].trips() - trips
        lanes[index].requests += numbers.count
        lanes[index].round.record(time / UInt64(numbers.count))
        lanes[index].processor.append(Double(processorTime) / Double(numbers.count))
      }
    }
  }

  var measurement: Measurement {
    var one = Measurement(.shared, action, contender, [.requests: Double(requests)])
    one.add(round)
    one[.nanoseconds] = one[.p50Nanoseconds]
    one[.processorNanoseconds] = median(processor)
    if roundTrips > 0 { one[.roundTripsPerRequest] = Double(roundTrips) / Double(requests) }
    return one
  }
}
