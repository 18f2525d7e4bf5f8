// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import Testing

@Suite("RFCNotes.md", .timeLimit(.minutes(10)))
struct RFCNotesTests {
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// The files below a folder, by their paths in it.
  private static func files(below folder: String, suffix: String) -> [String: URL] {
    let base = root.appendingPathComponent(folder)
    let all = FileManager.default.enumerator(at: base, includingPropertiesForKeys: nil)
    var files: [String: URL] = [:]
    for case let file as URL in all ?? .init() where file.lastPathComponent.hasSuffix(suffix) {
      files[String(file.path.dropFirst(base.path.count + 1))] = file
    }
    return files
  }

  /// All tests, as `Suite.function`. A suite begins at the start of a line, and so does an extension of one.
  private static func tests() throws -> Set<String> {
    var tests: Set<String> = []
    for file in files(below: "Tests", suffix: ".swift").values {
      var suite = ""
      var isTest = false
      for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
        if let match = line.prefixMatch(of: /(?:[a-z]+ )*(?:struct|class|actor|extension) (\w+)/) {
          suite = String(match.1)
        } else if line.contains("@Test") {
          isTest = true
        }
        if isTest, let match = line.firstMatch(of: /\bfunc (\w+)/) {
          tests.insert("\(suite).\(match.1)")
          isTest = false
        }
      }
    }
    return tests
  }

  private static func check() throws -> RFCNotesCheck {
    struct Suite: Decodable {
      struct Scenario: Decodable { var id: String }
      var tests: [Scenario]
    }
    var scenarios: Set<String> = []
    for file in files(below: "Tests/CommandTests/Unit/Conformance/Scenarios", suffix: ".json").values {
      let suites = try JSONDecoder().decode([Suite].self, from: Data(contentsOf: file))
      scenarios.formUnion(suites.flatMap(\.tests).map(\.id))
    }
    return RFCNotesCheck(
      files: Set(files(below: "Sources", suffix: ".swift").keys), tests: try tests(), scenarios: scenarios,
      exists: { FileManager.default.fileExists(atPath: root.appendingPathComponent($0).path) })
  }

  private static func page(_ path: String) throws -> NotesPage {
    .init(path: path, text: try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8))
  }

  @Test("Every row names an existing file, test and scenarios, and every scenario has a row")
  func namesExist() throws {
    let paths = Self.files(below: "Documentation/RFC", suffix: ".md").keys.sorted()
    let pages = try paths.map { try Self.page("Documentation/RFC/\($0)") }
    #expect(pages.flatMap(\.sections).flatMap(\.rows).count > 260)
    for problem in try Self.check().problems(index: Self.page("RFCNotes.md"), pages: pages) {
      Issue.record("\(problem)")
    }
  }

  /// A page with one section and these rows; `A.swift` stands for a link to it.
  private static func page(rows: String) -> NotesPage {
    let header = "# Page\n\n## §1 One\n\n| Requirement | Code | Test |\n|---|---|---|\n"
    let linked = rows.replacing(/[AB]\.swift/) { "[\($0.output)](../../Sources/\($0.output))" }
    return .init(path: "Documentation/RFC/1.md", text: header + linked)
  }

  private static let small = RFCNotesCheck(
    files: ["A.swift"], tests: ["ATests.isSo"], scenarios: ["s"],
    exists: { ["RFCNotes.md", "Documentation/RFC/1.md", "Sources/A.swift"].contains($0) })

  @Test(
    "The check reports invalid rows and rows that name something missing",
    arguments: [
      ("| a | A.swift | `ATests.isSo`, `scenario:s` |", []),
      ("| a | A.swift | `scenario:s` |", []),
      ("| a | A.swift | `ATests.isSo` (concurrency) |\n| b | A.swift | `scenario:s` |", []),
      ("| a | B.swift | `ATests.isSo`, `scenario:s` |", ["no file B.swift"]),
      ("| a | `A` | `scenario:s` |", ["not a link: `A`"]),
      ("| a | A.swift | `ATests.is`, `scenario:s` |", ["no test ATests.is"]),
      ("| a | A.swift | `scenario:t` |", ["no scenario t", "no row names the scenario s"]),
      (
        "| a | A.swift | `ATests.isSo` |\n| b | A.swift | `scenario:s` |",
        ["§1 One, a: neither a scenario nor why there is none"]
      ),
      (
        "| a | A.swift | (too dull) |\n| b | A.swift | `scenario:s` (concurrency) |",
        [
          "§1 One, a: no test", "§1 One, a: neither a scenario nor why there is none",
          "§1 One, b: what is concurrency?",
        ]
      ),
      (
        "| a | `scenario:s` |",
        [#"not three cells: ["a", "`scenario:s`"]"#, "no row names the scenario s"]
      ),
    ])
  func broken(rows: String, problems: [String]) {
    #expect(Self.small.rowProblems([Self.page(rows: rows)]) == problems)
  }

  @Test(
    "The check reports an index that does not match the pages",
    arguments: [
      ("| [Page](1.md) | 1 |", []),
      ("", ["not in the index: Documentation/RFC/1.md"]),
      ("| [Page](1.md) | 2 |", ["Documentation/RFC/1.md has 1 requirements, not 2"]),
      (
        "| [Page](2.md) | 1 |",
        [
          "no page Documentation/RFC/2.md", "not in the index: Documentation/RFC/1.md",
          "RFCNotes.md: no Documentation/RFC/2.md",
        ]
      ),
      (
        "| §1 One | 1 |",
        [#"not a row of the index: ["§1 One", "1"]"#, "not in the index: Documentation/RFC/1.md"]
      ),
    ])
  func brokenIndex(rows: String, problems: [String]) {
    let header = "# Notes\n\n## Index\n\n| Page | Requirements |\n|---|---|\n"
    let index = NotesPage(
      path: "RFCNotes.md", text: header + rows.replacingOccurrences(of: "](", with: "](Documentation/RFC/"))
    let page = Self.page(rows: "| a | A.swift | `scenario:s` |")
    #expect(Self.small.problems(index: index, pages: [page]) == problems)
  }
}
