extension Report {
  /// The report as tables.
  var text: String {
    var lines = ["cache-bench \(command)"] + about
    if !machine.isOptimized { lines.append("This is a debug build: the figures mean nothing.") }
    var parts = [lines.map { Printable.text($0) }.joined(separator: "\n") + "\n"]
    parts += tables.map(\.text)
    if !targets.isEmpty { parts.append(targetTable.text) }
    let notes = allNotes
    if !notes.isEmpty { parts.append(notes.map { "- " + Printable.text($0) }.joined(separator: "\n") + "\n") }
    return parts.joined(separator: "\n")
  }

  /// What was measured, and on which machine.
  var about: [String] {
    var lines = [
      "\(machine.processor ?? machine.architecture), \(machine.cores) cores, "
        + "\(Format.bytes(Double(machine.memoryBytes))), \(machine.operatingSystem), Swift \(machine.swiftCompiler)"
    ]
    if let sizes = parameters.diskValueBytes {
      lines.append(
        "values of \(sizes.map { Format.bytes(Double($0)) }.joined(separator: ", ")) on disk, zipf 0.99, seed "
          + "\(parameters.seed ?? 1)")
    }
    guard let keys = parameters.keys else { return lines }
    var parts = ["\(Format.count(keys)) keys in memory"]
    if let diskKeys = parameters.diskKeys { parts.append("\(Format.count(diskKeys)) on disk") }
    if let bytes = parameters.valueBytes { parts.append("bodies of \(Format.count(bytes)) bytes") }
    if let distribution = parameters.distribution {
      parts.append(parameters.zipfExponent.map { "zipf \($0)" } ?? distribution.rawValue)
    }
    if let threads = parameters.threads { parts.append("threads \(threads)") }
    if let share = parameters.capacityShare {
      parts.append("room for \(Format.shortPercent(share)) where it is bounded")
    }
    if let seed = parameters.seed { parts.append("seed \(seed)") }
    lines.append(parts.joined(separator: ", "))
    return lines
  }

  /// All tables but that of the targets.
  var tables: [Table] {
    var tables: [Table] = []
    for measuring in [Measuring.throughput, .latency] {
      let some = measurements.filter { $0.measuring == measuring }
      guard !some.isEmpty else { continue }
      tables.append(measuring == .throughput ? throughputTable(some) : latencyTable(some))
    }
    if !ratios.isEmpty { tables.append(ratioTable) }
    if !session.isEmpty { tables.append(sessionTable) }
    if !replays.isEmpty { tables.append(replayTable) }
    if !memory.isEmpty { tables.append(memoryTable) }
    if let disk { tables += disk.tables }
    return tables
  }

  private func throughputTable(_ measurements: [Measurement]) -> Table {
    var table = Table(
      title: "Throughput (medians of the rounds)",
      header: [
        "", "", "entries", "threads", "operations", "one takes", "of processor", "hits",
        "beyond key and body",
      ], textColumns: 2)
    table.rows = Self.inOrder(measurements).map { one in
      [
        Self.title(of: one), one.cache.title, Format.count(one.capacityEntries ?? one.entries),
        Format.count(one.threads), Format.rate(one.operationsPerSecond), Format.duration(one.nanoseconds),
        one.processorNanoseconds.map(Format.duration) ?? "", one.hitRatio.map(Format.percent) ?? "",
        one.overhead.map {
          Format.bytes($0.bytesBeyondKeyAndBody) + " (head \(Format.bytes($0.bytesOfHead)))"
        } ?? "",
      ]
    }
    return table
  }

  private func latencyTable(_ measurements: [Measurement]) -> Table {
    var table = Table(
      title: "Latency (reading the clock is a part of each: \(Format.duration(machine.clockNanoseconds)))",
      header: ["", "", "entries", "p50", "p90", "p99", "p99.9", "max", "hits"], textColumns: 2)
    table.rows = Self.inOrder(measurements).map { one in
      let percentiles = one.latency.map {
        [$0.p50Nanoseconds, $0.p90Nanoseconds, $0.p99Nanoseconds, $0.p999Nanoseconds, $0.maxNanoseconds]
      }
      return [Self.title(of: one), one.cache.title, Format.count(one.capacityEntries ?? one.entries)]
        + (percentiles ?? []).map { Format.duration(Double($0)) }
        + [one.hitRatio.map(Format.percent) ?? ""]
    }
    return table
  }

