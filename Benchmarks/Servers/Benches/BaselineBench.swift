// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Foundation

/// Compares this build with another one, such as an older commit. Both run `workload` as processes, in turns, so that
/// other work on the machine slows both down.
struct BaselineBench {
  var own: BenchProgram
  var baseline: BenchProgram
  var label: String
  /// The arguments of `workload`.
  var words: [String]
  var options: RoundOptions
  var progress: ProgressLine

  /// Returns a measurement of each contender of this build, of our contenders of the other build, and the ratios of ours:
  /// the medians of all rounds.
  func run() throws -> [Measurement] {
    var (own, others): ([[Measurement]], [[Measurement]]) = ([], [])
    for round in 0..<options.rounds {
      progress.show("round \(round + 1) of \(options.rounds): this build")
      own.append(try measurements(by: self.own))
      progress.show("round \(round + 1) of \(options.rounds): the baseline")
      others.append(try measurements(by: baseline))
    }
    return try (own.first ?? []).flatMap { first in
      let rounds = own.compactMap { $0.first(like: first) }
      var result = [Measurement(mediansOf: rounds)]
      let theirs = others.compactMap { $0.first(like: first) }
      guard first.contender.isOurs, theirs.count == rounds.count else { return result }
      var other = Measurement(mediansOf: theirs)
      other.label = label
      result.append(other)
      let ratios = zip(rounds, theirs.map { $0.labelled(label) }).compactMap { $0.ratio(to: $1) }
      guard var ratio = ratios.first else {
        throw BenchError.unexpected(what: first.title, found: "no time of an operation")
      }
      ratio[.timesAsFast] = median(ratios.compactMap { $0[.timesAsFast] })
      ratio.byRound = ratios.compactMap { $0[.timesAsFast] }
      return result + [ratio]
    }
  }

  /// One round.
  private func measurements(by program: BenchProgram) throws -> [Measurement] {
    let report = try program.run(arguments) { try AnyReport($0) }
    guard report.isOptimized == Machine.optimized else {
      throw BenchError.unprepared(
        "\(Printable.text(program.path)) is \(report.isOptimized ? "optimized" : "a debug build"), and this program is "
          + "not; build both with '-c release'")
    }
    return report.measurements
  }

  private var arguments: [String] {
    let seconds = options.seconds / Double(options.rounds)
    return ["workload"] + words + [
      "--rounds", "1", "--seconds", String(seconds), "--seed", String(options.seed),
    ]
  }
}

/// The throughput and the latency in a report of this version, or of format 2, which gives figures other places and
/// actions other names.
struct AnyReport {
  var isOptimized: Bool
  var measurements: [Measurement]

  /// - Throws: `DecodingError` if it is no such report.
  init(_ json: Data) throws {
    let content = try JSONDecoder().decode(Content.self, from: json)
    guard content.format == Report.currentFormat || content.format == 2 else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: [], debugDescription: "it has format \(content.format)"))
    }
    isOptimized = content.machine.isOptimized
    measurements = content.measurements.compactMap(\.measurement)
  }

  static func sentence(_ error: DecodingError) -> String {
    if case .dataCorrupted(let context) = error { return context.debugDescription }
    return "it is another document"
  }

  private struct Content: Decodable {
    struct Machine: Decodable { var isOptimized: Bool }

    var format: Int
    var machine: Machine
    var measurements: [Row]
  }

  private struct Row: Decodable {
    private enum CodingKeys: String, CodingKey {
      case kind, measuring, action, contender, cache, figures, latency
    }

    /// `nil` for one of another kind, or of a contender or an action that this version does not know.
    var measurement: Measurement?

    init(from decoder: any Decoder) throws {
      let row = try decoder.container(keyedBy: CodingKeys.self)
      let kind = try row.decode(String.self, forKey: row.contains(.kind) ? .kind : .measuring)
      let action = try row.decode(String.self, forKey: .action)
      let contender = try row.decode(String.self, forKey: row.contains(.contender) ? .contender : .cache)
      guard let kind = Measurement.Kind(rawValue: kind), [.throughput, .latency].contains(kind),
        let action = Self.value(Action.self, action), let contender = Self.value(Contender.self, contender)
      else { return }
      // Format 2 has them beside the names, and percentiles in an object of their own.
      var figures = try Self.figures(row.contains(.figures) ? row.superDecoder(forKey: .figures) : decoder)
      if row.contains(.latency) { figures.merge(try Self.figures(row.superDecoder(forKey: .latency))) { $1 } }
      if figures[.nanoseconds] == nil {
        figures[.nanoseconds] = figures[.p50Nanoseconds] ?? figures[.operationsPerSecond].map { 1e9 / $0 }
      }
      measurement = Measurement(kind, action, contender, figures)
    }

    private static func figures(_ decoder: any Decoder) throws -> [Metric: Double] {
      let values = try decoder.container(keyedBy: MetricKey.self)
      return Dictionary(
        uniqueKeysWithValues: values.allKeys.compactMap { key in
          (try? values.decode(Double.self, forKey: key)).map { (key.metric, $0) }
        })
    }

    /// Format 2 has the names of the cases.
    private static func value<Value>(_ type: Value.Type, _ name: String) -> Value?
    where Value: RawRepresentable<String> & CaseIterable {
      Value(rawValue: name) ?? Value.allCases.first { String(describing: $0) == name }
    }
  }

  private struct MetricKey: CodingKey {
    var metric: Metric
    var stringValue: String { metric.rawValue }
    var intValue: Int? { nil }

    init?(stringValue: String) {
      guard let metric = Metric(rawValue: stringValue) else { return nil }
      self.metric = metric
    }

    init?(intValue: Int) { nil }
  }
}

extension Measurement {
  /// - Parameter rounds: the results of the same measurement, at least one.
  fileprivate init(mediansOf rounds: [Measurement]) {
    self = rounds[0]
    for metric in figures.keys { self[metric] = median(rounds.compactMap { $0[metric] }) }
    byRound = rounds.compactMap { $0[.operationsPerSecond] }
  }

  fileprivate func labelled(_ label: String) -> Measurement {
    var copy = self
    copy.label = label
    return copy
  }
}

extension [Measurement] {
  /// Returns the measurement of the same thing.
  fileprivate func first(like other: Measurement) -> Measurement? {
    first(other.action, other.contender, other.kind, other.figures.filter { $0.key == .threads })
  }
}
