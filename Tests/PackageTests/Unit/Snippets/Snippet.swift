// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import TestSupport

/// A block of Swift in the documentation, as a source file that this target compiles.
struct Snippet: Equatable {
  /// The name of the file: the page and the number of the block.
  var name: String
  /// The source: the block's imports, and the rest of it inside a function.
  var source: String

  static let root = Repository.root
  static let folder = root.appendingPathComponent("Tests/PackageTests/Unit/Snippets/Generated")

  /// All code that is compiled: the blocks of the README and of the articles of all catalogues, and the programs of the tutorials.
  static func all() throws -> [Snippet] {
    let sources = root.appendingPathComponent("Sources")
    let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
    let catalogues = (files?.allObjects as? [URL] ?? []).filter { $0.path.contains(".docc/") }.sorted {
      $0.path < $1.path
    }
    let articles = catalogues.filter { $0.pathExtension == "md" }
    let programs = catalogues.filter {
      $0.pathExtension == "swift" && !$0.lastPathComponent.hasSuffix("Package.swift")
    }
    return try ([root.appendingPathComponent("README.md")] + articles).flatMap(snippets)
      + programs.map(program)
  }

  /// A program of a tutorial.
  private static func program(_ file: URL) throws -> Snippet {
    let lines = try String(contentsOf: file, encoding: .utf8)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let name = file.deletingPathExtension().lastPathComponent.replacing("-", with: "_")
    return Snippet(name: name, source: source(of: lines, name))
  }

  /// The blocks of a page that are marked as Swift.
  static func snippets(of page: URL) throws -> [Snippet] {
    let lines = try String(contentsOf: page, encoding: .utf8)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let title = page.deletingPathExtension().lastPathComponent
    var snippets: [Snippet] = []
    var block: [String]?
    for line in lines {
      switch (line, block) {
      case ("```swift", nil): block = []
      case ("```", let code?):
        let name = "\(title)_\(snippets.count + 1)"
        snippets.append(Snippet(name: name, source: source(of: code, name)))
        block = nil
      case (_, _?): block?.append(line)
      default: break
      }
    }
    return snippets
  }

  private static func source(of code: [String], _ name: String) -> String {
    let imports = Set(["#if canImport(FoundationNetworking)", "  import FoundationNetworking", "#endif"])
    let isHead = { (line: String) in line.hasPrefix("import ") || imports.contains(line) }
    let body = code.drop { isHead($0) || $0.isEmpty }
    // What a block makes and leaves to its reader.
    let names = body.compactMap { line -> Substring? in
      guard line.hasPrefix("let ") || line.hasPrefix("var ") else { return nil }
      let name = line.dropFirst(4).prefix { $0.isLetter }
      return name.isEmpty ? nil : name
    }
    var lines = [
      "// SPDX-License-Identifier: Apache-2.0", "// Copyright (c) 2026 the HTTPCacheEngine authors", "",
      "// swift-format-ignore-file", "// `make snippets` writes this file.", "",
    ]
    lines += code.prefix { isHead($0) || $0.isEmpty }
    lines.append("private func \(name)() async throws {")
    lines += body.map { $0.isEmpty ? "" : "  " + $0 }
    lines += names.map { "  _ = \($0)" }
    return (lines + ["}", ""]).joined(separator: "\n")
  }
}