  private var ratioTable: Table {
    var table = Table(
      title: "HTTPCacheEngine is so many times as fast as",
      header: ["", "", "entries", "threads", "by", "times", "target", ""], textColumns: 2)
    table.rows = ratios.map { ratio in
      let other =
        ratio.yardstick.title
        + (ratio.yardstickAction == ratio.action ? "" : " (\(ratio.yardstickAction.title))")
      return [
        ratio.action.title + (ratio.cache == .oursS3FIFO ? ", S3-FIFO" : "")
          + (ratio.valueBytes.map { ", " + Format.bytes(Double($0)) } ?? ""), other,
        Format.count(ratio.entries), Format.count(ratio.threads), ratio.basis.title,
        Format.times(ratio.timesAsFast), ratio.target.map { "\(Format.times($0))" } ?? "",
        ratio.isMet.map { $0 ? "met" : "MISSED" } ?? "",
      ]
    }
    return table
  }

  private var sessionTable: Table {
    var table = Table(
      title: "Requests end to end, one after another, to a server on 127.0.0.1",
      header: ["", "requests", "reached the origin", "p50", "p99", "max"])
    table.rows = session.map { scenario in
      [
        scenario.title, Format.count(scenario.requests), Format.count(scenario.originRequests),
        Format.duration(Double(scenario.latency.p50Nanoseconds)),
        Format.duration(Double(scenario.latency.p99Nanoseconds)),
        Format.duration(Double(scenario.latency.maxNanoseconds)),
      ]
    }
    return table
  }

  private var replayTable: Table {
    var table = Table(
      title: "Hit ratios",
      header: [
        "trace", "policy", "sizes", "requests", "capacity", "", "shards", "hits", "bytes hit", "time",
      ],
      textColumns: 3)
    table.rows = replays.map { one in
      [
        Printable.text(one.trace), one.policy.title, one.sizes.rawValue, Format.count(one.requests),
        Format.percent(one.capacityShare),
        one.sizes == .unit ? Format.count(one.capacity) : Format.bytes(Double(one.capacity)),
        one.shards.map { Format.count($0) } ?? "", Format.percent(one.hitRatio),
        Format.percent(one.byteHitRatio), Format.duration(one.seconds * 1e9),
      ]
    }
    return table
  }

  private var memoryTable: Table {
    var table = Table(
      title: "Bytes for each entry beyond its key and its value",
      header: ["", "entries", "key", "value", "by malloc", "by growth of the process", "by its own account"])
    table.rows = memory.map { one in
      [one.cache.title, Format.count(one.entries), Format.count(one.keyBytes), Format.count(one.valueBytes)]
        + [one.allocatedBeyond, one.residentBeyond, one.accountedBeyond].map { bytes in
          bytes.map { Format.bytes($0) } ?? ""
        }
    }
    return table
  }

  private var targetTable: Table {
    var table = Table(title: "Targets", header: ["what", "target", "", "figure"], textColumns: 4)
    table.rows = targets.map { one in
      [
        Printable.text(one.what), Printable.text(one.targetText), one.verdict,
        Printable.text(one.figureText) + (one.note.map { " (" + Printable.text($0) + ")" } ?? ""),
      ]
    }
    return table
  }

  var allNotes: [String] {
    var notes = notes
    if ratios.contains(where: { $0.target != nil }) {
      notes.append("Targets are for 10,000 entries of 1 KiB in memory and 100 on disk, on one thread.")
    }
    if measurements.contains(where: { $0.action == .store }) {
      notes.append(
        "'store' fills an empty cache with bodies that are at hand, and in the processor's cache as when they have "
          + "just arrived: nobody copies them but ours those of 4 KiB or less.")
    }
    return notes
  }

  private static func title(of one: Measurement) -> String {
    one.action.title + (one.action.isOnDisk ? ", " + Format.bytes(Double(one.valueBytes)) : "")
  }

  /// By action and size, and the caches side by side.
  private static func inOrder(_ measurements: [Measurement]) -> [Measurement] {
    let sizes = Set(measurements.map(\.valueBytes)).sorted()
    return Action.allCases.flatMap { action in
      sizes.flatMap { size in
        CacheName.allCases.flatMap { cache in
          measurements.filter { $0.action == action && $0.cache == cache && $0.valueBytes == size }
        }
      }
    }
  }
}
