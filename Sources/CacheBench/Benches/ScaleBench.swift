// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheStore
import HTTPCaching

/// The measurements of `scale`: one store after the other, with more and more entries.
struct ScaleBench {
  /// Number of keys that are made at a time, unmeasured.
  private static let chunk = 100_000
  /// Number of entries that the purge selects: their keys differ in the last two digits only.
  private static let purged = 100

  var valueSize: Int
  var eviction: Contender
  /// Number of lookups, and of inserts that evict.
  var operations: Int
  var progress: ProgressLine

  func run(_ keys: Int) throws -> [Measurement] {
    let head = try Dataset.head(valueSize)
    let policy = eviction == .ours ? EvictionPolicy.lru : .s3fifo
    let empty = MemoryUse.now().residentBytes
    let perEntry = try EngineCache.cost(
      keyBytes: Keys.bytes, bodyBytes: head.count + valueSize, eviction: policy)
    let cache = try EngineCache(capacity: keys * perEntry, eviction: policy, head: head)
    let (store, bodies) = (cache.store, Bodies(size: valueSize, seed: 1))
    var generator = SplitMix64(seed: 1)

    var rows = [try timed(.store, keys, keys, { $0 }) { cache.put($0, bodies.fresh()) }]
    let full = ResidentMemory.now
    rows.append(
      try timed(.getAndRead, keys, operations, { _ in Int(generator.next() % UInt64(keys)) }) {
        cache.bodyByte(of: $0) != nil
      })
    rows.append(try timed(.churn, keys, operations, { keys + $0 }) { cache.put($0, bodies.fresh()) })
    rows.append(try purge(.purgePrefix, keys, store, newest: keys + operations))
    rows.append(timed(.removeAll, keys) { store.removeAll() })
    if let empty, let full, let rest = ResidentMemory.now {
      let bytes = Double(Keys.bytes + head.count + valueSize)
      rows[0][.residentBeyond] = Double(full - empty) / Double(keys) - bytes
      rows[rows.count - 1][.residentBytes] = Double(rest - empty)
    }
    return rows
  }

  /// The same on disk. The entries are in the page cache. The processor time is that of all threads, for one of them writes.
  func runOnDisk(_ keys: Int) throws -> [Measurement] {
    try TemporaryDirectory.with { directory in
      let data = try Dataset(count: 1, valueSize: valueSize, seed: 1, .entries)
      // Room for the segments that the log empties before it uses them again.
      let capacity = keys * data.entryBytes / 2 * 3
      func open() throws -> StoreOnDisk {
        try StoreOnDisk(data, capacity: capacity, directory: directory + "/store")
      }
      var cache = try open()
      let body = data.body(0)
      var generator = SplitMix64(seed: 1)
      let clock = { MonotonicClock.ofProcess }
      var rows = [
        try timed(.diskStore, keys, keys, clock: clock, { $0 }, finish: { cache.store.flush() }) {
          cache.put($0, body)
        }
      ]
      let bytes = Double(FileCache.size(directory + "/store")) / Double(keys)
      rows[0][.residentBeyond] = bytes - Double(data.entryBytes)
      rows.append(
        try timed(.diskGet, keys, operations, clock: clock, { _ in Int(generator.next() % UInt64(keys)) }) {
          (try? cache.store.lookup($0).first?.body.readAll()) != nil
        })
      cache.close()
      let before = MemoryUse.now().allocatedBytes
      rows.append(try timed(.diskOpen, keys, clock: clock) { cache = try open() })
      guard cache.store.usage.diskEntries == keys else {
        throw BenchError.unprepared("\(cache.store.usage.diskEntries) of \(keys) entries are there")
      }
      rows[2][.memoryBytesPerEntry] = before.flatMap { before in
        MemoryUse.now().allocatedBytes.map { Double($0 - before) / Double(keys) }
      }
      // Not measured: what fills the store.
      let fitting = capacity / data.entryBytes
      for number in keys..<keys + fitting where !cache.put(Keys.key(number), body) {
        throw BenchError.unprepared("the store refused an entry at capacity")
      }
      let first = keys + fitting
      rows.append(
        try timed(.diskChurn, keys, operations, clock: clock, { first + $0 }, finish: { cache.store.flush() })
        {
          cache.put($0, body)
        })
      rows.append(try purge(.diskPurge, keys, cache.store, clock: clock, newest: first + operations))
      rows.append(timed(.diskRemoveAll, keys, clock: clock) { cache.store.removeAll() })
      cache.close()
      return rows
    }
  }

  private func purge(
    _ action: Action, _ keys: Int, _ store: CacheStore, clock: () -> UInt64 = { MonotonicClock.ofThread },
    newest: Int
  ) throws -> Measurement {
    // A hundred follow each other.
    let newest = newest / Self.purged * Self.purged
    let prefix = Keys.key(newest - Self.purged).description.dropLast("00.webp".count)
    let responses = HTTPCache(store: store, configuration: .init(kind: .private))
    return try timed(action, keys, clock: clock) {
      let count = responses.remove(.patterns([.prefix(String(prefix))])).count
      guard count == Self.purged else {
        throw BenchError.unprepared("the purge removed \(count ?? 0) entries")
      }
    }
  }

  /// Measures many operations, and makes their keys without measuring that.
  private func timed(
    _ action: Action, _ keys: Int, _ count: Int, clock: () -> UInt64 = { MonotonicClock.ofThread },
    _ number: (Int) -> Int, finish: () -> Void = {}, _ operation: (StoreKey) -> Bool
  ) throws -> Measurement {
    progress.show("\(keys) entries: \(action.rawValue)")
    var nanoseconds: UInt64 = 0
    for first in stride(from: 0, to: count, by: Self.chunk) {
      let some = (first..<min(first + Self.chunk, count)).map { Keys.key(number($0)) }
      let start = clock()
      for key in some where !operation(key) {
        throw BenchError.unprepared("the store failed: \(action.rawValue)")
      }
      nanoseconds += clock() - start
    }
    let start = clock()
    finish()
    nanoseconds += clock() - start
    return measurement(action, keys, Double(nanoseconds) / Double(count))
  }

  /// Measures one operation.
  private func timed(
    _ action: Action, _ keys: Int, clock: () -> UInt64 = { MonotonicClock.ofThread },
    _ operation: () throws -> Void
  ) rethrows -> Measurement {
    progress.show("\(keys) entries: \(action.rawValue)")
    let start = clock()
    try operation()
    return measurement(action, keys, Double(clock() - start))
  }

  private func measurement(_ action: Action, _ keys: Int, _ nanoseconds: Double) -> Measurement {
    Measurement(
      .scale, action, eviction,
      [
        .entries: Double(keys), .valueBytes: Double(valueSize), .threads: 1,
        .processorNanoseconds: nanoseconds,
      ])
  }
}
