// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness

/// The measurements of `throughput` and `latency`.
struct StoreBench {
  var options: StoreOptions
  var kind: Measurement.Kind
  var progress: ProgressLine

  func run() throws -> [Measurement] {
    try measure(onDisk: false) + (options.tier == .both ? try measure(onDisk: true) : [])
  }

  /// The omitted measurements, and why.
  var notes: [String] {
    func leftOut(_ tier: String, _ most: Int) -> String {
      "URLCache is not measured \(tier): filling it with more than \(most) keys takes too long."
    }
    let isLeftOutOnDisk = options.tier == .both && !options.includesURLCacheOnDisk
    return (options.includesURLCache ? [] : [leftOut("in memory", FoundationCache.mostKeys)])
      + (isLeftOutOnDisk ? [leftOut("on disk", FoundationCache.mostKeysOnDisk)] : [])
      + (options.capacity == nil
        ? [] : ["The capacity applies to HTTPCacheEngine; the yardsticks are unbounded."])
  }

  func report() throws -> Report {
    let measurements = try run()
    return Report(
      command: kind.rawValue, parameters: options.parameters,
      measurements: measurements + measurements.ratios, notes: notes)
  }

  func measure(onDisk: Bool) throws -> [Measurement] {
    let run = options.run
    let count = onDisk ? options.diskKeys : options.keys
    let includesURLCache = onDisk ? options.includesURLCacheOnDisk : options.includesURLCache
    progress.show("generating \(count) keys and values")
    let data = try Dataset(
      count: count, valueSize: run.valueSize, seed: run.round.seed,
      includesURLCache ? .foundation : .requests)
    let filling = Filling(
      order: KeySequence.shuffle(keys: count, seed: run.round.seed),
      sequences: (0..<options.threads).map { run.sequence(keys: count, stream: $0) },
      valueSize: run.valueSize)
    // More than all entries occupy.
    let ample = (64 << 20) + 2 * count * (data.entryBytes + 256)
    let actions: [Action] =
      onDisk
      ? [.diskGet]
      : [.get, .getByKey, .decide, .miss, .storeAgain] + (options.capacity == nil ? [] : [.mixed])
        + [.judgeAndStore]
    func entrant(
      _ name: Contender, _ actions: [Action] = actions,
      _ make: @escaping (_ directory: String) throws -> any BenchCache
    ) -> Contest.Entrant {
      filling.entrant(name, by: onDisk ? .diskStore : .store, then: actions, make)
    }
    var entrants = [
      entrant(.ours) { directory -> any BenchCache in
        if onDisk { return try StoreOnDisk(data, capacity: 4 * ample, directory: directory) }
        return try StoreCache(data, memory: options.capacity ?? ample)
      }
    ]
    if !onDisk {
      entrants.append(entrant(.dictionary) { _ in KeyedBench(data: data, cache: DictionaryCache()) })
      // A floor supports only lookups.
      entrants.append(
        entrant(.floor, [.get, .getByKey, .miss]) { _ in
          KeyedBench(data: data, cache: try FloorCache(keys: count))
        })
    }
    if includesURLCache {
      entrants.append(entrant(.urlCache) { FoundationCache(data, directory: $0, isOnDisk: onDisk) })
    }
    var contest = run.contest(entrants, kind, keys: count, threads: options.threads)
    if onDisk { contest.batch = 1 }
    contest.isBounded = !onDisk && options.capacity != nil
    return try contest.run(progress)
  }
}
