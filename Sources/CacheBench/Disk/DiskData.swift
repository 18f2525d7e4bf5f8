import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching

/// Keys and values that are written to disk, the same for all and made beforehand.
struct DiskData: Sendable {
  let keys: [StoreKey]
  /// A response's head, as it lies in the store.
  let head: [UInt8]
  let valueSize: Int
  private let bodies: [[UInt8]]

  /// Bodies that are distinct: what is written is in memory, and not all in the processor's cache.
  private static let mostBytes = 64 << 20

  init(count: Int, valueSize: Int, seed: UInt64) throws {
    keys = (0..<count).map { HotData.key($0) }
    self.valueSize = valueSize
    var generator = SplitMix64(seed: seed)
    let distinct = max(1, min(count, Self.mostBytes / max(1, valueSize)))
    bodies = (0..<distinct).map { _ in Dataset.body(valueSize, &generator) }
    head = try Self.head(valueSize)
  }

  static func head(_ valueSize: Int) throws -> [UInt8] {
    let now = SystemCacheClock.shared.now
    let engine = CacheEngine(.init(kind: .private))
    guard let stored = Dataset.judge(Dataset.request(0), Dataset.head(valueSize), engine, now: now) else {
      throw BenchError.unprepared("the engine does not store the response that is to be measured with")
    }
    return stored.encoded()
  }

  func body(_ number: Int) -> [UInt8] { bodies[number % bodies.count] }

  func entry(_ number: Int) -> NewEntry { entry(keys[number], number) }

  func entry(_ key: StoreKey, _ number: Int) -> NewEntry {
    NewEntry(
      key: key, variant: VariantID(rawValue: 1), metadata: head, body: body(number),
      storedAt: 1_700_000_000_000,
      tiers: .disk)
  }

  /// Reads a body, so that it is in the processor's cache as when it has just arrived.
  func touch(_ number: Int) {
    BlackHole.take(body(number).reduce(0) { $0 &+ Int($1) })
  }

  /// Bytes of key, head and body.
  var entryBytes: Int { HotData.keyBytes + head.count + valueSize }
}
