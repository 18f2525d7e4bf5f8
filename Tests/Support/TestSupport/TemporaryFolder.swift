// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import SystemPackage

/// Returns the path of a new file or folder, which the caller makes and removes.
package func temporaryURL() -> URL {
  FileManager.default.temporaryDirectory.appendingPathComponent("httpcache-test-\(UUID().uuidString)")
}

/// Makes a folder that is removed when `body` returns.
package func withTemporaryFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
  let folder = temporaryURL()
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  return try await body(folder)
}

/// Makes a folder for sockets, whose paths must be short, that is removed when `body` returns.
package func withSocketFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
  let folder = URL(fileURLWithPath: "/tmp/hc-\(UUID().uuidString.prefix(13))")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  return try await body(folder)
}

/// Makes a folder that is removed when `body` returns.
package func withTemporaryDirectory<Result>(
  _ body: (FilePath) async throws -> Result
) async throws -> Result {
  try await withTemporaryFolder { try await body(FilePath($0.path)) }
}

extension URL {
  /// Reads a file of this folder as text.
  package func read(_ name: String) throws -> String {
    try String(contentsOf: appendingPathComponent(name), encoding: .utf8)
  }

  /// Writes a file of this folder, and returns its path.
  @discardableResult
  package func write(_ text: String, to name: String, _ encoding: String.Encoding = .utf8) throws -> String {
    let file = appendingPathComponent(name)
    try text.write(to: file, atomically: true, encoding: encoding)
    return file.path
  }
}
