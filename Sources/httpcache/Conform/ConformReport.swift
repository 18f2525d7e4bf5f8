// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The result of a run, as a table or as JSON.
struct ConformReport {
  let reports: [ScenarioRunner.Report]

  init(_ reports: [ScenarioRunner.Report]) {
    self.reports = reports
  }

  /// Whether a scenario failed that every cache must pass.
  var hasRequiredFailure: Bool {
    reports.contains { report in
      if case .failed = report.result { report.scenario.kind == .required } else { false }
    }
  }

  // MARK: - Text

  /// - Parameter showsSteps: whether to show the cache's actions of passed scenarios too.
  func text(showsSteps: Bool = false) -> String {
    var lines = table()
    for report in applicable where showsSteps || isFailure(report) {
      lines.append("")
      lines.append("\(report.scenario.id) (\(report.scenario.kind.rawValue)): \(outcome(report).text)")
      lines.append("  \(report.scenario.name)")
      lines += report.trace.map { "  \($0)" }
    }
    for report in reports where report.result == .notApplicable {
      guard let obstacle = report.trace.first else { continue }
      lines += ["", "\(report.scenario.id) (\(report.scenario.kind.rawValue)): not run: \(obstacle)"]
    }
    return lines.joined(separator: "\n")
  }

  private var applicable: [ScenarioRunner.Report] { reports.filter { $0.result != .notApplicable } }

  /// Whether a scenario failed. A check only records how a cache behaves, so it cannot fail.
  private func isFailure(_ report: ScenarioRunner.Report) -> Bool {
    !report.result.isPass && report.scenario.kind != .check
  }

  private func table() -> [String] {
    var suites: [String] = []
    for report in applicable where !suites.contains(report.suite) { suites.append(report.suite) }
    let rows = suites.map { suite in [suite] + tally(applicable.filter { $0.suite == suite }) }
    let all = [["", "required", "optimal", "check: yes"]] + rows + [["all"] + tally(applicable)]
    let widths = (0..<4).map { column in all.map { $0[column].count }.max() ?? 0 }
    return all.map { row in
      let cells = row.enumerated().map { column, cell in
        let padding = String(repeating: " ", count: widths[column] - cell.count)
        return column == 0 ? cell + padding : padding + cell
      }
      return cells.joined(separator: "  ")
    }
  }

  private func tally(_ reports: [ScenarioRunner.Report]) -> [String] {
    Scenario.Kind.allCases.map { kind in
      let all = reports.filter { $0.scenario.kind == kind }
      return all.isEmpty ? "" : "\(all.filter(\.result.isPass).count)/\(all.count)"
    }
  }

  // MARK: - JSON

  private struct Row: Encodable {
    var suite: String
    var id: String
    var name: String
    var kind: String
    var result: String
    var problem: String?
    var steps: [String]
  }

  func json() throws -> String {
    let rows = reports.map { report in
      let (word, problem, _) = outcome(report)
      return Row(
        suite: report.suite, id: report.scenario.id, name: report.scenario.name,
        kind: report.scenario.kind.rawValue, result: word, problem: problem, steps: report.trace)
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(rows), as: UTF8.self)
  }

  private func outcome(_ report: ScenarioRunner.Report) -> (word: String, problem: String?, text: String) {
    switch report.result {
    case .passed: ("passed", nil, "passed")
    case .failed(let problem): ("failed", problem, problem)
    case .setup(let problem): ("setup", problem, "could not be set up: \(problem)")
    case .dependency(let id): ("dependency", id, "not run, because \(id) did not pass")
    case .notApplicable: ("notApplicable", nil, "not run, because it is for another kind of cache")
    }
  }
}
