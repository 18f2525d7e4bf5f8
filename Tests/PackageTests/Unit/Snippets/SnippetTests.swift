// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import Testing

@Suite("Code in the documentation", .timeLimit(.minutes(5)))
struct SnippetTests {
  @Test("Each block of Swift in the README and the articles is compiled unchanged")
  func areCompiled() throws {
    let snippets = try Snippet.all()
    #expect(snippets.count > 20)
    let files = try FileManager.default.contentsOfDirectory(
      at: Snippet.folder, includingPropertiesForKeys: nil)
    if ProcessInfo.processInfo.environment["HTTPCACHE_WRITE_SNIPPETS"] != nil {
      for file in files { try FileManager.default.removeItem(at: file) }
      for snippet in snippets {
        let file = Snippet.folder.appendingPathComponent(snippet.name + ".swift")
        try snippet.source.write(to: file, atomically: true, encoding: .utf8)
      }
      return
    }
    var compiled: [String: String] = [:]
    for file in files {
      compiled[file.deletingPathExtension().lastPathComponent] = try String(contentsOf: file, encoding: .utf8)
    }
    #expect(Set(compiled.keys) == Set(snippets.map(\.name)), "run: make snippets")
    for snippet in snippets {
      #expect(compiled[snippet.name] == snippet.source, "\(snippet.name) differs; run: make snippets")
    }
  }
}
