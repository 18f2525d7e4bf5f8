// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension Report {
  private typealias Column = (title: String, text: (Measurement) -> String)
  private typealias Layout = (title: String, textColumns: Int, columns: [Column])

  /// All tables but that of the targets.
  var tables: [Table] {
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
    let action: Column = (
      "", { $0.action.rawValue + ($0.action.isOnDisk ? ", " + $0.text(.valueBytes) : "") }
    )
    let contender: Column = ("", { $0.contender.rawValue })
    let entries: Column = ("entries", { $0.text(.capacityEntries, .entries) })
    switch kind {
    case .throughput:
      let overhead: Column = (
        "beyond key and body",
        {
          $0[.bytesOfHead] == nil ? "" : "\($0.text(.bytesBeyondKeyAndBody)) (head \($0.text(.bytesOfHead)))"
        }
      )
      let columns = figures([
        "threads": .threads, "operations": .operationsPerSecond, "one takes": .nanoseconds,
        "of processor": .processorNanoseconds, "hits": .hitRatio,
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
        "Latency (reading the clock is a part of each: \(clock))", 2, [action, contender, entries] + columns
      )
    case .ratio:
      let own: Column = (
        "",
        { one in
          one.action.rawValue + (one.contender == .oursS3FIFO ? ", S3-FIFO" : "")
            + (one[.valueBytes] == nil ? "" : ", " + one.text(.valueBytes))
        }
      )
      let other: Column = (
        "",
        { one in
          guard let other = one.against else { return "" }
          return other.contender.rawValue + (other.action == one.action ? "" : " (\(other.action.rawValue))")
        }
      )
      let basis: Column = ("by", { $0.against?.basis.title ?? "" })
      let verdict: Column = ("", { $0.isMet.map { $0 ? "met" : "MISSED" } ?? "" })
      let columns = [own, other] + figures(["entries": .entries, "threads": .threads]) + [basis]
      return (
        "HTTPCacheEngine is so many times as fast as", 2,
        columns + figures(["times": .timesAsFast, "target": .target]) + [verdict]
      )
    case .session:
      let columns = figures([
        "requests": .requests, "reached the origin": .originRequests, "p50": .p50Nanoseconds,
        "p99": .p99Nanoseconds, "max": .maxNanoseconds,
      ])
      return ("Requests end to end, one after another, to a server on 127.0.0.1", 1, [action] + columns)
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
        "Bytes for each entry beyond its key and its value", 1,
        columns
          + figures([
            "by malloc": .allocatedBeyond, "by growth of the process": .residentBeyond,
            "by its own account": .accountedBeyond,
          ])
      )
    case .churn:
      return (
        "Churn at capacity, one put in ten in place of another", 1,
        figures([
          "values": .valueBytes, "capacity": .capacityBytes, "most used": .mostShare,
          "puts": .operationsPerSecond, "live, median": .liveShare, "live, least": .leastLiveShare,
          "used by live": .spaceAmplification, "written by stored": .writtenPerByte,
        ])
      )
    case .cold:
      return (
        "Gets with a cold page cache", 1,
        [contender]
          + figures([
            "values": .valueBytes, "gets": .operations, "reads, each": .readCallsPerGet,
            "from the device, each": .deviceBytesPerGet, "p50": .p50Nanoseconds, "p99": .p99Nanoseconds,
          ])
      )
    case .reopen:
      let ending: Column = ("ended by being", { $0.action.rawValue })
      return (
        "Opening, page cache cold, in a process of its own", 1,
        [ending]
          + figures([
            "entries": .entries, "values": .valueBytes, "opens in": .nanoseconds,
            "from the device": .deviceBytes, "memory, each entry": .memoryBytesPerEntry,
          ])
      )
    }
  }

  /// Throughput and latency by action and size, and the contenders side by side; all else as it was measured.
  private func inOrder(_ kind: Measurement.Kind) -> [Measurement] {
    let some = measurements.filter { $0.kind == kind }
    guard kind == .throughput || kind == .latency else { return some }
    let sizes = Set(some.map { $0[.valueBytes] ?? 0 }).sorted()
    return Action.allCases.flatMap { action in
      sizes.flatMap { size in
        Contender.allCases.flatMap { contender in
          some.filter {
            $0.action == action && $0.contender == contender && $0[.valueBytes] ?? 0 == size
          }
        }
      }
    }
  }
}
