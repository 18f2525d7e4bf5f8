// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes

/// What is asked of a cache in memory.
enum Workload: String, CaseIterable, Sendable, ExpressibleByArgument {
  /// Lookups, all of which find something and read a byte of its body.
  case get
  /// Nine lookups, each of which stores what it does not find, and a store; the cache is too small for all keys.
  case mixed
  /// Stores of new entries; the cache is full.
  case churn
  /// A lookup of a fresh response and the decision to serve it, against the lookup alone.
  case decide
}

/// The measurements of `workload`: each workload on all caches that can do it.
struct WorkloadBench {
  var options: WorkloadOptions
  /// Whether `get` reads a byte of each body, leaves the bodies untouched, or both in turns.
  var readsBody: [Bool] = [true]
  var progress: ProgressLine

  /// What was left out, and why.
  static func notes(_ workloads: [Workload]) -> [String] {
    var notes: [String] = []
    if workloads.contains(where: { $0 != .decide }) {
      notes.append("URLCache does not take so many keys; 'throughput' has it beside ours at 10,000.")
    }
    if workloads.contains(.mixed) || workloads.contains(.churn) {
      notes.append(
        "What is stored in 'mixed' and 'churn' is made in the operation, as it comes from the network, for all alike. "
          + "Dictionary and floor have no capacity and are left out there.")
    }
    return notes
  }

  func run(_ workload: Workload) throws -> [Measurement] {
    progress.show("\(workload.rawValue): making \(options.keys) keys")
    let (bodies, entries) = (bodies, options.capacityEntries)
    switch workload {
    case .get: return try measure(getLanes(), over: draws)
    case .mixed:
      // Twice as long as is counted: S3-FIFO takes longer than LRU to learn what is asked for often.
      let (warming, counting) = (draws(threads: 2, run: 0), draws(threads: 1, run: 1)[0])
      func lane(_ name: Contender, _ cache: some KeyedCache) -> Lane {
        .mixed(name, cache, warming: warming, counting: counting, bodies)
      }
      return try measure(
        [
          lane(.ours, try engine(entries, .lru)), lane(.oursS3FIFO, try engine(entries, .s3fifo)),
          lane(.nodes, NodeCache(capacity: entries)), lane(.nsCache, ObjectCache(capacity: entries)),
        ], capacity: entries, over: draws)
    case .churn:
      func lane(_ name: Contender, _ cache: some KeyedCache) -> Lane {
        .churn(name, cache, capacity: entries, bodies)
      }
      return try measure(
        [
          lane(.ours, try engine(entries, .lru)), lane(.oursS3FIFO, try engine(entries, .s3fifo)),
          lane(.nodes, NodeCache(capacity: entries)), lane(.nsCache, ObjectCache(capacity: entries)),
        ], capacity: entries
      ) { Self.everyKey(options.keys, threads: $0, seed: options.seed &+ UInt64($1)) }
    case .decide:
      let (lanes, arrivals) = try decideLanes()
      return try measure(lanes, threads: [1]) { _, _ in [arrivals] }
    }
  }

  /// What the engine makes of a new response: ten fields, parsed, and whether and how long it may be stored.
  func judge() throws -> [Measurement] {
    let engine = CacheEngine(.init(kind: .private))
    let now = SystemCacheClock.shared.now
    guard
      case .forward(let forwarding) = engine.plan(
        for: Keys.request(0), policy: .useProtocolCachePolicy, candidates: [], now: now)
    else { throw BenchError.unprepared("the engine does not forward a request for what is not stored") }
    var head = Dataset.response(1024)
    head.headerFields[.date] = "Tue, 02 Jan 2024 03:04:05 GMT"
    head.headerFields[.age] = "3"
    let exchange = CacheEngine.Exchange(
      forwarding: forwarding, candidates: [], result: .response(head), requestTime: now, responseTime: now)
    let lane = Lane(name: .ours, action: .judge) { _ in
      { _ in
        guard case .store = engine.outcome(of: exchange).storage else { return false }
        return true
      }
    }
    return try measure([lane], threads: [1]) { _, _ in [Arrivals([0])] }
  }

  private func getLanes() throws -> [Lane] {
    let bodies = bodies
    let filling = (0..<options.keys).map { (key: Keys.key($0), body: bodies.fresh()) }
    // Ample: the shares of the shards are never quite equal.
    let ample = options.keys * 2 + 10_000
    let size = bodies.size
    // The compiler does not know.
    let most = UInt8(clamping: 255 + size)
    func lanes(_ name: Contender, _ cache: some ReadableCache) -> [Lane] {
      // Filled once.
      readsBody.enumerated().map { number, readsBody in
        .get(
          name, cache, number == 0 ? filling : [], readsBody: readsBody, valueSize: size, most: most)
      }
    }
    return lanes(.ours, try engine(ample, .lru)) + lanes(.oursS3FIFO, try engine(ample, .s3fifo))
      + lanes(.floor, try FloorCache(keys: options.keys))
      + lanes(.floorApart, try FloorCache(keys: options.keys, isApart: true))
      + lanes(.dictionary, DictionaryCache()) + lanes(.nodes, NodeCache(capacity: options.keys))
      + lanes(.nsCache, ObjectCache(capacity: options.keys))
  }

