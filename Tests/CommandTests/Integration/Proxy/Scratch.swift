// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// A directory for one test.
struct Scratch {
  let path: String

  private init() throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("httpcache-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  static func use<Result>(_ body: (Scratch) async throws -> Result) async throws -> Result {
    let scratch = try Scratch()
    defer { try? FileManager.default.removeItem(atPath: scratch.path) }
    return try await body(scratch)
  }

  func read(_ name: String) throws -> String {
    try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8)
  }

  /// - Returns: the path of the file.
  @discardableResult
  func write(_ text: String, to name: String, _ encoding: String.Encoding = .utf8) throws -> String {
    let file = "\(path)/\(name)"
    try text.write(to: URL(fileURLWithPath: file), atomically: true, encoding: encoding)
    return file
  }
}
