// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheStore

/// The measurements of `memory`: fills one cache after the other, and frees it before the next.
struct MemoryBench {
  var keys: Int
  var valueSize: Int
  var progress: ProgressLine

  func run() throws -> [Measurement] {
    let perEntry = try EngineCache.cost(keyBytes: Keys.bytes, bodyBytes: valueSize, eviction: .s3fifo)
    let capacity = 2 * keys * perEntry + (64 << 20)
    var measurements = [
      try measure(.ours) { try EngineCache(capacity: capacity, eviction: .lru) },
      try measure(.oursS3FIFO) { try EngineCache(capacity: capacity, eviction: .s3fifo) },
      try measure(.dictionary) { DictionaryCache() },
      try measure(.nodes) { NodeCache(capacity: keys) },
      try measure(.nsCache) { ObjectCache(capacity: keys) },
    ]
    if keys <= FoundationCache.mostKeys { measurements.append(try measure(.urlCache) { RequestCache() }) }
    return measurements
  }

  private func measure(_ name: Contender, _ make: () throws -> some KeyedCache) throws -> Measurement {
    progress.show("memory: \(name.rawValue)")
    let bodies = Bodies(size: valueSize, seed: 1)
    let before = MemoryUse.now()
    let cache = try make()
    for number in 0..<keys where !cache.put(Keys.key(number), bodies.fresh()) {
      throw BenchError.unprepared("\(name.rawValue) refused an entry")
    }
    let accounted = cache.accountedBytes
    let after = MemoryUse.now()
    return withExtendedLifetime(cache) {
      var one = Measurement(
        .memory, .occupy, name,
        [.entries: Double(keys), .keyBytes: Double(Keys.bytes), .valueBytes: Double(valueSize)])
      func add(_ bytes: Int?, _ all: Metric, _ beyond: Metric) {
        guard let bytes else { return }
        one[all] = Double(bytes)
        one[beyond] = Double(bytes) / Double(keys) - Double(Keys.bytes + valueSize)
      }
      func grown(_ path: KeyPath<MemoryUse, Int?>) -> Int? {
        before[keyPath: path].flatMap { first in after[keyPath: path].map { $0 - first } }
      }
      add(grown(\.allocatedBytes), .allocatedBytes, .allocatedBeyond)
      add(grown(\.residentBytes), .residentBytes, .residentBeyond)
      add(accounted, .accountedBytes, .accountedBeyond)
      return one
    }
  }
}
