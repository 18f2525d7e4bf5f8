// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness

/// The pictures for a report.
struct Pictures {
  var report: Report

  /// A measurement as a bar or a line.
  private typealias Named = (name: String, color: String, one: Measurement)

  /// Titles, with the pictures of each.
  var groups: [(title: String, pictures: [Picture])] {
    let entries = rows(.memory).first?.text(.entries) ?? ""
    return [
      ("Throughput", sets(.throughput, throughput)), ("Latency", sets(.latency, latency)),
      ("Hit ratio by capacity", hitRatios), ("By the number of entries", scales),
      (
        "Memory",
        bars(
          "Bytes of an entry in addition to its key and value, by malloc (\(entries) entries)",
          .allocatedBeyond,
          rows(.memory).map { ($0.contender.rawValue, $0.contender.color, $0) })
      ),
      (
        "End to end",
        bars(
          "A request, median", .p50Nanoseconds,
          rows(.session).map { ($0.action.rawValue, $0.contender.color, $0) })
      ),
      ("Proxy", proxies),
    ]
  }

  /// A picture for each case, with the servers side by side.
  private var proxies: [Picture] {
    Action.allCases.flatMap { action in
      bars(
        "\(action.rawValue): processor time of a request to a proxy", .processorNanoseconds,
        rows(.proxy).filter { $0.action == action }.map { ($0.name, $0.color, $0) })
    }
  }

  private func rows(_ kind: Measurement.Kind) -> [Measurement] {
    report.measurements.filter { $0.kind == kind }
  }

  private func bars(_ title: String, _ metric: Metric, _ some: [Named]) -> [Picture] {
    let bars = some.compactMap { name, color, one in
      one[metric].map { Bars.Bar(name: name, color: color, value: $0, label: one.text(metric)) }
    }
    return bars.isEmpty ? [] : [.bars(Bars(title: title, bars: bars))]
  }

  /// Returns a picture for the actions at each size, if there is something to compare, and one for all others.
  private func sets(
    _ kind: Measurement.Kind, _ draw: (_ title: String, _ some: [Named]) -> [Picture]
  ) -> [Picture] {
    var alone: [Named] = []
    var pictures: [Picture] = []
    // Another build has the same contenders; its figures are in the tables.
    for (title, some) in groups(rows(kind).filter { $0.label == nil }) {
      if some.count == 1 {
        // Bars have names next to them; lines need colours.
        let color = kind == .latency ? Contender.allCases[alone.count % 8] : some[0].contender
        alone.append((title, color.color, some[0]))
      } else {
        pictures += draw(title, some.map { ($0.contender.rawValue, $0.contender.color, $0) })
      }
    }
    return pictures + (alone.isEmpty ? [] : draw("HTTPCacheEngine alone", alone))
  }

  /// Groups measurements by action, number of entries and size, in order.
  private func groups(_ rows: [Measurement]) -> [(title: String, some: [Measurement])] {
    func split(_ rows: [Measurement], by metric: Metric) -> [[Measurement]] {
      let values = Set(rows.map { $0[metric] ?? 0 }).sorted()
      return values.map { value in rows.filter { $0[metric] ?? 0 == value } }
    }
    let sets = Action.allCases.flatMap { action in
      split(rows.filter { $0.action == action }, by: .entries).flatMap { split($0, by: .valueBytes) }
    }
    return sets.map { some in
      let one = some[0]
      let keys = one.action == .judge ? nil : one[.entries].map { ", \(Format.count.text($0)) keys" }
      let capacity = one[.capacityEntries].map { ", capacity \(Format.count.text($0))" }
      return (one.title + (keys ?? "") + (capacity ?? ""), some)
    }
  }

  /// Draws lines by threads if there are several, otherwise bars.
  private func throughput(_ title: String, _ some: [Named]) -> [Picture] {
    let threads = Set(some.map { $0.one[.threads] ?? 1 })
    guard threads.count == 1 else {
      return [
        plot(
          title, some.map(\.one), x: .threads, y: .operationsPerSecond, xTitle: "threads",
          yTitle: "operations per second", fromZero: true
        ) { $0.rawValue }
      ]
    }
    let suffix = threads.first.map { $0 > 1 ? ", \(Format.count.text($0)) threads" : "" } ?? ""
    return bars(title + suffix, .operationsPerSecond, some)
  }

