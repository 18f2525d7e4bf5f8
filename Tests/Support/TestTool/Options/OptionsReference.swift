// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// The manual pages of a command, made from its help.
///
/// The files are committed. A test fails when they differ from the command.
struct OptionsReference {
  /// The package's own directory.
  var root: URL
  var help: CommandHelp
  /// The newest version of the changelog and its day.
  var version: String
  var date: String

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  static let manualFolder = "Documentation/man"

  /// - Parameter dump: what `--experimental-dump-help` prints.
  init(root: URL, dump: Data) throws {
    self.root = root
    help = try JSONDecoder().decode(CommandHelp.self, from: dump)
    let changelog = try String(contentsOf: root.appendingPathComponent("CHANGELOG.md"), encoding: .utf8)
    guard let newest = changelog.firstMatch(of: /\n## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)\n/) else {
      throw Failure(description: "CHANGELOG.md: expected a heading such as '## [1.0.0] - 2026-01-01'")
    }
    version = String(newest.1)
    date = String(newest.2)
  }

  /// The text of each page, by its path in the package.
  func pages() -> [String: String] {
    var pages: [String: String] = [:]
    for command in [help.command] + help.command.documented {
      let manual = ManualPage(page: CommandPage(command), version: version, date: date)
      pages["\(Self.manualFolder)/\(manual.name).1"] = manual.text
    }
    return pages
  }

  /// The text of each page that is there, by its path in the package.
  func committed() -> [String: String] {
    let manuals = try? FileManager.default.contentsOfDirectory(
      atPath: root.appendingPathComponent(Self.manualFolder).path)
    let paths = (manuals ?? []).filter { $0.hasSuffix(".1") }.map { "\(Self.manualFolder)/\($0)" }
    return paths.reduce(into: [:]) { pages, path in
      pages[path] = try? String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }
  }
}
