// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import TestSupport
import Testing

@testable import TestTool

@Suite("The list of public declarations", .timeLimit(.minutes(10)))
struct PublicAPITests {
  // The graphs of one system: elsewhere, some declarations are other ones.
  #if os(Linux)
    @Test(
      "Documentation/API has a file for each library, each is up to date, and each declaration has a comment")
    func upToDate() async throws {
      try await withTemporaryFolder { folder in
        let script = Repository.root.appendingPathComponent("scripts/symbol-graphs.sh").path
        let graphs = folder.appendingPathComponent("graphs")
        let end = try await Command(words: ["bash", script, graphs.path], timeLimit: .seconds(300)).run()
        try #require(end.status == 0, "\(end.output)")
        let digest = APIDigest(root: Repository.root, graphs: graphs)
        let modules = try digest.modules()
        let files = try FileManager.default.contentsOfDirectory(atPath: digest.folder.path)
        #expect(files.sorted() == modules.map { $0 + ".txt" })
        #expect(modules.count > 9)
        for module in modules {
          let undocumented = try digest.graphs(of: module).flatMap(\.undocumented)
          #expect(undocumented.isEmpty, "\(module)")
          let committed = (try? String(contentsOf: digest.file(of: module), encoding: .utf8)) ?? ""
          let changes = try digest.text(of: module).split(separator: "\n")
            .difference(from: committed.split(separator: "\n"))
            .map { change in
              switch change {
              case .insert(_, let line, _): "+ \(line)"
              case .remove(_, let line, _): "- \(line)"
              }
            }
          #expect(
            changes.isEmpty,
            """
            The public API of \(module) differs from Documentation/API/\(module).txt. \
            If the change is intended, run: make api
            \(changes.joined(separator: "\n"))
            """)
        }
      }
    }
  #endif

  @Test("A line names its declaration in full, with conformances, requirements and constraints")
  func lines() throws {
    func symbol(
      _ id: String, _ kind: String, _ path: [String], _ fragments: [(String, String)], more: String = ""
    ) -> String {
      let text = fragments.map { #"{"kind": "\#($0.0)", "spelling": "\#($0.1)"}"# }.joined(separator: ", ")
      let names = path.map { "\"\($0)\"" }.joined(separator: ", ")
      return """
        {"identifier": {"precise": "\(id)"}, "kind": {"identifier": "swift.\(kind)"}, "pathComponents": [\(names)],
         "declarationFragments": [\(text)]\(more)}
        """
    }
    let symbols = [
      symbol("a", "struct", ["A"], [("keyword", "struct"), ("text", " "), ("identifier", "A")]),
      symbol(
        "b", "init", ["A", "init(c:)"],
        [("keyword", "init"), ("text", "("), ("externalParam", "c"), ("text", ")")],
        more: #", "docComment": {"lines": []}"#),
      symbol(
        "p", "protocol", ["P"],
        [
          ("keyword", "protocol"), ("text", " "), ("identifier", "P"), ("text", " : "),
          ("typeIdentifier", "Q"),
        ]),
      symbol(
        "f", "method", ["P", "f()"],
        [("keyword", "func"), ("text", " "), ("identifier", "f"), ("text", "()")]),
      symbol(
        "g", "method", ["P", "g()"],
        [("keyword", "func"), ("text", "\\n  "), ("identifier", "g"), ("text", "()")],
        more: #", "swiftExtension": {"constraints": [{"kind": "conformance", "lhs": "Self", "rhs": "R"}]}"#),
      symbol("e", "extension", ["O"], [("keyword", "extension"), ("text", " "), ("typeIdentifier", "O")]),
      symbol("d", "extension", ["S"], [("keyword", "extension"), ("text", " "), ("typeIdentifier", "S")]),
    ]
    let relationships = [
      #"{"kind": "conformsTo", "source": "a", "target": "x", "targetFallback": "Swift.Sendable"}"#,
      #"{"kind": "conformsTo", "source": "a", "target": "y", "targetFallback": "Swift.Copyable"}"#,
      #"{"kind": "conformsTo", "source": "a", "target": "p", "targetFallback": "Module.P"}"#,
      #"{"kind": "conformsTo", "source": "e", "target": "p"}"#,
      #"{"kind": "requirementOf", "source": "f", "target": "p"}"#,
    ]
    let json = """
      {"symbols": [\(symbols.joined(separator: ", "))], "relationships": [\(relationships.joined(separator: ", "))]}
      """
    let graph = try JSONDecoder().decode(SymbolGraph.self, from: Data(json.utf8))
    #expect(
      graph.lines == [
        "struct A: P, Sendable", "A.init(c)", "extension O: P", "protocol P",
        "requirement func P.f()", "func P.g() (extension where Self : R)",
      ])
    #expect(graph.undocumented == ["A", "P", "P.f()", "P.g()"])
  }
}
