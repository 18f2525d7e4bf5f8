// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import Foundation
import HTTPCacheStore

/// The workloads of `disk`.
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

  /// The action of a workload that is compared with the yardsticks.
  fileprivate var action: Action? {
    switch self {
    case .put: .diskStore
    case .get: .diskGet
    case .mixed: .diskMixed
    case .churn, .cold, .reopen: nil
    }
  }
}

/// The measurements of `disk`.
struct DiskBench {
  var options: DiskBenchOptions
  var progress: ProgressLine
  /// The program that is started to open directories: this one.
  var executable = OwnProgram.path

  private var seed: UInt64 { options.contest.round.seed }

  func run(_ workloads: [DiskWorkload]) throws -> Report {
    let sizes = options.contest.valueSizes
    let contest = DiskContest(options: options.contest, yardsticks: options.yardsticks, progress: progress)
    var report = options.report
    for size in sizes {
      report.measurements += try contest.run(workloads.compactMap(\.action), valueSize: size)
      if workloads.contains(.churn) { report.measurements.append(try churn(valueSize: size)) }
      if workloads.contains(.cold) { report.measurements += try coldGets(valueSize: size) }
    }
    let isPutOrGet = workloads.contains(.put) || workloads.contains(.get)
    if isPutOrGet, sizes.contains(1024) { report.measurements += try fewBesideURLCache() }
    if workloads.contains(.reopen) { report.measurements += try openings.map(opening) }
    report.measurements += report.measurements.ratios
    return report
  }

  /// How the previous process ended, and the numbers of keys and the sizes of values to open.
  private var openings: [(Action, keys: Int, valueSize: Int)] {
    let sizes = options.contest.valueSizes
    let size = sizes.first { $0 == 16 << 10 } ?? sizes[0]
    // A directory of a gigabyte or two.
    let keys = options.contest.keys ?? min(100_000, (2 << 30) / size)
    return [(.reopenClosed, keys, size), (.reopenKilled, keys, size)]
  }

  /// Measures a hundred entries of 1 KiB, compared with URLCache, which takes seconds for more.
  private func fewBesideURLCache() throws -> [Measurement] {
    let few = try StoreOptions.parse(
      ["--tier", "both", "--disk-keys", String(min(100, options.contest.keys ?? 100))]
        + options.contest.round.arguments)
    return try StoreBench(options: few, kind: .throughput, progress: progress).measure(onDisk: true)
  }

  // MARK: - Churn

  /// Measures a store at its capacity with a stream of new entries; one in ten replaces another.
  private func churn(valueSize: Int) throws -> Measurement {
    let data = try Dataset(count: 1, valueSize: valueSize, seed: seed, .entries)
    let capacity = options.capacity
    return try TemporaryDirectory.with { directory in
      progress.begin("churn, \(Format.bytes.text(valueSize))")
      let path = directory + "/store"
      let cache = try StoreOnDisk(data, capacity: capacity, directory: path)
      let store = cache.store
      defer { store.close() }
      var live: Double { Double(store.usage.diskEntries * data.entryBytes) }
      var random = SplitMix64(seed: seed)
      var newest = 0
      let fitting = max(1, capacity / data.entryBytes)
      func put(_ turn: Int) throws {
        var number = newest
        if turn % 10 == 9, newest > 0 {
          // One of the entries that are certainly present.
          number = Int.random(in: max(0, newest - fitting / 2)..<newest, using: &random)
        } else {
          newest += 1
        }
        guard cache.put(Keys.key(number), data.body(0)) else {
          throw BenchError.unprepared("the store refused an entry at capacity")
        }
      }
      // Go round twice before the measurement.
      for turn in 0..<2 * fitting { try put(turn) }
      let puts = max(2 * fitting, 100)
      var shares: [Double] = []
      var most = 0
      var nanoseconds: UInt64 = 0
      let before = ProcessIO.now
      for first in stride(from: 0, to: puts, by: max(1, puts / 100)) {
        let start = MonotonicClock.now
        for turn in first..<min(puts, first + max(1, puts / 100)) { try put(turn) }
        nanoseconds += MonotonicClock.now - start
        shares.append(live / Double(capacity))
        most = max(most, store.usage.diskBytes, FileCache.size(path))
      }
      store.flush()
      var one = Measurement(
        .churn, .diskChurn, .ours,
        [
          .valueBytes: Double(valueSize), .capacityBytes: Double(capacity), .operations: Double(puts),
          .operationsPerSecond: Double(puts) * 1e9 / Double(max(1, nanoseconds)), .mostBytes: Double(most),
          .mostShare: Double(most) / Double(capacity), .liveShare: median(shares) ?? 0,
          .leastLiveShare: shares.min() ?? 0,
          .spaceAmplification: Double(FileCache.size(path)) / max(1, live),
        ])
      one[.writtenPerByte] = before.flatMap { before in
        ProcessIO.now.map { Double($0.writtenBytes - before.writtenBytes) / Double(puts * data.entryBytes) }
      }
      return one
    }
  }

