// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation

/// Writes the manual pages. It reads the help of the command from standard input, and runs in the package's directory.
struct WriteOptions: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "options",
    abstract: "Write the manual pages, from the help of httpcache on standard input.")

  func run() throws {
    let root = URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
    let reference = try OptionsReference(root: root, dump: FileHandle.standardInput.readToEnd() ?? Data())
    let pages = reference.pages()
    for path in reference.committed().keys where pages[path] == nil {
      try FileManager.default.removeItem(at: root.appendingPathComponent(path))
    }
    for (path, text) in pages.sorted(by: { $0.key < $1.key }) {
      let file = root.appendingPathComponent(path)
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: file)
      print(path)
    }
  }
}
