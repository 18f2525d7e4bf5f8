import HTTPCacheStore

/// One of the caches that are measured with a workload.
struct HotLane: Sendable {
  typealias Operation = @Sendable (_ position: Int) -> Bool

  var name: CacheName
  var action: Action
  /// Does what has to be done once before anything is measured. Returns the hit ratio, where it is counted there.
  var prepare: @Sendable () throws -> Double?
  /// Does what has to be done before each run over some keys.
  var begin: @Sendable ([Arrivals]) -> Void = { _ in }
  /// The operation of a thread, on the keys as they arrive there.
  var operation: @Sendable (Arrivals) -> Operation

  init(
    _ name: CacheName, _ action: Action, prepare: @escaping @Sendable () throws -> Double? = { nil },
    operation: @escaping @Sendable (Arrivals) -> Operation
  ) {
    self.name = name
    self.action = action
    self.prepare = prepare
    self.operation = operation
  }

  /// Generic, and not over `any KeyedCache`, so that the compiler makes a loop of its own for each cache.
  static func get<Cache: KeyedCache>(
    _ name: CacheName, _ cache: Cache, _ filling: [(key: StoreKey, body: [UInt8])], valueSize: Int
  ) -> HotLane {
    HotLane(name, .getByKey) {
      for (key, body) in filling where !cache.put(key, body) {
        throw BenchError.unprepared("\(name.title) does not take every entry")
      }
      return nil
    } operation: { arrivals in
      { cache.bodyCount(of: arrivals.keys[$0]) == valueSize }
    }
  }

  /// Of a cache that is filled already.
  ///
  /// - Parameter most: the greatest byte of any body. It is compared so that the compiler does not leave out the reading.
  static func read<Cache: ReadableCache>(_ name: CacheName, _ cache: Cache, most: UInt8) -> HotLane {
    HotLane(name, .getAndRead) { arrivals in
      { cache.bodyByte(of: arrivals.keys[$0]).map { $0 <= most } ?? false }
    }
  }

  /// - Parameters:
  ///   - warming: what is asked for first, so that the cache is full of what it keeps.
  ///   - counting: what is asked for then, to count the hits.
  static func mixed<Cache: KeyedCache>(
    _ name: CacheName, _ cache: Cache, warming: [Arrivals], counting: Arrivals, _ bodies: Bodies
  ) -> HotLane {
    @Sendable func isStore(_ position: Int) -> Bool {
      position % Workload.mixedPeriod == Workload.mixedPeriod - 1
    }
    @Sendable func step(_ position: Int, _ arrivals: Arrivals) -> Bool {
      let key = arrivals.keys[position]
      if !isStore(position), cache.bodyCount(of: key) != nil { return true }
      _ = cache.put(key, bodies.fresh())
      return false
    }
    return HotLane(name, .mixed) {
      for some in warming {
        for position in some.keys.indices { _ = step(position, some) }
      }
      let (hits, lookups) = counting.keys.indices.reduce(into: (0, 0)) { counts, position in
        if step(position, counting) { counts.0 += 1 }
        if !isStore(position) { counts.1 += 1 }
      }
      return lookups > 0 ? Double(hits) / Double(lookups) : nil
    } operation: { arrivals in
      { step($0, arrivals) }
    }
  }

  static func churn<Cache: KeyedCache>(
    _ name: CacheName, _ cache: Cache, capacity: Int, _ bodies: Bodies
  ) -> HotLane {
    var lane = HotLane(name, .churn) { arrivals in
      { cache.put(arrivals.keys[$0], bodies.fresh()) }
    }
    lane.begin = { arrivals in
      // The last keys of each thread, which are stored again only when all others were.
      for some in arrivals {
        for key in some.keys.suffix(capacity / arrivals.count + 1) { _ = cache.put(key, bodies.fresh()) }
      }
    }
    return lane
  }
}
