// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Rows of cells, as text: the first columns to the left, figures to the right.
package struct Table {
  package var title: String
  package var header: [String]
  package var rows: [[String]]
  /// Number of columns, from the first, that are text.
  package var textColumns: Int
  /// The name of a style of the page.
  package var style: String?

  package init(
    title: String, header: [String], rows: [[String]] = [], textColumns: Int = 1, style: String? = nil
  ) {
    (self.title, self.header, self.rows) = (title, header, rows)
    (self.textColumns, self.style) = (textColumns, style)
  }

  package var text: String {
    let lines = [header] + rows
    let widths = header.indices.map { column in
      lines.map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
    }
    func line(_ cells: [String]) -> String {
      var text = ""
      for (column, width) in widths.enumerated() {
        let cell = column < cells.count ? cells[column] : ""
        let padding = String(repeating: " ", count: width - cell.count)
        text += (column == 0 ? "" : "  ") + (column < textColumns ? cell + padding : padding + cell)
      }
      while text.last == " " { text.removeLast() }
      return text
    }
    let rule = String(repeating: "-", count: widths.reduce(0, +) + 2 * max(0, widths.count - 1))
    return ([title, line(header), rule] + rows.map(line)).joined(separator: "\n") + "\n"
  }
}

extension Report {
  private typealias Column = (title: String, text: (Measurement) -> String)
  private typealias Layout = (title: String, textColumns: Int, columns: [Column])

  /// All tables except that of the targets.
  package var tables: [Table] {
    Measurement.Kind.allCases.compactMap { kind in
      let rows = inOrder(kind)
      guard !rows.isEmpty else { return nil }
      let (title, textColumns, columns) = layout(kind)
      return Table(
        title: title, header: columns.map(\.title), rows: rows.map { row in columns.map { $0.text(row) } },
        textColumns: textColumns)
    }
  }

  private func figures(_ metrics: KeyValuePairs<String, Metric>) -> [Column] {
    metrics.map { title, metric in (title, { $0.text(metric) }) }
  }

