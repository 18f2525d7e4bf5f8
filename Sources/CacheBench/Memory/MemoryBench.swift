import Foundation
import HTTPCacheStore

/// What a cache occupies that was filled with entries, and owns them.
struct MemoryFigure: Codable, Hashable, Sendable {
  var cache: CacheName
  var entries: Int
  var keyBytes: Int
  var valueBytes: Int
  /// What `malloc` gave out for it.
  var allocatedBytes: Int?
  /// By how much the process grew.
  var residentBytes: Int?
  /// What the cache itself says.
  var accountedBytes: Int?

  /// Bytes for each entry beyond its key and its value, by `malloc`.
  var allocatedBeyond: Double? { beyond(allocatedBytes) }
  var residentBeyond: Double? { beyond(residentBytes) }
  var accountedBeyond: Double? { beyond(accountedBytes) }

  private func beyond(_ bytes: Int?) -> Double? {
    guard let bytes, entries > 0 else { return nil }
    return Double(bytes) / Double(entries) - Double(keyBytes) - Double(valueBytes)
  }
}

/// The measurements of `memory`: one cache after the other is filled, and is gone before the next.
struct MemoryBench {
  var keys: Int
  var valueSize: Int
  var progress: ProgressLine

  func run() throws -> [MemoryFigure] {
    let perEntry = try EngineCache.cost(
      keyBytes: HotData.keyBytes, bodyBytes: valueSize, eviction: .s3fifo)
    let capacity = 2 * keys * perEntry + (64 << 20)
    var figures = [
      try measure(.ours) { try EngineCache(capacity: capacity, eviction: .lru) },
      try measure(.oursS3FIFO) { try EngineCache(capacity: capacity, eviction: .s3fifo) },
      try measure(.dictionary) { DictionaryCache() },
      try measure(.nodes) { NodeCache(capacity: keys) },
      try measure(.nsCache) { ObjectCache(capacity: keys) },
    ]
    if keys <= FoundationCache.mostKeys { figures.append(try measure(.urlCache) { RequestCache() }) }
    return figures
  }

  private func measure(_ name: CacheName, _ make: () throws -> some KeyedCache) throws -> MemoryFigure {
    let bodies = Bodies(size: valueSize, seed: 1)
    return try figure(name) {
      let cache = try make()
      for number in 0..<keys where !cache.put(HotData.key(number), bodies.fresh()) {
        throw BenchError.unprepared("\(name.title) does not take every entry")
      }
      return (cache, cache.accountedBytes)
    }
  }

  private func figure(
    _ name: CacheName, _ fill: () throws -> (kept: any Sendable, accounted: Int?)
  ) throws -> MemoryFigure {
    progress.show("memory: \(name.title)")
    let before = MemoryUse.now()
    let (kept, accounted) = try fill()
    let after = MemoryUse.now()
    func grown(_ path: KeyPath<MemoryUse, Int?>) -> Int? {
      guard let first = before[keyPath: path], let last = after[keyPath: path] else { return nil }
      return last - first
    }
    return withExtendedLifetime(kept) {
      MemoryFigure(
        cache: name, entries: keys, keyBytes: HotData.keyBytes, valueBytes: valueSize,
        allocatedBytes: grown(\.allocatedBytes), residentBytes: grown(\.residentBytes),
        accountedBytes: accounted)
    }
  }
}
