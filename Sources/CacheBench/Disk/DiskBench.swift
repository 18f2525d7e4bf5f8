import ArgumentParser
import Foundation
import Histogram
import HTTPCacheStore
import SystemPackage

/// The measurements of `disk`.
struct DiskBench {
  var options: DiskOptions
  var progress: ProgressLine
  /// What is started to open directories: this program.
  var executable = DiskChild.ownExecutable

  /// Entries of 1 KiB beside URLCache, which takes seconds for more.
  private static let fewEntries = 100

  func run(_ workloads: [DiskWorkload]) throws -> Report {
    var report = Report(command: "disk", machine: .current, parameters: Parameters(options))
    var disk = DiskReport()
    for size in options.valueSizes {
      report.measurements += try measure(workloads, valueSize: size)
      if workloads.contains(.churn) { disk.churn.append(try churn(valueSize: size)) }
      if workloads.contains(.cold) { disk.coldGets += try coldGets(valueSize: size) }
    }
    if workloads.contains(.put) || workloads.contains(.get), options.valueSizes.contains(1024) {
      report.measurements += try fewBesideURLCache()
    }
    if workloads.contains(.reopen) {
      let size = options.valueSizes.first { $0 == 16 << 10 } ?? options.valueSizes[0]
      // At a size that takes up a gigabyte or two.
      let keys = options.keys ?? min(100_000, (2 << 30) / size)
      for ending in [OpeningFigure.Ending.closed, .killed] {
        disk.openings.append(try opening(keys: keys, valueSize: size, ending))
      }
    }
    report.disk = disk
    report.ratios = Ratio.all(of: report.measurements)
    report.notes = notes
    return report
  }

  /// Everything that a target is set for.
  func targets() throws -> Report {
    var report = Report(command: "disk", machine: .current, parameters: Parameters(options))
    let size = 16 << 10
    var disk = DiskReport()
    report.measurements = try measure([.put, .get], valueSize: size) + fewBesideURLCache()
    disk.churn = [try churn(valueSize: size)]
    disk.coldGets = try coldGets(valueSize: size)
    let (some, many) = (options.keys ?? 100_000, (options.keys ?? 100_000) * 10)
    disk.openings = [
      try opening(keys: some, valueSize: size, .closed), try opening(keys: many, valueSize: 1024, .closed),
      try opening(keys: many, valueSize: 1024, .killed),
    ]
    report.disk = disk
    report.ratios = Ratio.all(of: report.measurements)
    report.targets = DiskTargetTable(report: report).rows
    report.notes = notes
    return report
  }

  var notes: [String] {
    var notes = [
      "Nobody syncs. Ours writes and reads key and head with each value, and verifies checksums; the raw file does neither."
    ]
    if let library = SQLiteLibrary.shared {
      notes.append("SQLite is \(library.version), the system's, with synchronous=OFF.")
    } else {
      notes.append(
        "SQLite is left out: the system has no libsqlite3. Install libsqlite3-0, or what has it here.")
    }
    return notes
  }

  // MARK: - Operations

  private func measure(_ workloads: [DiskWorkload], valueSize: Int) throws -> [Measurement] {
    var actions: [Action] = []
    if workloads.contains(.get) { actions.append(.diskGet) }
    if workloads.contains(.mixed) { actions.append(.diskMixed) }
    guard workloads.contains(.put) || !actions.isEmpty else { return [] }
    let count = options.keys(ofSize: valueSize)
    progress.show("making \(Format.count(count)) keys and values")
    let data = try DiskData(count: count, valueSize: valueSize, seed: options.seed)
    // Nothing is to be evicted, however often it is overwritten: the raw file and the files keep everything too.
    let capacity = max(256 << 20, 4 * count * (data.entryBytes + 4096))
    let entrants =
      [
        Contest.Entrant(name: .ours, filling: .diskStore, actions: actions) {
          try DiskStoreCache(data, directory: $0 + "/store", capacity: capacity)
        }
      ]
      + options.yardsticks.compactMap { yardstick in
        yardstick.make(data, capacity: capacity).map { (name, make) in
          Contest.Entrant(name: name, filling: .diskStore, actions: actions, make: make)
        }
      }
    return try Contest(
      entrants: entrants, entries: count, valueSize: valueSize, threads: 1, rounds: options.rounds,
      seconds: options.seconds, measuring: .throughput, batch: 10,
      sequences: [
        KeySequence(
          keys: count, distribution: .zipf, exponent: 0.99, seed: options.seed, stream: 0)
      ],
      order: KeySequence.shuffle(keys: count, seed: options.seed),
      // Ours syncs all of it when it is closed.
      mostFillings: 1
    ).run(progress)
  }

  private func fewBesideURLCache() throws -> [Measurement] {
    let few = try StoreOptions.parse([
      "--tier", "both", "--disk-keys", String(min(Self.fewEntries, options.keys ?? Self.fewEntries)),
      "--seconds",
      String(options.seconds), "--rounds", String(options.rounds), "--seed", String(options.seed),
    ])
    return try StoreBench(options: few, measuring: .throughput, progress: progress).onDisk()
  }

  // MARK: - Churn

