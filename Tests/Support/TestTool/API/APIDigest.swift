// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// The public declarations of each library product, one a line, as files in `Documentation/API`.
///
/// The files are committed. A review sees each change of the public API as a change of a line.
struct APIDigest {
  /// The package's own directory.
  var root: URL
  /// A folder with the symbol graphs of each module in a folder of its name: `scripts/symbol-graphs.sh` writes them.
  var graphs: URL

  var folder: URL { root.appendingPathComponent("Documentation/API") }

  func file(of module: String) -> URL { folder.appendingPathComponent(module + ".txt") }

  /// The modules whose symbols were written.
  func modules() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: graphs.path).filter { !$0.contains(".") }.sorted()
  }

  /// The module's own symbols, and the members that it adds to types of others.
  func graphs(of module: String) throws -> [SymbolGraph] {
    let folder = graphs.appendingPathComponent(module)
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { name in
      try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: folder.appendingPathComponent(name)))
    }
  }

  /// The text of the module's file.
  func text(of module: String) throws -> String {
    let lines =
      ["# The public API of \(module). `make api` writes this file."] + (try exports(of: module))
      + (try graphs(of: module).flatMap(\.lines))
    return lines.map { $0 + "\n" }.joined()
  }

  /// What the module exports of other modules: symbol graphs do not have it.
  private func exports(of module: String) throws -> [String] {
    let sources = root.appendingPathComponent("Sources/\(module)")
    let paths = try FileManager.default.subpathsOfDirectory(atPath: sources.path)
    return try paths.filter { $0.hasSuffix(".swift") && !$0.contains(".docc/") }.flatMap { path in
      try String(contentsOf: sources.appendingPathComponent(path), encoding: .utf8).split(separator: "\n")
        .filter { $0.hasPrefix("@_exported import ") }.map(String.init)
    }.sorted()
  }
}
