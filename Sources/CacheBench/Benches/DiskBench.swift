// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import HTTPCacheStore
import Histogram
import SystemPackage

/// What `disk` can measure.
enum DiskWorkload: String, CaseIterable, Sendable, ExpressibleByArgument {
  /// Puts of new entries.
  case put
  /// Gets, page cache warm.
  case get
  /// Nine gets and a put that replaces an entry.
  case mixed
  /// Puts at capacity.
  case churn
  /// Gets, page cache cold.
  case cold
  /// Opening a directory.
  case reopen
}

/// The measurements of `disk`.
struct DiskBench {
  var options: DiskOptions
  var progress: ProgressLine
  /// What is started to open directories: this program.
  var executable = DiskChild.ownExecutable

  private var seed: UInt64 { options.round.seed }

  func run(_ workloads: [DiskWorkload]) throws -> Report {
    var report = options.report
    for size in options.valueSizes {
      report.measurements += try operations(workloads, valueSize: size)
      if workloads.contains(.churn) { report.measurements.append(try churn(valueSize: size)) }
      if workloads.contains(.cold) { report.measurements += try coldGets(valueSize: size) }
    }
    if workloads.contains(.put) || workloads.contains(.get), options.valueSizes.contains(1024) {
      report.measurements += try fewBesideURLCache()
    }
    if workloads.contains(.reopen) {
      let size = options.valueSizes.first { $0 == 16 << 10 } ?? options.valueSizes[0]
      // A directory of a gigabyte or two.
      let keys = options.keys ?? min(100_000, (2 << 30) / size)
      for ending in [Action.reopenClosed, .reopenKilled] {
        report.measurements.append(try opening(ending, keys: keys, valueSize: size))
      }
    }
    report.measurements += report.measurements.ratios
    return report
  }

  /// Everything that a target is set for.
  func targets() throws -> Report {
    var report = options.report
    let size = 16 << 10
    let (some, many) = (options.keys ?? 100_000, (options.keys ?? 100_000) * 10)
    report.measurements = try operations([.put, .get], valueSize: size) + fewBesideURLCache()
    report.measurements.append(try churn(valueSize: size))
    report.measurements += try coldGets(valueSize: size)
    report.measurements += [
      try opening(.reopenClosed, keys: some, valueSize: size),
      try opening(.reopenClosed, keys: many, valueSize: 1024),
      try opening(.reopenKilled, keys: many, valueSize: 1024),
    ]
    report.measurements += report.measurements.ratios
    report.targets = report.diskTargets
    return report
  }

  // MARK: - Operations

  private func operations(_ workloads: [DiskWorkload], valueSize: Int) throws -> [Measurement] {
    let actions: [Action] =
      (workloads.contains(.get) ? [.diskGet] : []) + (workloads.contains(.mixed) ? [.diskMixed] : [])
    guard workloads.contains(.put) || !actions.isEmpty else { return [] }
    let count = options.keys(ofSize: valueSize)
    progress.show("making \(Format.count.text(count)) keys and values")
    let data = try Dataset(count: count, valueSize: valueSize, seed: seed, .entries)
    // Nothing is to be evicted, however often it is overwritten: the raw file and the files keep everything too.
    let capacity = max(256 << 20, 4 * count * (data.entryBytes + 4096))
    let filling = Filling(
      order: KeySequence.shuffle(keys: count, seed: seed),
      sequences: [KeySequence(keys: count, distribution: .zipf, exponent: 0.99, seed: seed, stream: 0)],
      valueSize: valueSize, threads: 1,
      // Ours syncs all of it when it is closed.
      mostPerRound: 1)
    let ours = filling.entrant(.ours, by: .diskStore, then: actions) {
      try DiskStoreCache(data, directory: $0 + "/store", capacity: capacity)
    }
    let others = options.yardsticks.compactMap { yardstick in
      yardstick.maker(data, capacity: capacity).map {
        filling.entrant(yardstick, by: .diskStore, then: actions, $0)
      }
    }
    return try Contest(
      entrants: [ours] + others, rounds: options.round.rounds, seconds: options.round.seconds, batch: 10,
      conditions: [.entries: Double(count), .valueBytes: Double(valueSize), .threads: 1]
    ).run(progress)
  }

  /// A hundred entries of 1 KiB beside URLCache, which takes seconds for more.
  private func fewBesideURLCache() throws -> [Measurement] {
    let few = try StoreOptions.parse(
      ["--tier", "both", "--disk-keys", String(min(100, options.keys ?? 100))] + options.round.arguments)
    return try StoreBench(options: few, kind: .throughput, progress: progress).onDisk()
  }

  // MARK: - Churn

