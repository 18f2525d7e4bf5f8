// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import Testing

@Suite("RFCNotes.md", .timeLimit(.minutes(10)))
struct RFCNotesTests {
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

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

  /// The literal that is the first argument, if it is one.
  private static func displayName(atStartOf arguments: String) -> String? {
    let literal = arguments.drop { $0.isWhitespace }
    guard literal.first == "\"" else { return nil }
    var name = ""
    var isEscaped = false
    for character in literal.dropFirst() {
      if !isEscaped, character == "\"" { return name }
      isEscaped = !isEscaped && character == "\\"
      if !isEscaped { name.append(character) }
    }
    return nil
  }

  /// The display names of all tests.
  private static func tests() throws -> Set<String> {
    var tests: Set<String> = []
    for file in files(below: "Tests", suffix: ".swift").values {
      let source = try String(contentsOf: file, encoding: .utf8)
      for piece in source.components(separatedBy: "@Test(").dropFirst() {
        if let name = displayName(atStartOf: piece) { tests.insert(name) }
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
    for file in files(below: "Tests/ConformanceTests/Scenarios", suffix: ".json").values {
      let suites = try JSONDecoder().decode([Suite].self, from: Data(contentsOf: file))
      scenarios.formUnion(suites.flatMap(\.tests).map(\.id))
    }
    return RFCNotesCheck(
      files: Set(files(below: "Sources", suffix: ".swift").keys), tests: try tests(), scenarios: scenarios)
  }

  @Test("Every row names a file, a test and scenarios that exist, and every scenario has a row")
  func namesExist() throws {
    let notes = try String(contentsOf: Self.root.appendingPathComponent("RFCNotes.md"), encoding: .utf8)
    #expect(RFCNotesCheck.rows(of: notes).count > 140)
    #expect(try Self.check().problems(of: notes) == [])
  }

  @Test("Every row of the table in Documentation/URLSession.md names a test that exists")
  func documentedTestsExist() throws {
    let document = try String(
      contentsOf: Self.root.appendingPathComponent("Documentation/URLSession.md"), encoding: .utf8)
    let tests = try Self.tests()
    let rows = RFCNotesCheck.rows(of: document).filter { $0.count == 7 && !$0[0].isEmpty }
    #expect(rows.count > 35)
    for row in rows {
      let names = TestCell(row[6]).tests
      #expect(!names.isEmpty, "\(row[0])")
      for name in names { #expect(tests.contains(name), "\(row[0])") }
    }
  }

  @Test(
    "A row that names what is not there is found",
    arguments: [
      ("| 1 | a | `A.swift` | \"it is so\" `scenario:s` | |", []),
      ("| 1 | a | `A.swift` | `scenario:s` | choice |", []),
      ("| 1 | a | `A.swift` | \"it is so\" (concurrency) | |\n| 1 | b | `A.swift` | `scenario:s` | |", []),
      ("| 1 | a | `B.swift` | \"it is so\" `scenario:s` | |", ["no file B.swift"]),
      ("| 1 | a | `A.swift` | \"it is\" `scenario:s` | |", ["no test \"it is\""]),
      (
        "| 1 | a | `A.swift` | `scenario:t` | |",
        ["no scenario t", "no row names the scenario s"]
      ),
      (
        "| 1 | a | `A.swift` | \"it is so\" | |\n| 1 | b | `A.swift` | `scenario:s` | |",
        ["§ 1, a: neither a scenario nor why there is none"]
      ),
      (
        "| 1 | a | `A.swift` | (too dull) | |\n| 1 | b | `A.swift` | `scenario:s` (concurrency) | |",
        [
          "§ 1, a: no test", "§ 1, a: neither a scenario nor why there is none",
          "§ 1, b: what is concurrency?",
        ]
      ),
      (
        "| 1 | a | `A.swift` | `scenario:s` |",
        [#"not five cells: ["1", "a", "`A.swift`", "`scenario:s`"]"#, "no row names the scenario s"]
      ),
    ])
  func broken(notes: String, problems: [String]) {
    let check = RFCNotesCheck(files: ["A.swift"], tests: ["it is so"], scenarios: ["s"])
    #expect(check.problems(of: "| § | Requirement |\n|---|\n" + notes) == problems)
  }
}