  private func churn(valueSize: Int) throws -> ChurnFigure {
    let data = try DiskData(count: 1, valueSize: valueSize, seed: options.seed)
    let capacity = options.capacity
    return try TemporaryDirectory.with { directory in
      progress.show("churn, \(Format.bytes(Double(valueSize)))")
      let path = directory + "/store"
      let store = try CacheStore(
        CacheStore.Configuration(memoryCapacity: 0, diskCapacity: capacity, directory: FilePath(path)))
      defer { store.close() }
      var random = SplitMix64(seed: options.seed)
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
        guard store.insert(data.entry(HotData.key(number), 0)).id != nil else {
          throw BenchError.unprepared("the store does not take every entry at capacity")
        }
      }
      // Twice around, and nobody looks.
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
        most = max(most, store.usage.diskBytes, DirectorySize.bytes(path))
        start = MonotonicClock.now
      }
      nanoseconds += MonotonicClock.now - start
      store.flush()
      var written: Double?
      if let before, let after = ProcessIO.now {
        written = Double(after.writtenBytes - before.writtenBytes) / Double(puts * data.entryBytes)
      }
      let live = max(1, store.usage.diskEntries * data.entryBytes)
      return ChurnFigure(
        valueBytes: valueSize, capacityBytes: capacity, puts: puts,
        putsPerSecond: Double(puts) * 1e9 / Double(max(1, nanoseconds)), mostBytes: most,
        liveShare: median(shares) ?? 0, leastLiveShare: shares.min() ?? 0, writtenPerByte: written,
        spaceAmplification: Double(DirectorySize.bytes(path)) / Double(live))
    }
  }

  // MARK: - Cold

  private func coldGets(valueSize: Int) throws -> [ColdGetFigure] {
    guard ProcessIO.now != nil else { return [] }
    let count = min(1000, options.keys(ofSize: valueSize))
    let data = try DiskData(count: count, valueSize: valueSize, seed: options.seed)
    let gets = KeySequence.shuffle(keys: count, seed: options.seed).prefix(200)
    return try TemporaryDirectory.with { directory -> [ColdGetFigure] in
      let path = directory + "/store"
      let ours = try DiskStoreCache(
        data, directory: path, capacity: max(64 << 20, 4 * count * data.entryBytes))
      let raw = try RawFileCache(data, directory: directory)
      defer {
        ours.close()
        raw.close()
      }
      var figures: [ColdGetFigure] = []
      for (name, cache, place) in [
        (CacheName.ours, ours as any BenchCache, path), (.rawFile, raw, directory),
      ] {
        progress.show("cold, \(Format.bytes(Double(valueSize))): \(name.title)")
        guard let put = cache.operation(.diskStore), let get = cache.operation(.diskGet) else { continue }
        for key in 0..<count where !put(key) {
          throw BenchError.unprepared("\(name.title) does not take every entry")
        }
        ours.flush()
        // What the store keeps of its files is known after the first; what is measured is not in the page cache.
        guard get(Int(gets[0])), PageCache.drop(place) else { return figures }
        let looking = ProcessIO.readCallsOfLooking
        var histogram = Loop.histogram()
        guard let before = ProcessIO.now else { return figures }
        for key in gets {
          let start = MonotonicClock.now
          guard get(Int(key)) else {
            throw BenchError.failed(action: .diskGet, cache: name, failures: 1, operations: gets.count)
          }
          histogram.record(MonotonicClock.now - start)
        }
        guard let after = ProcessIO.now else { return figures }
        figures.append(
          ColdGetFigure(
            cache: name, valueBytes: valueSize, gets: gets.count,
            readCallsPerGet: Double(after.readCalls - before.readCalls - looking) / Double(gets.count),
            deviceBytesPerGet: Double(after.deviceReadBytes - before.deviceReadBytes) / Double(gets.count),
            latency: Percentiles(histogram)))
      }
      return figures
    }
  }

  // MARK: - Opening

  private func opening(keys: Int, valueSize: Int, _ ending: OpeningFigure.Ending) throws -> OpeningFigure {
    try TemporaryDirectory.with { directory in
      let path = directory + "/store"
      let what = "\(Format.count(keys)) entries of \(Format.bytes(Double(valueSize))), \(ending.title)"
      progress.show("filling: \(what)")
      let capacity = max(256 << 20, keys * (valueSize + 2048) * 2)
      let filler = try DiskChild(
        executable: executable, directory: path, fill: keys, valueSize: valueSize, capacity: capacity)
      try filler.end(ending)
      var figures: [Double] = []
      var device = 0
      var memory: Double?
      for _ in 0..<max(1, min(5, options.rounds)) {
        progress.show("opening: \(what)")
        guard PageCache.drop(path) else { break }
        let child = try DiskChild(
          executable: executable, directory: path, valueSize: valueSize, capacity: capacity)
        try child.end(ending)
        let found = child.story.entries
        guard found == keys else {
          throw BenchError.unexpected(scenario: what, what: "\(found) of \(keys) entries are there")
        }
        figures.append(Double(child.story.nanoseconds))
        device = child.story.deviceBytes ?? 0
        memory = child.story.allocatedBytes.map { Double($0) / Double(max(1, found)) }
      }
      return OpeningFigure(
        entries: keys, valueBytes: valueSize, ending: ending, nanoseconds: median(figures) ?? 0,
        nanosecondsByRound: figures, deviceBytes: device, memoryBytesPerEntry: memory)
    }
  }
}
