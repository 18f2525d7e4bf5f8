// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// Compares RFCNotes.md and the pages in Documentation/RFC with the sources, and with each other.
struct RFCNotesCheck {
  /// Why a row need not have a scenario.
  static let excuses: Set<String> = ["not observable", "concurrency", "adapter", "public suite"]

  /// Paths below Sources.
  var files: Set<String>
  /// All tests, as `Suite.function`.
  var tests: Set<String>
  /// The ids of all scenarios.
  var scenarios: Set<String>
  /// Whether a file exists, by its path in the repository.
  var exists: @Sendable (String) -> Bool

  /// Everything that is wrong, a sentence each.
  func problems(index: NotesPage, pages: [NotesPage]) -> [String] {
    rowProblems(pages) + indexProblems(index, pages) + linkProblems([index] + pages)
  }

  /// The names in the rows that do not exist, and the scenarios without a row.
  func rowProblems(_ pages: [NotesPage]) -> [String] {
    var problems: [String] = []
    var named: Set<String> = []
    for section in pages.flatMap(\.sections) {
      for row in section.rows {
        guard row.count == 3 else {
          problems.append("not three cells: \(row)")
          continue
        }
        problems += codeProblems(row[1])
        let cell = TestCell(row[2])
        problems += cell.tests.filter { !tests.contains($0) }.map { "no test \($0)" }
        problems += cell.scenarios.filter { !scenarios.contains($0) }.map { "no scenario \($0)" }
        named.formUnion(cell.scenarios)
        if cell.scenarios.isEmpty {
          if cell.tests.isEmpty { problems.append("\(section.heading), \(row[0]): no test") }
          if !Self.excuses.contains(cell.rest) {
            problems.append("\(section.heading), \(row[0]): neither a scenario nor why there is none")
          }
        } else if !cell.rest.isEmpty {
          problems.append("\(section.heading), \(row[0]): what is \(cell.rest)?")
        }
      }
    }
    return problems + scenarios.subtracting(named).sorted().map { "no row names the scenario \($0)" }
  }

  /// A code cell is a link from a page to a file below Sources, by its path there.
  private func codeProblems(_ cell: String) -> [String] {
    guard let link = NotesPage.Link.all(in: cell).first, "[\(link.text)](\(link.destination))" == cell else {
      return ["not a link: \(cell)"]
    }
    guard files.contains(link.text) else { return ["no file \(link.text)"] }
    return link.destination == "../../Sources/\(link.text)"
      ? [] : ["\(link.text) links to \(link.destination)"]
  }

  /// The index has a row for each page, with the number of its rows; no page has two sections with one anchor.
  private func indexProblems(_ index: NotesPage, _ pages: [NotesPage]) -> [String] {
    var problems: [String] = []
    for page in pages {
      var anchors: Set<String> = []
      for section in page.sections where !anchors.insert(section.anchor).inserted {
        problems.append("two headings have the anchor \(page.path)#\(section.anchor)")
      }
    }
    let counts = Dictionary(pages.map { ($0.path, $0.sections.reduce(0) { $0 + $1.rows.count }) }) { $0 + $1 }
    var listed: Set<String> = []
    for row in index.sections.flatMap(\.rows) {
      guard row.count == 2, let link = NotesPage.Link.all(in: row[0]).first else {
        problems.append("not a row of the index: \(row)")
        continue
      }
      listed.insert(link.destination)
      guard let count = counts[link.destination] else {
        problems.append("no page \(link.destination)")
        continue
      }
      if row[1] != String(count) {
        problems.append("\(link.destination) has \(count) requirements, not \(row[1])")
      }
    }
    return problems + Set(counts.keys).subtracting(listed).sorted().map { "not in the index: \($0)" }
  }

  /// Relative links lead to files that exist, and to headings where the file is one of the pages.
  private func linkProblems(_ pages: [NotesPage]) -> [String] {
    let anchors = Dictionary(pages.map { ($0.path, Set($0.sections.map(\.anchor))) }) { $0.union($1) }
    return pages.flatMap { page in
      page.links.compactMap { link in
        if link.destination.hasPrefix("https://") { return nil }
        let parts = link.destination.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts[0].isEmpty ? page.path : NotesPage.resolve(String(parts[0]), from: page.path)
        let isFound = parts.count < 2 || anchors[path]?.contains(String(parts[1])) != false
        return isFound && exists(path) ? nil : "\(page.path): no \(link.destination)"
      }
    }
  }
}

/// A cell with tests and scenarios in backticks, and perhaps an excuse in parentheses.
struct TestCell {
  var tests: [String] = []
  var scenarios: [String] = []
  /// What is left, without its parentheses.
  var rest = ""

  init(_ text: String) {
    var left = text[...]
    while let first = left.first {
      if first == "`", let end = left.dropFirst().firstIndex(of: first) {
        let name = String(left[left.index(after: left.startIndex)..<end])
        if name.hasPrefix("scenario:") {
          scenarios.append(String(name.dropFirst("scenario:".count)))
        } else {
          tests.append(name)
        }
        left = left[left.index(after: end)...]
      } else {
        if first != "," { rest.append(first) }
        left = left.dropFirst()
      }
    }
    rest = rest.trimmingCharacters(in: .whitespaces)
    if rest.hasPrefix("("), rest.hasSuffix(")") { rest = String(rest.dropFirst().dropLast()) }
  }
}
