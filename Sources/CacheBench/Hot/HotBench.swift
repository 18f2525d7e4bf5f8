import HTTPCacheStore

/// The measurements of `workload`: each workload on all caches that can do it.
struct HotBench {
  var options: HotOptions
  var progress: ProgressLine

  func run(_ workloads: [Workload]) throws -> [Measurement] {
    try workloads.flatMap { try run($0) }
  }

  /// What a reader has to know about what was left out.
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
    switch workload {
    case .get: return try get()
    case .mixed: return try mixed()
    case .churn: return try churn()
    case .decide:
      let decide = try DecideWorkload(options, Bodies(size: options.valueSize, seed: options.seed))
      return try measure(decide.lanes, threads: [1], capacity: nil) { _, _ in [decide.arrivals] }
    }
  }

  func judge() throws -> [Measurement] {
    let judge = try JudgeWorkload()
    return try measure(judge.lanes, threads: [1], capacity: nil) { _, _ in [judge.arrivals] }
  }

  private var data: HotData {
    HotData(count: options.keys, valueSize: options.valueSize, seed: options.seed)
  }

  private func get() throws -> [Measurement] {
    let data = data
    let filling = (0..<options.keys).map { (key: HotData.key($0), body: data.bodies.fresh()) }
    // Ample: the shares of the shards are never quite equal.
    let ample = options.keys * 2 + 10_000
    let size = options.valueSize
    // The greatest there is; the compiler does not know.
    let most = UInt8(clamping: 255 + size)
    let (ours, floor) = (
      try engine(entries: ample, .lru), try FloorCache(KeysInTable.self, keys: options.keys)
    )
    let apart = try FloorCache(EntriesApart.self, keys: options.keys)
    let lanes = [
      HotLane.get(.ours, ours, filling, valueSize: size),
      HotLane.get(.oursS3FIFO, try engine(entries: ample, .s3fifo), filling, valueSize: size),
      HotLane.get(.floor, floor, filling, valueSize: size),
      HotLane.get(.floorApart, apart, filling, valueSize: size),
      HotLane.get(.dictionary, DictionaryCache(), filling, valueSize: size),
      HotLane.get(.nodes, NodeCache(capacity: options.keys), filling, valueSize: size),
      HotLane.get(.nsCache, ObjectCache(capacity: options.keys), filling, valueSize: size),
      HotLane.read(.ours, ours, most: most), HotLane.read(.floor, floor, most: most),
      HotLane.read(.floorApart, apart, most: most),
    ]
    return try measure(lanes, threads: options.threadCounts, capacity: nil) {
      data.draws(options, threads: $0, run: $1)
    }
  }

  private func mixed() throws -> [Measurement] {
    let data = data
    let entries = options.capacityEntries
    // Twice as long as is counted: S3-FIFO takes longer than LRU to know what is asked for often.
    let (warming, counting) = (
      data.draws(options, threads: 2, run: 0), data.draws(options, threads: 1, run: 1)[0]
    )
    let bodies = data.bodies
    let lanes = [
      HotLane.mixed(.ours, try engine(entries: entries, .lru), warming: warming, counting: counting, bodies),
      HotLane.mixed(
        .oursS3FIFO, try engine(entries: entries, .s3fifo), warming: warming, counting: counting, bodies),
      HotLane.mixed(.nodes, NodeCache(capacity: entries), warming: warming, counting: counting, bodies),
      HotLane.mixed(.nsCache, ObjectCache(capacity: entries), warming: warming, counting: counting, bodies),
    ]
    return try measure(lanes, threads: options.threadCounts, capacity: entries) {
      data.draws(options, threads: $0, run: $1)
    }
  }

  private func churn() throws -> [Measurement] {
    let data = data
    let entries = options.capacityEntries
    let bodies = data.bodies
    let lanes = [
      HotLane.churn(.ours, try engine(entries: entries, .lru), capacity: entries, bodies),
      HotLane.churn(
        .oursS3FIFO, try engine(entries: entries, .s3fifo), capacity: entries, bodies),
      HotLane.churn(.nodes, NodeCache(capacity: entries), capacity: entries, bodies),
      HotLane.churn(.nsCache, ObjectCache(capacity: entries), capacity: entries, bodies),
    ]
    return try measure(lanes, threads: options.threadCounts, capacity: entries) {
      data.everyKey(threads: $0, seed: options.seed &+ UInt64($1))
    }
  }

  /// Throughput with each number of threads, and latency with one.
  ///
  /// - Parameter arrivals: keys for so many threads, others for each run.
  private func measure(
    _ lanes: [HotLane], threads: [Int], capacity: Int?, arrivals: (_ threads: Int, _ run: Int) -> [Arrivals]
  ) throws -> [Measurement] {
    let hitRatios = try lanes.map { lane in
      progress.show("\(lane.action.title): filling \(lane.name.title)")
      return try lane.prepare()
    }
    defer { progress.clear() }
    let race = HotRace(lanes: lanes, options: options, capacityEntries: capacity, hitRatios: hitRatios)
    let runs = threads.map { (Measuring.throughput, $0) } + [(.latency, 1)]
    return try runs.enumerated().flatMap { number, run in
      try race.run(run.0, over: arrivals(run.1, number + 2), progress)
    }
  }

  /// - Parameter entries: how many it is to hold, as it counts them.
  private func engine(entries: Int, _ eviction: EvictionPolicy) throws -> EngineCache {
    let perEntry = try EngineCache.cost(
      keyBytes: HotData.keyBytes, bodyBytes: options.valueSize, eviction: eviction)
    return try EngineCache(capacity: entries * perEntry, eviction: eviction, shards: options.shards)
  }
}
