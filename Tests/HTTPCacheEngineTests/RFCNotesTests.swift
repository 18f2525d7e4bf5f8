import Foundation
import Testing

@Suite("RFCNotes.md")
struct RFCNotesTests {
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// The cells of every row that stands for a requirement.
  private static func rows() throws -> [[String]] {
    try String(contentsOf: root.appendingPathComponent("RFCNotes.md"), encoding: .utf8)
      .split(separator: "\n")
      .filter { $0.hasPrefix("| ") && !$0.hasPrefix("| § ") }
      .map { row in
        row.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
          .map { $0.trimmingCharacters(in: .whitespaces) }
      }
  }

  /// The text of all tests.
  private static func testSources() throws -> String {
    let files = FileManager.default.enumerator(
      at: root.appendingPathComponent("Tests"), includingPropertiesForKeys: nil)
    var text = ""
    for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
      if file.lastPathComponent == "RFCNotesTests.swift" { continue }
      text += try String(contentsOf: file, encoding: .utf8)
    }
    return text
  }

  @Test("Every row names a file and a test that exist")
  func namesExist() throws {
    let rows = try Self.rows()
    let tests = try Self.testSources()
    #expect(rows.count > 60)
    for row in rows {
      guard row.count == 5 else {
        Issue.record("not five cells: \(row)")
        continue
      }
      let file = row[2].trimmingCharacters(in: ["`"])
      let exists = FileManager.default.fileExists(
        atPath: Self.root.appendingPathComponent("Sources").appendingPathComponent(file).path)
      #expect(exists, "no file \(file)")
      #expect(tests.contains(row[3]), "no test \(row[3])")
    }
  }
}
