// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation

/// Writes `Documentation/API`, and prints how many lines each module has. It runs in the package's directory.
struct WriteDigest: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "api", abstract: "Write Documentation/API, the list of all public declarations.")

  @Argument(help: "Folder with the symbol graphs.") var graphs: String

  func run() throws {
    let digest = APIDigest(
      root: URL(fileURLWithPath: FileManager.default.currentDirectoryPath),
      graphs: URL(fileURLWithPath: graphs))
    try? FileManager.default.removeItem(at: digest.folder)
    try FileManager.default.createDirectory(at: digest.folder, withIntermediateDirectories: true)
    for module in try digest.modules() {
      let text = try digest.text(of: module)
      try Data(text.utf8).write(to: digest.file(of: module))
      print("\(module): \(text.split(separator: "\n").count - 1) public declarations")
    }
  }
}
