extension Report {
  /// The report as tables.
  var text: String {
    var parts = [heading]
    for measuring in [Measuring.throughput, .latency] {
      let some = measurements.filter { $0.measuring == measuring }
      guard !some.isEmpty else { continue }
      parts.append(measuring == .throughput ? throughputTable(some) : latencyTable(some))
    }
    if !ratios.isEmpty { parts.append(ratioTable) }
    if !session.isEmpty { parts.append(sessionTable) }
    let notes = allNotes
    if !notes.isEmpty { parts.append(notes.map { "- " + $0 }.joined(separator: "\n") + "\n") }
    return parts.joined(separator: "\n")
  }

  private var heading: String {
    var lines = ["cache-bench \(command)"]
    lines.append(
      "\(machine.processor ?? machine.architecture), \(machine.cores) cores, "
        + "\(Format.bytes(Double(machine.memoryBytes))), \(machine.operatingSystem), Swift \(machine.swiftCompiler)"
    )
    if let keys = parameters.keys {
      let distribution = parameters.zipfExponent.map { "zipf \($0)" } ?? "uniform"
      var line = "\(Format.count(keys)) keys in memory, "
      if let diskKeys = parameters.diskKeys { line += "\(Format.count(diskKeys)) on disk, " }
      line +=
        "bodies of \(Format.count(parameters.valueBytes)) bytes, \(distribution), threads \(parameters.threads ?? 1)"
      line += ", seed \(parameters.seed ?? 0)"
      lines.append(line)
    }
    if !machine.isOptimized { lines.append("This is a debug build: the figures mean nothing.") }
    return lines.joined(separator: "\n") + "\n"
  }

  private func throughputTable(_ measurements: [Measurement]) -> String {
    var table = Table(
      title: "Throughput (medians of the rounds)",
      header: ["", "", "entries", "operations", "one takes", "hits", "beyond key and body"], textColumns: 2)
    table.rows = Self.inOrder(measurements).map { one in
      [
        one.action.title, one.cache.title, Format.count(one.entries), Format.rate(one.operationsPerSecond),
        Format.duration(one.nanoseconds), one.hitRatio.map(Format.percent) ?? "",
        one.overhead.map {
          Format.bytes($0.bytesBeyondKeyAndBody) + " (head \(Format.bytes($0.bytesOfHead)))"
        } ?? "",
      ]
    }
    return table.text
  }

  private func latencyTable(_ measurements: [Measurement]) -> String {
    var table = Table(
      title: "Latency (reading the clock is a part of each: \(Format.duration(machine.clockNanoseconds)))",
      header: ["", "", "entries", "p50", "p90", "p99", "p99.9", "max", "hits"], textColumns: 2)
    table.rows = Self.inOrder(measurements).map { one in
      let percentiles = one.latency.map {
        [$0.p50Nanoseconds, $0.p90Nanoseconds, $0.p99Nanoseconds, $0.p999Nanoseconds, $0.maxNanoseconds]
      }
      return [one.action.title, one.cache.title, Format.count(one.entries)]
        + (percentiles ?? []).map { Format.duration(Double($0)) }
        + [one.hitRatio.map(Format.percent) ?? ""]
    }
    return table.text
  }

  private var ratioTable: String {
    var table = Table(
      title: "HTTPCacheEngine is so many times as fast as",
      header: ["", "", "entries", "by", "times", "target", ""], textColumns: 2)
    table.rows = ratios.map { ratio in
      let other =
        ratio.yardstick.title
        + (ratio.yardstickAction == ratio.action ? "" : " (\(ratio.yardstickAction.title))")
      return [
        ratio.action.title, other, Format.count(ratio.entries),
        ratio.measuring == .throughput ? "throughput" : "p50", Format.times(ratio.timesAsFast),
        ratio.target.map { "\(Format.times($0))" } ?? "", ratio.isMet.map { $0 ? "met" : "MISSED" } ?? "",
      ]
    }
    return table.text
  }

  private var sessionTable: String {
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
    return table.text
  }

  private var allNotes: [String] {
    var notes = notes
    if ratios.contains(where: { $0.target != nil }) {
      notes.append("Targets are for 10,000 entries of 1 KiB in memory and 100 on disk, on one thread.")
    }
    if measurements.contains(where: { $0.action == .store }) {
      notes.append(
        "'store' fills an empty cache with bodies that are at hand, and in the processor's cache as when they have "
          + "just arrived: nobody copies them but ours those of 512 bytes or less.")
    }
    return notes
  }

  /// By action, and the caches side by side.
  private static func inOrder(_ measurements: [Measurement]) -> [Measurement] {
    Action.allCases.flatMap { action in
      CacheName.allCases.flatMap { cache in
        measurements.filter { $0.action == action && $0.cache == cache }
      }
    }
  }
}
