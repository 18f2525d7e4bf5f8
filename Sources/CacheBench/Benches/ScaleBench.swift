// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheStore
import HTTPCaching

/// The measurements of `scale`: one store in memory after the other, with more and more entries.
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

    func timed(_ action: Action, _ count: Int, _ number: (Int) -> Int, _ operation: (StoreKey) -> Bool) throws
      -> Measurement
    {
      progress.show("\(keys) entries: \(action.rawValue)")
      var nanoseconds: UInt64 = 0
      for first in stride(from: 0, to: count, by: Self.chunk) {
        let some = (first..<min(first + Self.chunk, count)).map { Keys.key(number($0)) }
        let start = MonotonicClock.ofThread
        for key in some where !operation(key) {
          throw BenchError.unprepared("the store failed: \(action.rawValue)")
        }
        nanoseconds += MonotonicClock.ofThread - start
      }
      return measurement(action, keys, Double(nanoseconds) / Double(count))
    }
    func timed(_ action: Action, _ operation: () throws -> Void) rethrows -> Measurement {
      progress.show("\(keys) entries: \(action.rawValue)")
      let start = MonotonicClock.ofThread
      try operation()
      return measurement(action, keys, Double(MonotonicClock.ofThread - start))
    }

    var rows = [try timed(.store, keys, { $0 }) { cache.put($0, bodies.fresh()) }]
    let full = MemoryUse.resident
    rows.append(
      try timed(.getAndRead, operations, { _ in Int(generator.next() % UInt64(keys)) }) {
        cache.bodyByte(of: $0) != nil
      })
    rows.append(try timed(.churn, operations, { keys + $0 }) { cache.put($0, bodies.fresh()) })
    let last = Keys.key(keys + operations - Self.purged).description.dropLast("00.webp".count)
    let responses = HTTPCache(store: store, configuration: .init(kind: .private))
    rows.append(
      try timed(.purgePrefix) {
        let count = responses.remove(.patterns([.prefix(String(last))])).count
        guard count == Self.purged else {
          throw BenchError.unprepared("the purge removed \(count ?? 0) entries")
        }
      })
    rows.append(timed(.removeAll) { store.removeAll() })
    if let empty, let full, let rest = MemoryUse.resident {
      rows[0][.residentBeyond] =
        Double(full - empty) / Double(keys) - Double(Keys.bytes + head.count + valueSize)
      rows[rows.count - 1][.residentBytes] = Double(rest - empty)
    }
    return rows
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
