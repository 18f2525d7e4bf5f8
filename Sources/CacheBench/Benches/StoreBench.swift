// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The measurements of `throughput` and `latency`.
struct StoreBench {
  var options: StoreOptions
  var kind: Measurement.Kind
  var progress: ProgressLine
  /// What is measured beside the filling; everything unless given.
  var only: Set<Action>?

  func run() throws -> [Measurement] {
    try inMemory() + (options.tier == .both ? try onDisk() : [])
  }

  /// What was left out, and why.
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
    let count = options.keys
    progress.show("making \(count) keys and values")
    let data = try Dataset(
      count: count, valueSize: options.run.valueSize, seed: options.run.round.seed,
      options.includesURLCache ? .foundation : .requests)
    let capacity = options.capacity ?? ample(data)
    let filling = filling(count)
    let actions: [Action] =
      [.get, .getByKey, .decide, .miss, .storeAgain] + (options.capacity == nil ? [] : [.mixed])
      + [.judgeAndStore]
    // A floor only finds.
    let (some, finding) = (wanted(actions), wanted([.get, .getByKey, .miss]))
    var entrants = [
      filling.entrant(.ours, by: .store, then: some) { _ in try StoreCache(data, memory: capacity) },
      filling.entrant(.dictionary, by: .store, then: some) { _ in KeyedBench(data, DictionaryCache()) },
      filling.entrant(.floor, by: .store, then: finding) { _ in
        KeyedBench(data, try FloorCache(keys: count))
      },
    ]
    if options.includesURLCache {
      entrants.append(
        filling.entrant(.urlCache, by: .store, then: some) {
          FoundationCache(data, directory: $0, isOnDisk: false)
        })
    }
    var contest = contest(entrants, count)
    contest.isBounded = options.capacity != nil
    return try contest.run(progress)
  }

  func onDisk() throws -> [Measurement] {
    let count = options.diskKeys
    let data = try Dataset(
      count: count, valueSize: options.run.valueSize, seed: options.run.round.seed,
      options.includesURLCacheOnDisk ? .foundation : .requests)
    let capacity = max(64 << 20, 4 * ample(data))
    let filling = filling(count)
    var entrants = [
      filling.entrant(.ours, by: .diskStore, then: wanted([.diskGet])) {
        try StoreCache(data, memory: 0, disk: capacity, directory: $0)
      }
    ]
    if options.includesURLCacheOnDisk {
      entrants.append(
        filling.entrant(.urlCache, by: .diskStore, then: wanted([.diskGet])) {
          FoundationCache(data, directory: $0, isOnDisk: true)
        })
    }
    var contest = contest(entrants, count)
    contest.batch = 1
    return try contest.run(progress)
  }

  private func wanted(_ actions: [Action]) -> [Action] {
    actions.filter { only?.contains($0) ?? true }
  }

  private func filling(_ keys: Int) -> Filling {
    Filling(
      order: KeySequence.shuffle(keys: keys, seed: options.run.round.seed),
      sequences: (0..<options.threads).map { options.run.sequence(keys: keys, stream: $0) },
      valueSize: options.run.valueSize, threads: options.threads)
  }

  private func contest(_ entrants: [Contest.Entrant], _ count: Int) -> Contest {
    options.run.contest(entrants, kind, keys: count, threads: options.threads)
  }

  /// More than all entries occupy.
  private func ample(_ data: Dataset) -> Int { (64 << 20) + 2 * data.keys.count * (data.entryBytes + 256) }
}
