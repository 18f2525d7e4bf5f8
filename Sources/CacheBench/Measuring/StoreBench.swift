/// The measurements of `throughput` and `latency`.
struct StoreBench {
  var options: StoreOptions
  var measuring: Measuring
  var progress: ProgressLine
  /// What is measured beside the filling; everything unless given.
  var only: Set<Action>?

  func run() throws -> [Measurement] {
    var measurements = try inMemory()
    if options.tier == .both { measurements += try onDisk() }
    return measurements
  }

  /// What a reader has to know about what was left out.
  var notes: [String] {
    var notes: [String] = []
    if !options.includesURLCache {
      notes.append(
        "URLCache is left out in memory: beyond \(FoundationCache.mostKeys) keys filling it takes too long.")
    }
    if options.tier == .both, !options.includesURLCacheOnDisk {
      notes.append(
        "URLCache is left out on disk: beyond \(FoundationCache.mostKeysOnDisk) keys filling it takes too long."
      )
    }
    if options.capacity != nil {
      notes.append("The capacity holds for HTTPCacheEngine; the yardsticks keep everything.")
    }
    return notes
  }

  private func inMemory() throws -> [Measurement] {
    progress.show("making \(options.keys) keys and values")
    let data = try Dataset(
      count: options.keys, valueSize: options.valueSize, seed: options.seed,
      forFoundation: options.includesURLCache)
    let capacity = options.capacity ?? ample(data)
    var entrants = [
      Contest.Entrant(
        name: .ours, filling: .store,
        actions: [.get, .getByKey, .decide, .miss, .storeAgain] + (options.capacity == nil ? [] : [.mixed])
          + [
            .judgeAndStore
          ]
      ) { _ in try StoreCache(data, memory: capacity) },
      Contest.Entrant(name: .dictionary, filling: .store, actions: [.get, .getByKey, .miss, .storeAgain]) {
        _ in
        KeyedBench(data, DictionaryCache())
      },
      Contest.Entrant(name: .floor, filling: .store, actions: [.get, .getByKey, .miss]) { _ in
        KeyedBench(data, try FloorCache(KeysInTable.self, keys: data.count))
      },
    ]
    if options.includesURLCache {
      entrants.append(
        Contest.Entrant(name: .urlCache, filling: .store, actions: [.get, .miss, .storeAgain]) {
          FoundationCache(data, directory: $0, isOnDisk: false)
        })
    }
    return try contest(entrants, data, isBounded: options.capacity != nil).run(progress)
  }

  func onDisk() throws -> [Measurement] {
    let data = try Dataset(
      count: options.diskKeys, valueSize: options.valueSize, seed: options.seed,
      forFoundation: options.includesURLCacheOnDisk)
    let capacity = max(64 << 20, 4 * ample(data))
    var entrants = [
      Contest.Entrant(name: .ours, filling: .diskStore, actions: [.diskGet]) {
        try StoreCache(data, memory: 0, disk: capacity, directory: $0)
      }
    ]
    if options.includesURLCacheOnDisk {
      entrants.append(
        Contest.Entrant(name: .urlCache, filling: .diskStore, actions: [.diskGet]) {
          FoundationCache(data, directory: $0, isOnDisk: true)
        })
    }
    var contest = contest(entrants, data, isBounded: false)
    contest.batch = 1
    return try contest.run(progress)
  }

  private func contest(_ entrants: [Contest.Entrant], _ data: Dataset, isBounded: Bool) -> Contest {
    Contest(
      entrants: entrants.map { entrant in
        var some = entrant
        if let only { some.actions.removeAll { !only.contains($0) } }
        return some
      }, entries: data.count, valueSize: data.valueSize, threads: options.threads,
      rounds: options.rounds, seconds: options.seconds, measuring: measuring, isBounded: isBounded,
      sequences: (0..<options.threads).map {
        KeySequence(
          keys: data.count, distribution: options.distribution, exponent: options.zipfExponent,
          seed: options.seed, stream: $0)
      },
      order: KeySequence.shuffle(keys: data.count, seed: options.seed))
  }

  /// More than all entries occupy.
  private func ample(_ data: Dataset) -> Int {
    (64 << 20) + 2 * data.count * (data.valueSize + data.keySize + data.encodedHead.count + 256)
  }
}