  private func latency(_ title: String, _ some: [Named]) -> [Picture] {
    let lines = some.compactMap { name, color, one -> Plot.Line? in
      guard let curve = one.latencyCurve, !curve.isEmpty else { return nil }
      // Nothing is faster than the clock can measure.
      let points = curve.map { ($0.percent, Double(max(1, $0.nanoseconds))) }
      return Plot.Line(name: name, color: color, points: points, isDashed: one.contender.isFloor)
    }
    guard !lines.isEmpty else { return [] }
    let times = lines.flatMap { $0.points.map(\.y) }
    return [
      .plot(
        Plot(
          title: title, xTitle: "percent of the operations", yTitle: "took at most", x: .nines,
          y: .logarithmic(times, label: Format.nanoseconds.mark), lines: lines, hasDots: false
        ) { line, x, y in "\(line.name): \(x) % took at most \(Format.nanoseconds.text(y))" })
    ]
  }

  private var hitRatios: [Picture] {
    let replays = rows(.replay)
    let traces = replays.map { $0.trace ?? "" }
    return traces.indices.filter { traces.firstIndex(of: traces[$0]) == $0 }.flatMap { index in
      [
        (Action.replayUnits, Metric.hitRatio, "requests hit", "keys"),
        (.replayBytes, .hitRatio, "requests hit", "bytes"),
        (.replayBytes, .byteHitRatio, "bytes hit", "bytes"),
      ].compactMap { sizes, metric, what, unit in
        let some = replays.filter { $0.trace ?? "" == traces[index] && $0.action == sizes }
        return some.isEmpty
          ? nil
          : plot(
            "\(traces[index]): \(what)", some, x: .capacityShare, y: metric,
            xTitle: "share of the distinct \(unit)", yTitle: what, fromZero: false
          ) { $0.policy }
      }
    }
  }

  /// A picture of the time of each action, on a logarithmic scale, and of the memory of an entry.
  private var scales: [Picture] {
    Action.allCases.flatMap { action in
      [
        (Metric.processorNanoseconds, "processor time"),
        (.residentBeyond, "bytes of an entry beyond its key and value"),
        (.memoryBytesPerEntry, "bytes of memory for an entry"),
      ].compactMap { metric, what in
        let some = rows(.scale).filter { $0.action == action && $0[metric] != nil }
        let isTime = metric == .processorNanoseconds
        let title = action.rawValue + (action.isOnDisk ? "" : ", in memory") + (isTime ? "" : ": \(what)")
        return some.isEmpty
          ? nil
          : plot(
            title, some, x: .entries, y: metric, xTitle: "entries", yTitle: what,
            fromZero: isTime ? nil : true
          ) { $0.policy }
      }
    }
  }

  /// A line for each contender.
  ///
  /// - Parameter fromZero: `nil` for a logarithmic scale.
  private func plot(
    _ title: String, _ some: [Measurement], x: Metric, y: Metric, xTitle: String, yTitle: String,
    fromZero: Bool?, name: (Contender) -> String
  ) -> Picture {
    let lines = Contender.allCases.compactMap { contender -> Plot.Line? in
      let points = some.filter { $0.contender == contender }.map { ($0[x] ?? 0, $0[y] ?? 0) }
      guard !points.isEmpty else { return nil }
      return Plot.Line(
        name: name(contender), color: contender.color, points: points.sorted { $0.0 < $1.0 },
        isDashed: contender.isFloor)
    }
    let values = some.map { $0[y] ?? 0 }
    return .plot(
      Plot(
        title: title, xTitle: xTitle, yTitle: yTitle, x: .steps(some.map { $0[x] ?? 0 }, label: x.unit.mark),
        y: fromZero.map { .linear(values, fromZero: $0, label: y.unit.mark) }
          ?? .logarithmic(values, label: y.unit.mark), lines: lines
      ) { "\($0.name), \(xTitle) \(x.unit.mark($1)): \(y.text($2))" })
  }
}
