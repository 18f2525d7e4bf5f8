// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The pictures that can be made of a report.
struct Pictures {
  var report: Report

  /// Titles, and the pictures below each.
  var groups: [(title: String, pictures: [String])] {
    [
      ("Throughput", throughput), ("Latency", latency), ("Hit ratio by capacity", hitRatios),
      (
        "Memory",
        bars(
          .memory, .allocatedBeyond,
          "Bytes of an entry beyond its key and its value, by malloc (\(rows(.memory).first?.text(.entries) ?? "") entries)"
        ) { $0.contender.rawValue }
      ), ("End to end", bars(.session, .p50Nanoseconds, "A request, median") { $0.action.rawValue }),
    ]
  }

  private func rows(_ kind: Measurement.Kind) -> [Measurement] {
    report.measurements.filter { $0.kind == kind }
  }

  private func bars(
    _ kind: Measurement.Kind, _ metric: Metric, _ title: String, _ name: (Measurement) -> String
  ) -> [String] {
    let bars = rows(kind).filter { $0[metric] != nil }.map { bar($0, metric, name($0)) }
    return bars.isEmpty ? [] : [Bars(title: title, bars: bars).html]
  }

  private func bar(_ one: Measurement, _ metric: Metric, _ name: String) -> Bars.Bar {
    Bars.Bar(name: name, color: one.contender.color, value: one[metric] ?? 0, label: one.text(metric))
  }

  /// One picture for each action at each number of entries: by threads where there are several, else bars.
  private var throughput: [String] {
    var alone: [Bars.Bar] = []
    var pictures: [String] = []
    for (title, some) in sets(.throughput) {
      let threads = Set(some.map { $0[.threads] ?? 1 })
      if threads.count > 1 {
        pictures.append(
          plot(
            title, some, x: .threads, y: .operationsPerSecond, xTitle: "threads",
            yTitle: "operations per second", fromZero: true
          ) { $0.rawValue })
      } else if Set(some.map(\.contender)).count == 1 {
        alone += some.map { bar($0, .operationsPerSecond, title) }
      } else {
        let suffix = threads.first.map { $0 > 1 ? ", \(Format.count.text($0)) threads" : "" } ?? ""
        pictures.append(
          Bars(title: title + suffix, bars: some.map { bar($0, .operationsPerSecond, $0.contender.rawValue) })
            .html)
      }
    }
    if !alone.isEmpty { pictures.append(Bars(title: "HTTPCacheEngine alone", bars: alone).html) }
    return pictures
  }

  private var latency: [String] {
    var alone: [Plot.Line] = []
    var pictures: [String] = []
    for (title, some) in sets(.latency) {
      var lines = some.compactMap { one -> Plot.Line? in
        guard let curve = one.latencyCurve, !curve.isEmpty else { return nil }
        return Plot.Line(
          name: one.contender.rawValue, color: one.contender.color,
          // Nothing is faster than the clock can tell.
          points: curve.map { ($0.percent, Double(max(1, $0.nanoseconds))) }, isDashed: one.contender.isFloor)
      }
      if lines.count == 1 {
        lines[0].name = title
        lines[0].color = Contender.allCases[alone.count % 8].color
        alone += lines
      } else if !lines.isEmpty {
        pictures.append(distribution(title, lines))
      }
    }
    if !alone.isEmpty { pictures.append(distribution("HTTPCacheEngine alone", alone)) }
    return pictures
  }

  private func distribution(_ title: String, _ lines: [Plot.Line]) -> String {
    Plot(
      title: title, xTitle: "percent of the operations", yTitle: "took at most", x: .nines,
      y: .logarithmic(lines.flatMap { $0.points.map(\.y) }, label: Format.nanoseconds.mark), lines: lines,
      hasDots: false
    ) { line, x, y in "\(line.name): \(x) % took at most \(Format.nanoseconds.text(y))" }.html
  }

  private var hitRatios: [String] {
    let replays = rows(.replay)
    var seen: [String] = []
    for one in replays where !seen.contains(one.trace ?? "") { seen.append(one.trace ?? "") }
    return seen.flatMap { trace in
      [Action.replayUnits, .replayBytes].flatMap { sizes -> [String] in
        let some = replays.filter { $0.trace == trace && $0.action == sizes }
        guard !some.isEmpty else { return [] }
        let metrics: [(Metric, String)] =
          [(.hitRatio, "requests hit")] + (sizes == .replayBytes ? [(.byteHitRatio, "bytes hit")] : [])
        return metrics.map { metric, what in
          plot(
            "\(trace): \(what)", some, x: .capacityShare, y: metric,
            xTitle: "share of the distinct \(sizes == .replayUnits ? "keys" : "bytes")", yTitle: what,
            fromZero: false
          ) { $0.policy }
        }
      }
    }
  }

  /// A line for each contender.
  private func plot(
    _ title: String, _ some: [Measurement], x: Metric, y: Metric, xTitle: String, yTitle: String,
    fromZero: Bool, name: (Contender) -> String
  ) -> String {
    let lines = Contender.allCases.compactMap { contender -> Plot.Line? in
      let points = some.filter { $0.contender == contender }.map { ($0[x] ?? 0, $0[y] ?? 0) }
      guard !points.isEmpty else { return nil }
      return Plot.Line(
        name: name(contender), color: contender.color, points: points.sorted { $0.0 < $1.0 },
        isDashed: contender.isFloor)
    }
    return Plot(
      title: title, xTitle: xTitle, yTitle: yTitle, x: .steps(some.map { $0[x] ?? 0 }, label: x.unit.mark),
      y: .linear(some.map { $0[y] ?? 0 }, fromZero: fromZero, label: y.unit.mark), lines: lines
    ) { "\($0.name), \(xTitle) \(x.unit.mark($1)): \(y.text($2))" }.html
  }

  /// The measurements of one kind, by what was done with how many entries, in order.
  private func sets(_ kind: Measurement.Kind) -> [(title: String, some: [Measurement])] {
    Action.allCases.flatMap { action -> [(title: String, some: [Measurement])] in
      let some = rows(kind).filter { $0.action == action }
      return Set(some.map { $0[.entries] ?? 0 }).sorted().map { entries in
        let own = some.filter { $0[.entries] ?? 0 == entries }
        let capacity = own.first?[.capacityEntries].map { ", room for \(Format.count.text($0))" } ?? ""
        let keys = action == .judge ? "" : ", \(Format.count.text(entries)) keys"
        return (action.rawValue + keys + capacity, own)
      }
    }
  }
}