  private func layout(_ kind: Measurement.Kind) -> Layout {
    let action: Column = ("", { $0.title })
    let contender: Column = ("", { $0.contender.rawValue })
    let entries: Column = ("entries", { $0.text(.capacityEntries, .entries) })
    switch kind {
    case .throughput:
      let overhead: Column = (
        "overhead",
        {
          $0[.bytesOfHead] == nil ? "" : "\($0.text(.bytesBeyondKeyAndBody)) (head \($0.text(.bytesOfHead)))"
        }
      )
      let columns = figures([
        "threads": .threads, "operations": .operationsPerSecond, "time each": .nanoseconds,
        "processor time": .processorNanoseconds, "hits": .hitRatio,
      ])
      return (
        "Throughput (medians of the rounds)", 2, [action, contender, entries] + columns + [overhead]
      )
    case .latency:
      let columns = figures([
        "p50": .p50Nanoseconds, "p90": .p90Nanoseconds, "p99": .p99Nanoseconds, "p99.9": .p999Nanoseconds,
        "max": .maxNanoseconds, "hits": .hitRatio,
      ])
      let clock = Format.nanoseconds.text(machine.clockNanoseconds)
      return (
        "Latency (each includes reading the clock: \(clock))", 2, [action, contender, entries] + columns
      )
    case .ratio:
      let own: Column = (
        "",
        { one in
          one.action.rawValue + (one.contender == .oursS3FIFO ? ", S3-FIFO" : "")
            + (one.label.map { ", " + Printable.text($0) } ?? "")
            + (one[.valueBytes] == nil ? "" : ", " + one.text(.valueBytes))
        }
      )
      let other: Column = (
        "",
        { one in
          guard let other = one.against else { return "" }
          let name = other.contender.rawValue + (other.label.map { " (\(Printable.text($0)))" } ?? "")
          return name + (other.action == one.action ? "" : " (\(other.action.rawValue))")
        }
      )
      let basis: Column = ("by", { $0.against?.basis.title ?? "" })
      let verdict: Column = (
        "",
        { $0.isSeparated == false ? "not separated" : $0.isMet.map { $0 ? "met" : "MISSED" } ?? "" }
      )
      let columns = [own, other] + figures(["entries": .entries, "threads": .threads]) + [basis]
      let rounds: KeyValuePairs<String, Metric> = ["least": .leastTimesAsFast, "greatest": .mostTimesAsFast]
      let hasRounds = measurements.contains { $0[.leastTimesAsFast] != nil }
      return (
        "Speed of HTTPCacheEngine compared with", 2,
        columns + figures(["times": .timesAsFast, "target": .target]) + (hasRounds ? figures(rounds) : [])
          + [verdict]
      )
    case .session:
      let columns = figures([
        "requests": .requests, "reached the origin": .originRequests,
        "processor time": .processorNanoseconds, "p50": .p50Nanoseconds, "p99": .p99Nanoseconds,
        "max": .maxNanoseconds,
      ])
      return (
        "Sequential requests, end to end, to a server on 127.0.0.1; processor time of the process (medians)",
        1,
        [action] + columns
      )
    case .shared:
      let columns = figures([
        "at a time": .concurrency, "requests": .requests, "time each": .nanoseconds, "p99": .p99Nanoseconds,
        "processor time": .processorNanoseconds, "round trips": .roundTripsPerRequest,
      ])
      return (
        "Responses in Redis on 127.0.0.1; processor time of this process (medians)", 2,
        [action, contender] + columns
      )
    case .fleet:
      let label: Column = ("", { $0.label.map(Printable.text) ?? "" })
      let columns = figures([
        "requests": .requests, "URLs": .distinctKeys, "to the origin": .originRequests,
        "for each URL": .originRequestsPerURL, "requests/s": .operationsPerSecond,
        "p50": .p50Nanoseconds, "p99": .p99Nanoseconds, "max": .maxNanoseconds,
      ])
      return ("Several proxies, on 127.0.0.1", 2, [action, label] + columns)
    case .waiting:
      let name: Column = ("", { $0.name })
      let columns = figures([
        "clients": .concurrency, "requests": .requests, "p50": .p50Nanoseconds, "p90": .p90Nanoseconds,
        "worst": .maxNanoseconds, "of the origin's time": .timesOfOrigin, "to the origin": .originRequests,
        "hits": .hitRatio,
        "failed": .failures,
      ])
      return ("Requests that come at the same time, on 127.0.0.1", 2, [action, name] + columns)
    case .proxy:
      let name: Column = ("", { $0.name })
      let columns = figures([
        "threads": .threads, "connections": .connections, "requests": .operationsPerSecond,
        "processor time": .processorNanoseconds, "p50": .p50Nanoseconds, "p99": .p99Nanoseconds,
      ])
      let areCallsCounted = measurements.contains { $0[.systemCallsPerRequest] != nil }
      return (
        "Requests to a proxy; processor time of its processes for each (medians of the rounds)", 2,
        [action, name] + columns
          + (areCallsCounted ? figures(["system calls": .systemCallsPerRequest]) : [])
      )
    case .replay:
      let trace: Column = ("trace", { Printable.text($0.trace ?? "") })
      let policy: Column = ("policy", { $0.contender.policy })
      let sizes: Column = ("sizes", { $0.action.rawValue })
      let capacity: Column = ("", { $0.text(.capacityBytes, .capacity) })
      let columns = [trace, policy, sizes] + figures(["requests": .requests, "capacity": .capacityShare])
      return (
        "Hit ratios", 3,
        columns + [capacity]
          + figures(["shards": .shards, "hits": .hitRatio, "bytes hit": .byteHitRatio, "time": .seconds])
      )
    case .memory:
      let value: Column = ("value", { Format.count.text($0[.valueBytes] ?? 0) })
      let columns = [contender] + figures(["entries": .entries, "key": .keyBytes]) + [value]
      return (
        "Bytes per entry in addition to its key and value", 1,
        columns
          + figures([
            "by malloc": .allocatedBeyond, "by process growth": .residentBeyond,
            "by its own count": .accountedBeyond,
          ])
      )
    case .scale:
      return (
        "Processor time of an operation by the number of entries", 2,
        [contender, action]
          + figures([
            "entries": .entries, "values": .valueBytes, "processor time": .processorNanoseconds,
            "beyond key and value": .residentBeyond, "memory left": .residentBytes,
            "memory per entry": .memoryBytesPerEntry,
          ])
      )
    case .churn:
      return (
        "Churn at capacity; one put in ten replaces an entry", 1,
        figures([
          "values": .valueBytes, "capacity": .capacityBytes, "maximum used": .mostShare,
          "puts": .operationsPerSecond, "live, median": .liveShare, "live, minimum": .leastLiveShare,
          "used / live": .spaceAmplification, "written / stored": .writtenPerByte,
        ])
      )
    case .cold:
      return (
        "Gets with a cold page cache", 1,
        [contender]
          + figures([
            "values": .valueBytes, "gets": .operations, "reads per get": .readCallsPerGet,
            "device bytes per get": .deviceBytesPerGet, "p50": .p50Nanoseconds, "p99": .p99Nanoseconds,
          ])
      )
    case .reopen:
      let ending: Column = ("previous process", { $0.action.rawValue })
      return (
        "Opening in a new process, page cache cold", 1,
        [ending]
          + figures([
            "entries": .entries, "values": .valueBytes, "time to open": .nanoseconds,
            "device bytes": .deviceBytes, "memory per entry": .memoryBytesPerEntry,
          ])
      )
    }
  }

  /// Throughput and latency by action and size, with the contenders side by side; all others in the order of
  /// measurement.
  private func inOrder(_ kind: Measurement.Kind) -> [Measurement] {
    let some = measurements.filter { $0.kind == kind }
    guard kind == .throughput || kind == .latency else { return some }
    let (actions, contenders) = (Action.allCases, Contender.allCases)
    func place(_ one: (offset: Int, element: Measurement)) -> [Double] {
      let (row, size) = (one.element, one.element[.valueBytes] ?? 0)
      let (action, contender) = (actions.firstIndex(of: row.action), contenders.firstIndex(of: row.contender))
      return [Double(action ?? 0), size, Double(contender ?? 0), Double(one.offset)]
    }
    return some.enumerated().sorted { place($0).lexicographicallyPrecedes(place($1)) }.map(\.element)
  }
}