  // MARK: - Cold

  private func coldGets(valueSize: Int) throws -> [Measurement] {
    let count = min(1000, options.contest.keys(ofSize: valueSize))
    let data = try Dataset(count: count, valueSize: valueSize, seed: seed, .entries)
    let gets = KeySequence.shuffle(keys: count, seed: seed).prefix(200)
    return try TemporaryDirectory.with { directory -> [Measurement] in
      let path = directory + "/store"
      let ours = try StoreOnDisk(
        data, capacity: max(64 << 20, 4 * count * data.entryBytes), directory: path)
      let raw = try RawFileCache(data, directory: directory)
      defer {
        ours.close()
        raw.close()
      }
      let caches: [(Contender, any DiskCache, String)] = [(.ours, ours, path), (.rawFile, raw, directory)]
      return try caches.compactMap { name, cache, place in
        progress.begin("cold, \(Format.bytes.text(valueSize)): \(name.rawValue)")
        for key in 0..<count where !cache.put(key) {
          throw BenchError.unprepared("\(name.rawValue) refused an entry")
        }
        ours.store.flush()
        // After the first get, the store has the data on its files. The measured entries are not in the page cache.
        guard let get = cache.operation(.coldGet), get(Int(gets[0])), FileCache.drop(place),
          let first = ProcessIO.now, let before = ProcessIO.now
        else { return nil }
        let round = Loop(timesEach: true).pass(over: gets, get)
        guard let after = ProcessIO.now else { return nil }
        guard round.successes == gets.count else {
          throw BenchError.failed(
            action: .coldGet, contender: name, failures: gets.count - round.successes, operations: gets.count)
        }
        let times = Double(gets.count)
        // Subtract the cost of the reading itself.
        let reads = (after.readCalls - before.readCalls) - (before.readCalls - first.readCalls)
        var one = Measurement(
          .cold, .coldGet, name,
          [
            .valueBytes: Double(valueSize), .operations: times, .readCallsPerGet: Double(reads) / times,
            .deviceBytesPerGet: Double(after.deviceReadBytes - before.deviceReadBytes) / times,
          ])
        one.add(round)
        return one
      }
    }
  }

  // MARK: - Opening

  /// Measures opening a directory whose files are not in the page cache, in its own process.
  private func opening(_ ending: Action, keys: Int, valueSize: Int) throws -> Measurement {
    try TemporaryDirectory.with { directory in
      let path = directory + "/store"
      let what = "\(Format.count.text(keys)) entries of \(Format.bytes.text(valueSize)), \(ending.rawValue)"
      let capacity = max(256 << 20, keys * (valueSize + 2048) * 2)
      func child(fill: Int = 0) throws -> [Metric: Double] {
        progress.begin("\(fill > 0 ? "filling" : "opening"): \(what)")
        let child = try DiskChild(
          executable: executable, directory: path, fill: fill, valueSize: valueSize, capacity: capacity)
        child.end(ending)
        return child.story
      }
      _ = try child(fill: keys)
      var one = Measurement(
        .reopen, ending, .ours,
        [.entries: Double(keys), .valueBytes: Double(valueSize), .nanoseconds: 0, .deviceBytes: 0])
      for _ in 0..<max(1, min(5, options.contest.round.rounds)) {
        guard FileCache.drop(path) else { break }
        let story = try child()
        guard story[.entries] == Double(keys) else {
          throw BenchError.unexpected(
            what: what, found: "\(Int(story[.entries] ?? 0)) of \(keys) entries are there")
        }
        one.byRound.append(story[.nanoseconds] ?? 0)
        one[.deviceBytes] = story[.deviceBytes] ?? 0
        one[.memoryBytesPerEntry] = story[.allocatedBytes].map { $0 / Double(keys) }
      }
      one[.nanoseconds] = median(one.byRound) ?? 0
      return one
    }
  }
}
