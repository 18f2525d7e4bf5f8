// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// What RFCNotes.md says of itself, compared with what is there.
struct RFCNotesCheck {
  /// Why a row need not have a scenario.
  static let excuses: Set<String> = ["not observable", "concurrency", "adapter", "public suite"]

  /// Paths below Sources.
  var files: Set<String>
  /// The display names of all tests.
  var tests: Set<String>
  /// The ids of all scenarios.
  var scenarios: Set<String>

  /// The cells of every row that stands for a requirement.
  static func rows(of notes: String) -> [[String]] {
    notes.split(separator: "\n")
      .filter { $0.hasPrefix("| ") && !$0.hasPrefix("| § ") }
      .map { row in
        row.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
          .map { $0.trimmingCharacters(in: .whitespaces) }
      }
  }

  /// Everything that is wrong, a sentence each.
  func problems(of notes: String) -> [String] {
    var problems: [String] = []
    var named: Set<String> = []
    for row in Self.rows(of: notes) {
      guard row.count == 5 else {
        problems.append("not five cells: \(row)")
        continue
      }
      let file = row[2].trimmingCharacters(in: ["`"])
      if !files.contains(file) { problems.append("no file \(file)") }
      let cell = TestCell(row[3])
      problems += cell.tests.filter { !tests.contains($0) }.map { "no test \"\($0)\"" }
      problems += cell.scenarios.filter { !scenarios.contains($0) }.map { "no scenario \($0)" }
      named.formUnion(cell.scenarios)
      if cell.scenarios.isEmpty {
        if cell.tests.isEmpty { problems.append("§ \(row[0]), \(row[1]): no test") }
        if !Self.excuses.contains(cell.rest) {
          problems.append("§ \(row[0]), \(row[1]): neither a scenario nor why there is none")
        }
      } else if !cell.rest.isEmpty {
        problems.append("§ \(row[0]), \(row[1]): what is \(cell.rest)?")
      }
    }
    problems += scenarios.subtracting(named).sorted().map { "no row names the scenario \($0)" }
    return problems
  }
}

/// A cell with names of tests in quotes, scenarios in backticks, and perhaps an excuse in parentheses.
struct TestCell {
  var tests: [String] = []
  var scenarios: [String] = []
  /// What is left, without its parentheses.
  var rest = ""

  init(_ text: String) {
    var left = text[...]
    while let first = left.first {
      if first == "\"" || first == "`", let end = left.dropFirst().firstIndex(of: first) {
        let name = String(left[left.index(after: left.startIndex)..<end])
        if first == "\"" {
          tests.append(name)
        } else if name.hasPrefix("scenario:") {
          scenarios.append(String(name.dropFirst("scenario:".count)))
        } else {
          rest += name
        }
        left = left[left.index(after: end)...]
      } else {
        rest.append(first)
        left = left.dropFirst()
      }
    }
    rest = rest.trimmingCharacters(in: .whitespaces)
    if rest.hasPrefix("("), rest.hasSuffix(")") { rest = String(rest.dropFirst().dropLast()) }
  }
}
