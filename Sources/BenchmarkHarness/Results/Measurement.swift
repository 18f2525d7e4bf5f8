// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Histogram

/// The result of one action of one contender: a row of a report, and of one of its tables.
package struct Measurement: Codable, Hashable, Sendable {
  /// The table.
  package enum Kind: String, CaseIterable, Codable, Sendable {
    /// Many operations between two readings of the clock.
    case throughput
    /// The clock is read before and after each operation.
    case latency
    /// The speed as a multiple of another contender's in the same run.
    case ratio
    case session, replay, memory, churn, cold, reopen
    /// Operations in memory by the number of entries.
    case scale
    /// Requests to a proxy that runs as a process.
    case proxy
    /// Responses in a shared tier.
    case shared
    /// Several proxies with a shared tier.
    case fleet
    /// Requests to a proxy that wait for each other.
    case waiting
  }

  /// The reference of a ratio.
  package struct Yardstick: Codable, Hashable, Sendable {
    package enum Basis: String, Codable, Sendable {
      /// The processor's time, with one thread.
      case processorTime
      /// The wall clock by operations.
      case throughput
      /// The median of the latencies.
      case p50

      package var title: String { self == .processorTime ? "processor time" : rawValue }
    }

    package var contender: Contender
    /// The label of another build or configuration.
    package var label: String?
    /// The same action, or the nearest that the yardstick supports.
    package var action: Action
    package var basis: Basis

    package init(contender: Contender, label: String? = nil, action: Action, basis: Basis) {
      (self.contender, self.label, self.action, self.basis) = (contender, label, action, basis)
    }
  }

  /// A percentage of the operations, and the maximum time that they took.
  package struct LatencyPoint: Codable, Hashable, Sendable {
    package var percent: Double
    package var nanoseconds: UInt64
  }

  package var kind: Kind
  package var action: Action
  package var contender: Contender
  /// The label of another build of this package, or of another configuration, which is measured beside it.
  package var label: String?
  /// The name of a trace.
  package var trace: String?
  package var figures: [Metric: Double] = [:]
  /// The main figure of each round: operations per second, nanoseconds of an opening, or processor time of a request to
  /// a proxy.
  package var byRound: [Double] = []
  package var latencyCurve: [LatencyPoint]?
  package var against: Yardstick?

  package init(_ kind: Kind, _ action: Action, _ contender: Contender, _ figures: [Metric: Double] = [:]) {
    (self.kind, self.action, self.contender, self.figures) = (kind, action, contender, figures)
  }

  /// - Parameter rounds: the rounds to sum up: medians of the rates, percentiles of all latencies.
  package init(_ kind: Kind, _ action: Action, _ contender: Contender, rounds: [Round]) {
    self.init(kind, action, contender)
    let all = rounds.reduce(into: Round()) { $0.append($1) }
    byRound = rounds.map(\.operationsPerSecond)
    self[.operations] = Double(all.operations)
    self[.operationsPerSecond] = median(byRound) ?? 0
    if !action.onlyStores, all.operations > 0 {
      self[.hitRatio] = Double(all.successes) / Double(all.operations)
    }
    if kind == .throughput {
      let busy = rounds.filter { $0.processorNanoseconds > 0 && $0.operations > 0 }
      self[.processorNanoseconds] = median(
        busy.map { Double($0.processorNanoseconds) / Double($0.operations) })
    }
    add(all)
    let rate = self[.operationsPerSecond] ?? 0
    self[.nanoseconds] = self[.p50Nanoseconds] ?? (rate > 0 ? 1e9 / rate : 0)
  }

  package subscript(metric: Metric) -> Double? {
    get { figures[metric] }
    set { figures[metric] = newValue }
  }

  /// The first existing figure of these, as text.
  package func text(_ metrics: Metric...) -> String {
    metrics.first { figures[$0] != nil }.flatMap { metric in figures[metric].map(metric.text) } ?? ""
  }

  /// The processor time of one operation, or its wall-clock time if that is unknown.
  package var cost: Double { self[.processorNanoseconds] ?? self[.nanoseconds] ?? 0 }

  /// Whether a ratio says which one is faster: in every round it was the same. `nil` without several rounds.
  package var isSeparated: Bool? {
    guard let least = self[.leastTimesAsFast], let most = self[.mostTimesAsFast], least < most else {
      return nil
    }
    return least > 1 || most < 1
  }

  package var isMet: Bool? { self[.target].map { (self[.timesAsFast] ?? 0) >= $0 } }

  /// The contender, with the label of another build or configuration.
  package var name: String { contender.rawValue + (label.map { " (\(Printable.text($0)))" } ?? "") }

  /// The action, with the size of the values if there are several.
  package var title: String { action.rawValue + (action.isBySize ? ", " + text(.valueBytes) : "") }

  private static let percents = [
    0.0, 1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99, 99.5, 99.8, 99.9, 99.95, 99.98, 99.99,
  ]

  /// Adds percentiles, if each operation was timed.
  package mutating func add(_ round: Round) {
    guard let latencies = round.latencies else { return }
    for (metric, percent) in [
      (Metric.p50Nanoseconds, 50.0), (.p90Nanoseconds, 90), (.p99Nanoseconds, 99), (.p999Nanoseconds, 99.9),
    ] { self[metric] = Double(latencies.valueAtPercentile(percent)) }
    self[.maxNanoseconds] = Double(latencies.max)
    latencyCurve = Self.percents.map {
      LatencyPoint(percent: $0, nanoseconds: latencies.valueAtPercentile($0))
    }
  }
}

