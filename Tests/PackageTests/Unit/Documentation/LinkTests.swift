// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import TestSupport
import Testing

@Suite("Links in the documentation", .timeLimit(.minutes(5)))
struct LinkTests {
  @Test("Every relative link leads to a file, and to a heading if it names one")
  func links() throws {
    var links = 0
    for page in try Self.pages() {
      for link in Self.text(of: page).matches(of: /\]\(([^()\s]+)\)|(?:src|srcset|href)="([^"]+)"/) {
        let destination = String(link.1 ?? link.2 ?? "")
        guard !destination.contains(":") else { continue }
        links += 1
        let parts = destination.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(
          String.init)
        let target =
          parts[0].isEmpty
          ? page : page.deletingLastPathComponent().appendingPathComponent(parts[0]).standardizedFileURL
        let place = "\(page.path.dropFirst(Repository.root.path.count + 1)): \(destination)"
        #expect(FileManager.default.fileExists(atPath: target.path), "\(place)")
        if parts.count == 2 {
          #expect(Self.anchors(of: target).contains(parts[1]), "\(place)")
        }
      }
    }
    #expect(links > 500)
  }

  @Test("Repeated headings have numbered anchors, and code has none")
  func anchors() async throws {
    try await withTemporaryFolder { folder in
      let page = folder.appendingPathComponent("page.md")
      let text = "# One: `two`, three\n\n```sh\n# comment\n```\n\n## A\n\n## A\n\n[a](b.md)\n"
      try text.write(to: page, atomically: true, encoding: .utf8)
      #expect(Self.anchors(of: page) == ["one-two-three", "a", "a-1"])
      #expect(!Self.text(of: page).contains("comment"))
    }
  }

  /// The Markdown files of the repository, without what builds leave.
  private static func pages() throws -> [URL] {
    let files = FileManager.default.enumerator(at: Repository.root, includingPropertiesForKeys: nil)
    var pages: [URL] = []
    while let file = files?.nextObject() as? URL {
      if file.lastPathComponent == ".build" || file.lastPathComponent == ".git" {
        files?.skipDescendants()
      } else if file.pathExtension == "md" {
        pages.append(file.standardizedFileURL)
      }
    }
    return pages
  }

  /// A page without its blocks of code.
  private static func text(of page: URL) -> String {
    var isCode = false
    let lines = ((try? String(contentsOf: page, encoding: .utf8)) ?? "").components(separatedBy: "\n")
    return lines.filter { line in
      if line.hasPrefix("```") {
        isCode.toggle()
        return false
      }
      return !isCode
    }.joined(separator: "\n")
  }

  /// The names of the headings in links, as GitHub makes them.
  private static func anchors(of page: URL) -> Set<String> {
    var anchors: Set<String> = []
    for match in text(of: page).matches(of: /^#{1,6} +(.*)$/.anchorsMatchLineEndings()) {
      let name = String(
        match.1.lowercased().compactMap { character -> Character? in
          if character == " " { return "-" }
          return character.isLetter || character.isNumber || "-_".contains(character) ? character : nil
        })
      var unique = name
      var number = 0
      while !anchors.insert(unique).inserted {
        number += 1
        unique = "\(name)-\(number)"
      }
    }
    return anchors
  }
}
