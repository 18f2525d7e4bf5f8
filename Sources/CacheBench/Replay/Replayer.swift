import HTTPCacheStore

/// Asks a cache for what a trace asks for, and stores what it does not find.
struct Replayer {
  var trace: Trace
  var sizes: ReplaySizes
  var shards: Int?

  func run(_ policy: ReplayPolicy, capacityShare: Double) throws -> Replay {
    let capacity = capacity(capacityShare)
    let start = MonotonicClock.now
    var hits = 0
    var bytes = 0.0
    var bytesHit = 0.0
    let ask = try asking(policy, capacity)
    for request in trace.requests {
      let isHit = ask(request)
      bytes += Double(request.bytes)
      guard isHit else { continue }
      hits += 1
      bytesHit += Double(request.bytes)
    }
    return Replay(
      trace: trace.name, policy: policy, sizes: sizes, shards: policy == .exactLRU ? nil : shards,
      requests: trace.requests.count, distinctKeys: trace.distinctKeys, capacityShare: capacityShare,
      capacity: capacity, hits: hits, hitRatio: Double(hits) / Double(max(1, trace.requests.count)),
      byteHitRatio: bytes > 0 ? bytesHit / bytes : 0,
      seconds: Double(MonotonicClock.now - start) / 1e9)
  }

  /// In entries, or in bytes of bodies.
  private func capacity(_ share: Double) -> Int {
    let all = sizes == .unit ? trace.distinctKeys : trace.distinctBytes
    return max(1, Int((Double(all) * share).rounded()))
  }

  private func cost(_ request: Trace.Request) -> Int { sizes == .unit ? 1 : request.bytes }

  /// Whether a request is a hit; if not, what it asks for is stored.
  private func asking(_ policy: ReplayPolicy, _ capacity: Int) throws -> (Trace.Request) -> Bool {
    switch policy {
    case .exactLRU:
      let list = NodeList<Int, Void>(capacity: capacity)
      return { request in
        if list.value(of: request.key) != nil { return true }
        _ = list.put(request.key, (), cost: cost(request))
        return false
      }
    case .lru, .s3fifo:
      let eviction: EvictionPolicy = policy == .lru ? .lru : .s3fifo
      let cache = try EngineCache(
        capacity: try storeCapacity(capacity, eviction), eviction: eviction, shards: shards)
      return { request in
        let key = Self.key(request.key)
        if cache.bodyCount(of: key) != nil { return true }
        _ = cache.put(key, [UInt8](repeating: 0, count: sizes == .unit ? 0 : request.bytes))
        return false
      }
    }
  }

  /// The capacity as our store counts it: with the key of each entry, and what the store keeps beside it.
  private func storeCapacity(_ capacity: Int, _ eviction: EvictionPolicy) throws -> Int {
    let perEntry = try EngineCache.cost(keyBytes: Self.keyBytes, bodyBytes: 0, eviction: eviction)
    guard sizes == .real else { return capacity * perEntry }
    // Where bodies count, the rest of an entry takes its share of the room.
    let mean = Double(trace.distinctBytes) / Double(max(1, trace.distinctKeys))
    let entries = mean > 0 ? Double(capacity) / mean : 0
    return capacity + Int((entries * Double(perEntry)).rounded())
  }

  private static let keyBytes = 8

  /// Keys are numbers, so that all entries of a replay by units count the same.
  private static func key(_ number: Int) -> StoreKey {
    StoreKey(withUnsafeBytes(of: UInt64(number).littleEndian) { Array($0) })
  }
}