extension [Measurement] {
  /// Returns the first measurement of a kind, an action and a contender, with these figures.
  package func first(
    _ action: Action, _ contender: Contender, _ kind: Measurement.Kind = .throughput,
    _ figures: [Metric: Double] = [:]
  ) -> Measurement? {
    first { one in
      one.action == action && one.contender == contender && one.kind == kind
        && figures.allSatisfy { one[$0.key] == $0.value }
    }
  }

  /// Each of our measurements compared with each yardstick that did the same, or the nearest to it, under the same
  /// conditions.
  package var ratios: [Measurement] {
    let timed = filter { $0.kind == .throughput || $0.kind == .latency }
    let ours = Action.allCases.flatMap { action in
      timed.filter { $0.contender.isOurs && $0.action == action }
    }
    return ours.flatMap { own in
      let conditions = own.figures.filter { [.entries, .valueBytes, .threads].contains($0.key) }
      let nearest: [Action: Action] = own.contender == .ours ? [.decide: .get, .judgeAndStore: .store] : [:]
      return own.yardsticks.compactMap { yardstick in
        timed.first(nearest[own.action] ?? own.action, yardstick, own.kind, conditions)
          .flatMap { own.ratio(to: $0) }
      }
    }
  }

  /// The proxies of this package compared with the others, and this build with other builds.
  package var proxyRatios: [Measurement] {
    let all = filter { $0.kind == .proxy }
    return all.filter { $0.contender == .ours }.flatMap { own in
      all.filter { other in
        let isOtherBuild = other.contender == .ours && own.label == nil && other.label != nil
        return other.action == own.action && (isOtherBuild || other.contender != .ours)
      }.compactMap { own.ratio(to: $0) }
    }
  }
}

extension Measurement {
  /// Minimum speeds of some actions as multiples of URLCache's, with 10,000 entries of 1 KiB in memory, and 100 on
  /// disk. URLCache slows down with every entry: the target of a store is for a cache that holds all entries.
  private static let targets: [Action: Double] = [.get: 5, .storeAgain: 10, .diskGet: 100, .diskStore: 300]

  /// The contenders to compare one of ours with. The floor supports only lookups.
  fileprivate var yardsticks: [Contender] {
    switch contender {
    case .oursS3FIFO, .oursHyperbolic: [.ours]
    case .swiftHash: [.libraryHash]
    default:
      [.urlCache, .dictionary, .nodes, .nsCache, .rawFile, .files, .sqlite, .lmdb, .rocksDB]
        + (action.onlyStores ? [] : [.floor, .floorApart])
    }
  }

  /// Returns the speed as a multiple of another's; `nil` if one of them has no figures.
  package func ratio(to other: Measurement) -> Measurement? {
    // For several threads, use the wall clock: waiting threads take no processor time.
    let isOfProcessor =
      (kind == .proxy || kind == .throughput && self[.threads] == 1)
      && self[.processorNanoseconds] != nil && other[.processorNanoseconds] != nil
    let metric = isOfProcessor ? Metric.processorNanoseconds : .nanoseconds
    guard let own = self[metric], let others = other[metric], own > 0, others > 0 else { return nil }
    var ratio = Measurement(.ratio, action, contender, [.timesAsFast: others / own])
    if kind == .proxy, byRound.count == other.byRound.count {
      // Round by round: other work on the machine slows both down in the same round.
      let rounds = zip(byRound, other.byRound).filter { $0.0 > 0 }.map { $0.1 / $0.0 }
      ratio[.timesAsFast] = median(rounds) ?? others / own
      (ratio[.leastTimesAsFast], ratio[.mostTimesAsFast]) = (rounds.min(), rounds.max())
    }
    ratio.label = label
    ratio.against = Yardstick(
      contender: other.contender, label: other.label, action: other.action,
      basis: isOfProcessor ? .processorTime : kind == .throughput ? .throughput : .p50)
    for metric in [Metric.entries, .threads] { ratio[metric] = self[metric] }
    if action.isBySize { ratio[.valueBytes] = self[.valueBytes] }
    if other.contender == .urlCache, kind == .throughput { ratio[.target] = Self.targets[action] }
    return ratio
  }
}
