import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes

/// The lanes of `decide`: a lookup, and a lookup with the decision to serve what it found.
///
/// Both begin with the request as it arrives, and build the key from it.
struct DecideWorkload {
  let lanes: [HotLane]
  /// So many requests are in turn asked with.
  let arrivals: Arrivals

  init(_ options: HotOptions, _ bodies: Bodies) throws {
    let engine = CacheEngine(.init(kind: .private))
    let now = SystemCacheClock.shared.now
    let head = Dataset.head(options.valueSize)
    guard let stored = Dataset.judge(Dataset.request(0), head, engine, now: now)
    else { throw BenchError.unprepared("the engine does not store the response that is to be decided on") }
    let metadata = stored.encoded()
    let perEntry = 1024 + metadata.count + bodies.size
    let store = try CacheStore(.init(memoryCapacity: (64 << 20) + 2 * options.keys * perEntry))
    let numbers = KeySequence(
      keys: options.keys, distribution: options.distribution, exponent: options.zipfExponent,
      seed: options.seed, stream: 0, length: min(max(options.keys, 1 << 10), 1 << 18)
    ).indices
    arrivals = Arrivals(numbers[...])
    let requests = numbers.map { Dataset.request(Int($0)) }
    let size = options.valueSize
    let keys = options.keys

    let fill: @Sendable () throws -> Double? = {
      for number in 0..<keys {
        let entry = NewEntry(
          key: Self.key(Dataset.request(number)), variant: VariantID(rawValue: 1), metadata: metadata,
          body: bodies.fresh(), storedAt: now.milliseconds, tiers: .memory)
        guard store.insert(entry).id != nil else {
          throw BenchError.unprepared("the store does not take every entry")
        }
      }
      return nil
    }
    lanes = [
      HotLane(.ours, .get, prepare: fill) { _ in
        { store.lookup(Self.key(requests[$0])).only?.bodyCount == size }
      },
      HotLane(.ours, .decide) { _ in
        {
          let request = requests[$0]
          guard let entry = store.lookup(Self.key(request)).only else { return false }
          var hit: CacheEngine.Hit?
          entry.withMetadata {
            hit = engine.hit(for: request, policy: .useProtocolCachePolicy, stored: $0, now: now)
          }
          return hit != nil && entry.bodyCount == size
        }
      },
    ]
  }

  private static func key(_ request: HTTPRequest) -> StoreKey { StoreKey(CacheKey(request)?.bytes ?? []) }
}
