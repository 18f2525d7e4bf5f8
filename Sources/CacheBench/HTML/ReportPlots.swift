/// The pictures that can be made of a report.
struct ReportPlots {
  var report: Report

  /// Titles, and the pictures below each.
  var groups: [(title: String, plots: [String])] {
    [
      ("Throughput", throughput), ("Latency", latency), ("Hit ratio by capacity", hitRatios),
      ("Memory", memory), ("End to end", session),
    ]
  }

  /// One picture for each action at each number of entries: by threads where there are several, else bars.
  private var throughput: [String] {
    var alone: [Bars.Bar] = []
    var pictures: [String] = []
    for (title, some) in sets(.throughput) {
      let threads = Set(some.map(\.threads))
      let isAlone = Set(some.map(\.cache)).count == 1
      guard threads.count == 1 else {
        pictures.append(byThreads(title, some))
        continue
      }
      let bars = some.map { one in
        Bars.Bar(
          name: isAlone ? title : one.cache.title, color: one.cache.color, value: one.operationsPerSecond,
          label: Format.rate(one.operationsPerSecond))
      }
      if isAlone {
        alone += bars
      } else {
        let suffix = threads.first.map { $0 > 1 ? ", \(Format.count($0)) threads" : "" } ?? ""
        pictures.append(Bars(title: title + suffix, bars: bars).html)
      }
    }
    if !alone.isEmpty { pictures.append(Bars(title: "HTTPCacheEngine alone", bars: alone).html) }
    return pictures
  }

  private func byThreads(_ title: String, _ some: [Measurement]) -> String {
    let lines = CacheName.allCases.compactMap { cache -> Plot.Line? in
      let own = some.filter { $0.cache == cache }.sorted { $0.threads < $1.threads }
      guard !own.isEmpty else { return nil }
      return Plot.Line(
        name: cache.title, color: cache.color,
        points: own.map { (Double($0.threads), $0.operationsPerSecond) }, isDashed: cache.isFloor)
    }
    return Plot(
      title: title, xTitle: "threads", yTitle: "operations per second",
      x: .steps(some.map { Double($0.threads) }, label: Format.whole),
      y: .linear(some.map(\.operationsPerSecond), fromZero: true, label: Format.shortRate), lines: lines
    ) { line, x, y in "\(line.name), threads \(Format.whole(x)): \(Format.rate(y))" }.html
  }

  private var latency: [String] {
    var alone: [Plot.Line] = []
    var pictures: [String] = []
    for (title, some) in sets(.latency) {
      var lines = some.compactMap { one -> Plot.Line? in
        guard let curve = one.latencyCurve, !curve.isEmpty else { return nil }
        return Plot.Line(
          name: one.cache.title, color: one.cache.color,
          // Nothing is faster than the clock can tell.
          points: curve.map { ($0.percent, Double(max(1, $0.nanoseconds))) }, isDashed: one.cache.isFloor)
      }
      if lines.count == 1 {
        lines[0].name = title
        lines[0].color = CacheName.allCases[alone.count % CacheName.allCases.count].color
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
      y: .logarithmic(lines.flatMap { $0.points.map(\.y) }, label: Format.shortDuration), lines: lines,
      hasDots: false
    ) { line, x, y in "\(line.name): \(x) % took at most \(Format.duration(y))" }.html
  }

  private var hitRatios: [String] {
    var seen: [String] = []
    for one in report.replays where !seen.contains(one.trace + one.sizes.rawValue) {
      seen.append(one.trace + one.sizes.rawValue)
    }
    return seen.flatMap { set -> [String] in
      let some = report.replays.filter { $0.trace + $0.sizes.rawValue == set }
      guard let first = some.first else { return [] }
      let of = first.sizes == .unit ? "share of the distinct keys" : "share of the distinct bytes"
      func plot(_ title: String, _ ratio: (Replay) -> Double) -> String {
        let lines = ReplayPolicy.allCases.compactMap { policy -> Plot.Line? in
          let own = some.filter { $0.policy == policy }.sorted { $0.capacityShare < $1.capacityShare }
          guard !own.isEmpty else { return nil }
          return Plot.Line(
            name: policy.title, color: policy.color, points: own.map { ($0.capacityShare, ratio($0)) },
            isDashed: policy == .exactLRU)
        }
        return Plot(
          title: "\(first.trace): \(title)", xTitle: of, yTitle: title,
          x: .steps(some.map(\.capacityShare), label: Format.shortPercent),
          y: .linear(some.map(ratio), fromZero: false, label: Format.shortPercent), lines: lines
        ) { line, x, y in
          "\(line.name) at \(Format.shortPercent(x)): \(Format.percent(y))"
        }.html
      }
      return [plot("requests hit", \.hitRatio)]
        + (first.sizes == .real ? [plot("bytes hit", \.byteHitRatio)] : [])
    }
  }

  private var memory: [String] {
    guard let first = report.memory.first else { return [] }
    let bars = report.memory.compactMap { one in
      one.allocatedBeyond.map {
        Bars.Bar(name: one.cache.title, color: one.cache.color, value: $0, label: Format.bytes($0))
      }
    }
    return [
      Bars(
        title:
          "Bytes of an entry beyond its key and its value, by malloc (\(Format.count(first.entries)) entries)",
        bars: bars
      ).html
    ]
  }

  private var session: [String] {
    guard !report.session.isEmpty else { return [] }
    return [
      Bars(
        title: "A request, median",
        bars: report.session.map {
          Bars.Bar(
            name: $0.title, color: $0.kind == .plain ? "floor" : "ours",
            value: Double($0.latency.p50Nanoseconds),
            label: Format.duration(Double($0.latency.p50Nanoseconds)))
        }
      ).html
    ]
  }

  /// The measurements of one kind, by what was done with how many entries, in order.
  private func sets(_ measuring: Measuring) -> [(title: String, some: [Measurement])] {
    Action.allCases.flatMap { action -> [(title: String, some: [Measurement])] in
      let some = report.measurements.filter { $0.action == action && $0.measuring == measuring }
      return Set(some.map(\.entries)).sorted().map { entries in
        let own = some.filter { $0.entries == entries }
        let capacity = own.first?.capacityEntries.map { ", room for \(Format.count($0))" } ?? ""
        let keys = action == .judge ? "" : ", \(Format.count(entries)) keys"
        return (action.title + keys + capacity, own)
      }
    }
  }
}
