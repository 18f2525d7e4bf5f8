// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// The public declarations of each library product, one a line, as files in `Documentation/API`.
///
/// The files are committed. A review sees each change of the public API as a change of a line.
struct APIDigest {
  /// The package's own directory.
  var root: URL

  var folder: URL { root.appendingPathComponent("Documentation/API") }

  /// The library products, as the manifest names them. Each has one target, of the same name.
  func modules() throws -> [String] {
    let manifest = try String(contentsOf: root.appendingPathComponent("Package.swift"), encoding: .utf8)
    return manifest.matches(of: /\.library\(\s*name: "(\w+)"/).map { String($0.1) }.sorted()
  }

  /// The lines of the files, by module.
  func lines() throws -> [String: [String]] {
    let scanned = try modules().map { ($0, try declarations(of: $0)) }
    // An extension can be of a type in another module, and what it makes that conform to as well.
    let hiddenProtocols = scanned.reduce(into: Set<String>()) { $0.formUnion($1.1.hiddenProtocols) }
    var hiddenTypes = scanned.reduce(into: Set<String>()) { $0.formUnion($1.1.hiddenTypes) }
    for (_, found) in scanned {
      hiddenTypes.subtract(found.declarations.filter { $0.isType }.map(\.name))
    }
    return Dictionary(
      uniqueKeysWithValues: scanned.map { module, found in
        let hidden = found.hiddenTypes.union(hiddenTypes)
        return (module, Self.lines(found.declarations, hiddenTypes: hidden, hiddenProtocols: hiddenProtocols))
      })
  }

  static func text(_ lines: [String], of module: String) -> String {
    (["# The public API of \(module). `make api` writes this file."] + lines).map { $0 + "\n" }.joined()
  }

  func file(of module: String) -> URL { folder.appendingPathComponent(module + ".txt") }

  /// The files that are there.
  func files() throws -> [URL] {
    try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      .filter { $0.pathExtension == "txt" }
  }

  private typealias Found = (
    declarations: [DeclarationScanner.Declaration], hiddenTypes: Set<String>, hiddenProtocols: Set<String>
  )

  private func declarations(of module: String) throws -> Found {
    let sources = root.appendingPathComponent("Sources/\(module)")
    let paths = try FileManager.default.subpathsOfDirectory(atPath: sources.path)
    var found: Found = ([], [], [])
    // The examples of a documentation catalogue are not sources.
    for path in paths.filter({ $0.hasSuffix(".swift") && !$0.contains(".docc/") }).sorted() {
      let source = try String(contentsOf: sources.appendingPathComponent(path), encoding: .utf8)
      do throws(DeclarationScanner.Failure) {
        let scanner = try DeclarationScanner(source)
        found.declarations += scanner.declarations
        found.hiddenTypes.formUnion(scanner.hiddenTypes)
        found.hiddenProtocols.formUnion(scanner.hiddenProtocols)
      } catch {
        throw DeclarationScanner.Failure(description: "Sources/\(module)/\(path): \(error)")
      }
    }
    return found
  }

  /// Sorted lines, without the members of types that are not public.
  static func lines(
    _ declarations: [DeclarationScanner.Declaration], hiddenTypes: Set<String>, hiddenProtocols: Set<String>
  ) -> [String] {
    var lines: Set<Line> = []
    for declaration in declarations where !isHidden(declaration.owner, by: hiddenTypes) {
      let inherited = declaration.inherited.filter { !hiddenProtocols.contains($0) }
      if declaration.isExtension, inherited.isEmpty { continue }
      let conformances = inherited.isEmpty ? "" : ": " + inherited.joined(separator: ", ")
      lines.insert(
        Line(name: declaration.name, text: declaration.text + conformances + declaration.constraints))
    }
    return lines.sorted().map(\.text)
  }

  /// Whether a type, or one around it, is not public.
  private static func isHidden(_ path: String, by hiddenTypes: Set<String>) -> Bool {
    var parts = path.split(separator: ".")
    while !parts.isEmpty {
      if hiddenTypes.contains(parts.joined(separator: ".")) { return true }
      parts.removeLast()
    }
    return false
  }

  private struct Line: Hashable, Comparable {
    var name: String
    var text: String

    static func < (a: Self, b: Self) -> Bool { (a.name, a.text) < (b.name, b.text) }
  }
}