  /// A store at its capacity, into which new entries keep coming, one in ten of them in place of another.
  private func churn(valueSize: Int) throws -> Measurement {
    let data = try Dataset(count: 1, valueSize: valueSize, seed: seed, .entries)
    let capacity = options.capacity
    return try TemporaryDirectory.with { directory in
      progress.show("churn, \(Format.bytes.text(valueSize))")
      let path = directory + "/store"
      let store = try CacheStore(
        CacheStore.Configuration(memoryCapacity: 0, diskCapacity: capacity, directory: FilePath(path)))
      defer { store.close() }
      var random = SplitMix64(seed: seed)
      var newest = 0
      let fitting = max(1, capacity / data.entryBytes)
      func put(_ turn: Int) throws {
        var number = newest
        if turn % 10 == 9, newest > 0 {
          // One of those that are surely there.
          number = Int.random(in: max(0, newest - fitting / 2)..<newest, using: &random)
        } else {
          newest += 1
        }
        guard store.insert(data.entry(Keys.key(number), 0)).id != nil else {
          throw BenchError.unprepared("the store does not take every entry at capacity")
        }
      }
      // Twice around, before anything is measured.
      for turn in 0..<2 * fitting { try put(turn) }
      let puts = max(2 * fitting, 100)
      var shares: [Double] = []
      var most = 0
      let before = ProcessIO.now
      var nanoseconds: UInt64 = 0
      var start = MonotonicClock.now
      for turn in 0..<puts {
        try put(turn)
        guard turn % max(1, puts / 100) == 0 else { continue }
        nanoseconds += MonotonicClock.now - start
        shares.append(Double(store.usage.diskEntries * data.entryBytes) / Double(capacity))
        most = max(most, store.usage.diskBytes, FileCache.size(path))
        start = MonotonicClock.now
      }
      nanoseconds += MonotonicClock.now - start
      store.flush()
      let live = max(1, store.usage.diskEntries * data.entryBytes)
      var figures: [Metric: Double] = [
        .valueBytes: Double(valueSize), .capacityBytes: Double(capacity), .operations: Double(puts),
        .operationsPerSecond: Double(puts) * 1e9 / Double(max(1, nanoseconds)), .mostBytes: Double(most),
        .mostShare: Double(most) / Double(capacity), .liveShare: median(shares) ?? 0,
        .leastLiveShare: shares.min() ?? 0,
        .spaceAmplification: Double(FileCache.size(path)) / Double(live),
      ]
      if let before, let after = ProcessIO.now {
        figures[.writtenPerByte] =
          Double(after.writtenBytes - before.writtenBytes) / Double(puts * data.entryBytes)
      }
      return Measurement(.churn, .diskChurn, .ours, figures)
    }
  }

  // MARK: - Cold

  private func coldGets(valueSize: Int) throws -> [Measurement] {
    guard ProcessIO.now != nil else { return [] }
    let count = min(1000, options.keys(ofSize: valueSize))
    let data = try Dataset(count: count, valueSize: valueSize, seed: seed, .entries)
    let gets = KeySequence.shuffle(keys: count, seed: seed).prefix(200)
    return try TemporaryDirectory.with { directory -> [Measurement] in
      let path = directory + "/store"
      let ours = try DiskStoreCache(
        data, directory: path, capacity: max(64 << 20, 4 * count * data.entryBytes))
      let raw = try RawFileCache(data, directory: directory)
      defer {
        ours.close()
        raw.close()
      }
      var measurements: [Measurement] = []
      for (name, cache, place) in [(Contender.ours, ours as any DiskCache, path), (.rawFile, raw, directory)]
      {
        progress.show("cold, \(Format.bytes.text(valueSize)): \(name.rawValue)")
        for key in 0..<count where !cache.put(key) {
          throw BenchError.unprepared("\(name.rawValue) does not take every entry")
        }
        ours.flush()
        guard let get = cache.operation(.coldGet) else { continue }
        // What the store keeps of its files is known after the first get; what is measured is not in the page cache.
        guard get(Int(gets[0])), FileCache.drop(place) else { return measurements }
        let looking = ProcessIO.readCallsOfLooking
        var histogram = Loop.histogram()
        guard let before = ProcessIO.now else { return measurements }
        for key in gets {
          let start = MonotonicClock.now
          guard get(Int(key)) else {
            throw BenchError.failed(action: .coldGet, contender: name, failures: 1, operations: gets.count)
          }
          histogram.record(MonotonicClock.now - start)
        }
        guard let after = ProcessIO.now else { return measurements }
        let times = Double(gets.count)
        var one = Measurement(.cold, .coldGet, name, [.valueBytes: Double(valueSize), .operations: times])
        one[.readCallsPerGet] = Double(after.readCalls - before.readCalls - looking) / times
        one[.deviceBytesPerGet] = Double(after.deviceReadBytes - before.deviceReadBytes) / times
        one.add(histogram)
        measurements.append(one)
      }
      return measurements
    }
  }

  // MARK: - Opening

  /// Opening a directory whose files are not in the page cache, in a process of its own.
  private func opening(_ ending: Action, keys: Int, valueSize: Int) throws -> Measurement {
    try TemporaryDirectory.with { directory in
      let path = directory + "/store"
      let what = "\(Format.count.text(keys)) entries of \(Format.bytes.text(valueSize)), \(ending.rawValue)"
      progress.show("filling: \(what)")
      let capacity = max(256 << 20, keys * (valueSize + 2048) * 2)
      let filler = try DiskChild(
        executable: executable, directory: path, fill: keys, valueSize: valueSize, capacity: capacity)
      try filler.end(ending)
      var one = Measurement(
        .reopen, ending, .ours,
        [.entries: Double(keys), .valueBytes: Double(valueSize), .nanoseconds: 0, .deviceBytes: 0])
      for _ in 0..<max(1, min(5, options.round.rounds)) {
        progress.show("opening: \(what)")
        guard FileCache.drop(path) else { break }
        let child = try DiskChild(
          executable: executable, directory: path, valueSize: valueSize, capacity: capacity)
        try child.end(ending)
        let story = child.story
        guard story.entries == keys else {
          throw BenchError.unexpected(what: what, found: "\(story.entries) of \(keys) entries are there")
        }
        one.byRound.append(Double(story.nanoseconds))
        one[.deviceBytes] = Double(story.deviceBytes ?? 0)
        one[.memoryBytesPerEntry] = story.allocatedBytes.map { Double($0) / Double(max(1, keys)) }
      }
      one[.nanoseconds] = median(one.byRound) ?? 0
      return one
    }
  }
}