  /// A lookup, and a lookup with the decision to serve what it found. Both begin with the request as it arrives, and
  /// build the key from it.
  private func decideLanes() throws -> ([Lane], Arrivals) {
    let engine = CacheEngine(.init(kind: .private))
    let now = SystemCacheClock.shared.now
    let (keys, bodies) = (options.keys, bodies)
    let size = bodies.size
    let metadata = try Dataset.head(size, now: now)
    let store = try CacheStore(
      .init(memoryCapacity: (64 << 20) + 2 * keys * (1024 + metadata.count + size)))
    let numbers = options.run.sequence(
      keys: keys, stream: 0, length: min(max(keys, 1 << 10), KeySequence.defaultLength)
    ).indices
    let requests = numbers.map { Keys.request(Int($0)) }
    let get = Lane(name: .ours, action: .get) {
      for number in 0..<keys {
        let entry = NewEntry(
          key: Keys.key(number), variant: VariantID(rawValue: 1), metadata: metadata,
          body: bodies.fresh(), storedAt: now.milliseconds, tiers: .memory)
        guard store.insert(entry).id != nil else {
          throw BenchError.unprepared("the store does not take every entry")
        }
      }
      return nil
    } operation: { _ in
      { store.lookup(StoreKey(requests[$0])).only?.bodyCount == size }
    }
    let decide = Lane(name: .ours, action: .decide) { _ in
      {
        let request = requests[$0]
        guard let entry = store.lookup(StoreKey(request)).only else { return false }
        var hit: CacheEngine.Hit?
        entry.withMetadata {
          hit = engine.hit(for: request, policy: .useProtocolCachePolicy, stored: $0, now: now)
        }
        return hit != nil && entry.bodyCount == size
      }
    }
    return ([get, decide], Arrivals(numbers[...]))
  }

  /// Throughput with each number of threads, and latency with one.
  ///
  /// - Parameter arrivals: keys for so many threads, others for each run.
  private func measure(
    _ lanes: [Lane], threads: [Int]? = nil, capacity: Int? = nil,
    over arrivals: (_ threads: Int, _ run: Int) -> [Arrivals]
  ) throws -> [Measurement] {
    let hitRatios = try lanes.map { lane in
      progress.show("\(lane.action.rawValue): filling \(lane.name.rawValue)")
      return try lane.prepare()
    }
    let runs = (threads ?? options.threadCounts).map { (Measurement.Kind.throughput, $0) } + [(.latency, 1)]
    // The floor borrows the bodies that lanes were prepared with.
    defer { withExtendedLifetime(lanes) {} }
    return try runs.enumerated().flatMap { number, run in
      let some = arrivals(run.1, number + 2)
      return try options.run.contest(
        zip(lanes, hitRatios).map { $0.entrant(over: some, hitRatio: $1) }, run.0, keys: options.keys,
        threads: run.1, capacity: capacity
      ).run(progress)
    }
  }

  // MARK: - Keys and caches

  private var bodies: Bodies { Bodies(size: options.run.valueSize, seed: options.seed) }

  /// - Parameter entries: how many it can hold, as it counts them.
  private func engine(_ entries: Int, _ eviction: EvictionPolicy) throws -> EngineCache {
    let perEntry = try EngineCache.cost(
      keyBytes: Keys.bytes, bodyBytes: options.run.valueSize, eviction: eviction)
    return try EngineCache(capacity: entries * perEntry, eviction: eviction, shards: options.shards)
  }

  /// All keys in a random order, a share of them for each thread.
  static func everyKey(_ count: Int, threads: Int, seed: UInt64) -> [Arrivals] {
    let order = KeySequence.shuffle(keys: count, seed: seed)
    return (0..<threads).map { thread in
      Arrivals(order[count * thread / threads..<count * (thread + 1) / threads])
    }
  }

  /// Keys as they are asked for, for each thread its own.
  ///
  /// - Parameter run: another number gives other sequences. What a cache was warmed or measured with before would be
  ///   found more often than what comes next.
  func draws(threads: Int, run: Int) -> [Arrivals] {
    // A multiple of the period, so that each round of `mixed` stores the same share.
    let length = min(max(4 * options.keys, 1 << 14), 1 << 20) / Lane.mixedPeriod * Lane.mixedPeriod
    return (0..<threads).map { thread in
      Arrivals(
        options.run.sequence(keys: options.keys, stream: run << 10 + thread, length: length).indices[...])
    }
  }
}
