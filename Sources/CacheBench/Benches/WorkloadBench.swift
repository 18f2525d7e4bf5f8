// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes

/// A workload for a cache in memory.
enum Workload: String, CaseIterable, Sendable, ExpressibleByArgument {
  /// Lookups that all find an entry and read a byte of its body.
  case get
  /// Nine lookups, each of which stores a miss, and a store; the cache is too small for all keys.
  case mixed
  /// Stores of new entries; the cache is full.
  case churn
  /// A lookup of a fresh response and the decision to serve it, against the lookup alone.
  case decide
  /// The engine's judgement of a new response: ten fields, parsed, and whether and how long it may be stored.
  case judge
}

/// The measurements of `workload`: each workload on all caches that support it.
struct WorkloadBench {
  var options: WorkloadOptions
  /// Whether `get` reads a byte of each body, or leaves the bodies untouched.
  var readsBody = true
  var progress: ProgressLine

  /// The omitted measurements, and why.
  static func notes(_ workloads: [Workload]) -> [String] {
    var notes: [String] = []
    if workloads.contains(where: { $0 != .decide && $0 != .judge }) {
      notes.append("URLCache is not measured with this many keys; 'throughput' compares it at 10,000 keys.")
    }
    if workloads.contains(.mixed) || workloads.contains(.churn) {
      notes.append(
        "In 'mixed' and 'churn', each operation makes the entry that it stores, as if it came from the network, for all "
          + "caches. Dictionary and floor have no capacity and are not measured there.")
    }
    return notes
  }

  func run(_ workload: Workload) throws -> [Measurement] {
    progress.show("\(workload.rawValue): generating \(options.keys) keys")
    let isBounded = workload != .get
    if workload == .judge { return try judge() }
    if workload == .decide {
      let (lanes, arrivals) = try decideLanes()
      return try measure(lanes, threads: [1]) { _, _ in [arrivals] }
    }
    let (keys, bodies) = (options.keys, bodies)
    // Ample without a bound: the shares of the shards are never exactly equal.
    let entries = isBounded ? options.capacityEntries : keys * 2 + 10_000
    let most = isBounded ? entries : keys
    let filling = isBounded ? [] : (0..<keys).map { (key: Keys.key($0), body: bodies.fresh()) }
    // Twice as long as the counting: S3-FIFO takes longer than LRU to learn which keys are frequent.
    let (warming, counting) =
      workload == .mixed ? (draws(threads: 2, run: 0), draws(threads: 1, run: 1)) : ([], [])
    func lanes(_ name: Contender, _ cache: some KeyedCache) -> [Lane] {
      switch workload {
      case .mixed: return [.mixed(name, cache, warming: warming, counting: counting[0], bodies)]
      case .churn: return [.churn(name, cache, capacity: entries, bodies)]
      case .get, .decide, .judge:
        return [.get(name, cache, filling, readsBody: readsBody, valueSize: bodies.size)]
      }
    }
    var all = lanes(.ours, try engine(entries, .lru)) + lanes(.oursS3FIFO, try engine(entries, .s3fifo))
    if !isBounded {
      all += lanes(.floor, try FloorCache(keys: keys))
      all += lanes(.floorApart, try FloorCache(keys: keys, isApart: true))
      all += lanes(.dictionary, DictionaryCache())
    }
    all += lanes(.nodes, NodeCache(capacity: most)) + lanes(.nsCache, ObjectCache(capacity: most))
    return try measure(all, capacity: isBounded ? entries : nil) { threads, run in
      workload == .churn
        ? Self.everyKey(keys, threads: threads, seed: options.seed &+ UInt64(run))
        : draws(threads: threads, run: run)
    }
  }

  private func judge() throws -> [Measurement] {
    let engine = CacheEngine(.init(kind: .private))
    var head = Dataset.response(1024)
    head.headerFields[.date] = "Tue, 02 Jan 2024 03:04:05 GMT"
    head.headerFields[.age] = "3"
    let now = SystemCacheClock.shared.now
    guard let exchange = Dataset.exchange(Keys.request(0), head, engine, now: now) else {
      throw BenchError.unprepared("the engine does not forward a request without a stored response")
    }
    let lane = Lane(name: .ours, action: .judge) { _ in
      { _ in
        guard case .store = engine.outcome(of: exchange).storage else { return false }
        return true
      }
    }
    return try measure([lane], threads: [1]) { _, _ in [Arrivals(Array(repeating: 0, count: 1 << 10)[...])] }
  }

  /// Makes lanes for a lookup, and for a lookup with the decision to serve the result. Both begin with the request as
  /// it arrives, and build the key from it.
  private func decideLanes() throws -> ([Lane], Arrivals) {
    let engine = CacheEngine(.init(kind: .private))
    let now = SystemCacheClock.shared.now
    let (keys, bodies, size) = (options.keys, bodies, options.run.valueSize)
    let head = try Dataset.head(size, now: now)
    let cache = try EngineCache(
      capacity: (64 << 20) + 2 * keys * (1024 + head.count + size), head: head, storedAt: now.milliseconds)
    let store = cache.store
    let numbers = options.run.sequence(
      keys: keys, stream: 0, length: min(max(keys, 1 << 10), KeySequence.defaultLength)
    ).indices
    let requests = numbers.map { Keys.request(Int($0)) }
    let get = Lane(name: .ours, action: .get) {
      for number in 0..<keys where !cache.put(Keys.key(number), bodies.fresh()) {
        throw BenchError.unprepared("the store refused an entry")
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

  /// Measures throughput with each number of threads, and latency with one.
  ///
  /// - Parameter arrivals: returns keys for a number of threads, different ones for each run.
  private func measure(
    _ lanes: [Lane], threads: [Int]? = nil, capacity: Int? = nil,
    over arrivals: (_ threads: Int, _ run: Int) -> [Arrivals]
  ) throws -> [Measurement] {
    let hitRatios = try lanes.map { lane in
      progress.show("\(lane.action.rawValue): filling \(lane.name.rawValue)")
      return try lane.prepare()
    }
    let runs = (threads ?? options.threadCounts).map { (Measurement.Kind.throughput, $0) } + [(.latency, 1)]
    // The floor borrows the bodies that the lanes prepared.
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

  /// - Parameter entries: the number of entries that fit, by the engine's own count.
  private func engine(_ entries: Int, _ eviction: EvictionPolicy) throws -> EngineCache {
    let perEntry = try EngineCache.cost(
      keyBytes: Keys.bytes, bodyBytes: options.run.valueSize, eviction: eviction)
    return try EngineCache(capacity: entries * perEntry, eviction: eviction, shards: options.shards)
  }

  /// Returns all keys in a random order, a share of them for each thread.
  static func everyKey(_ count: Int, threads: Int, seed: UInt64) -> [Arrivals] {
    let order = KeySequence.shuffle(keys: count, seed: seed)
    return (0..<threads).map { thread in
      Arrivals(order[count * thread / threads..<count * (thread + 1) / threads])
    }
  }

  /// Returns keys in the order of their requests, a different sequence for each thread.
  ///
  /// - Parameter run: another number gives other sequences. With the same sequences, keys of an earlier run would be
  ///   found more often than later keys.
  func draws(threads: Int, run: Int) -> [Arrivals] {
    // A multiple of the period, so that each round of `mixed` stores the same share.
    let length = min(max(4 * options.keys, 1 << 14), 1 << 20) / Lane.mixedPeriod * Lane.mixedPeriod
    return (0..<threads).map { thread in
      Arrivals(
        options.run.sequence(keys: options.keys, stream: run << 10 + thread, length: length).indices[...])
    }
  }
}
