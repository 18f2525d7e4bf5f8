// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A bound that the package must keep, and the measured figure.
package struct Target: Codable, Hashable, Sendable {
  package enum Bound: String, Codable, Sendable { case atMost, atLeast }

  package var what: String
  package var bound: Bound
  package var limit: Double
  package var unit = Format.times
  /// `nil` if it was not measured.
  package var figure: Double?
  package var note: String?

  package init(
    _ what: String, _ bound: Bound, _ limit: Double, in unit: Format = .times, _ figure: Double?,
    _ note: String? = nil
  ) {
    (self.what, self.bound, self.limit, self.unit) = (what, bound, limit, unit)
    (self.figure, self.note) = (figure, note)
  }

  package var isMet: Bool? { figure.map { bound == .atMost ? $0 <= limit : $0 >= limit } }
  package var verdict: String { isMet.map { $0 ? "met" : "NOT MET" } ?? "not measured" }
}

/// Two measurements side by side. Everything is `nil` if one of them was not measured.
package struct Pair {
  package var one: Measurement?
  package var other: Measurement?

  package init(one: Measurement?, other: Measurement?) { (self.one, self.other) = (one, other) }

  /// The speed as a multiple: by processor time on one thread, and by the wall clock on more.
  package var times: Double? { other.flatMap { one?.ratio(to: $0)?[.timesAsFast] } }
  /// The costs of both.
  package var note: String? {
    both { "\(Format.nanoseconds.text($0.cost)) and \(Format.nanoseconds.text($1.cost))" }
  }

  /// The ratio of a figure of both.
  package func ratio(_ metric: Metric) -> Double? {
    guard let one = one?[metric], let other = other?[metric], other > 0 else { return nil }
    return one / other
  }

  package func both<Value>(_ make: (Measurement, Measurement) -> Value) -> Value? {
    one.flatMap { one in other.map { make(one, $0) } }
  }
}

package func shown(_ figure: Double?, _ format: Format = .times) -> String { figure.map(format.text) ?? "?" }

extension Report {
  package var targetTable: Table {
    var table = Table(
      title: "Targets", header: ["what", "target", "", "figure"], textColumns: 4, style: "targets")
    table.rows = targets.map { one in
      [
        one.what, (one.bound == .atMost ? "at most " : "at least ") + one.unit.text(one.limit), one.verdict,
        (one.figure.map(one.unit.text) ?? "") + (one.note.map { " (\($0))" } ?? ""),
      ].map(Printable.text)
    }
    return table
  }
}
