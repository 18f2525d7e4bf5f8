// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation

/// Writes `Documentation/API`, and prints how many declarations each module has. It runs in the package's directory.
struct WriteDigest: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "api", abstract: "Write Documentation/API, the list of all public declarations.")

  func run() throws {
    let digest = APIDigest(root: URL(fileURLWithPath: FileManager.default.currentDirectoryPath))
    let lines = try digest.lines().sorted { $0.key < $1.key }
    try FileManager.default.createDirectory(at: digest.folder, withIntermediateDirectories: true)
    for file in try digest.files() { try FileManager.default.removeItem(at: file) }
    for (module, lines) in lines {
      try Data(APIDigest.text(lines, of: module).utf8).write(to: digest.file(of: module))
      print("\(module): \(lines.count) public declarations")
    }
    print("all: \(lines.reduce(0) { $0 + $1.value.count })")
  }
}
