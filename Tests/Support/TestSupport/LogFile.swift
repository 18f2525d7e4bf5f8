// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// The path of a log in a directory of its own, which is removed with this object.
package final class LogFile: Sendable {
  package let path: String
  private let directory: URL

  package init() throws {
    directory = temporaryURL()
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    path = directory.appendingPathComponent("access.log").path
  }

  deinit { try? FileManager.default.removeItem(at: directory) }

  package static func lines(_ path: String) throws -> [String] {
    try Data(contentsOf: URL(fileURLWithPath: path)).split(separator: 0x0A, omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }.dropLast()
  }

  package var lines: [String] { get throws { try Self.lines(path) } }

  /// The lines of a log in JSON, by name.
  package var objects: [[String: String]] {
    get throws { try lines.map { try Self.object($0) } }
  }

  /// The members of an object as texts; `nil` for no object, or another line than one.
  package static func object(_ line: String) throws -> [String: String] {
    let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
    return (object ?? [:]).mapValues { value in
      switch value {
      case let text as String: text
      case is NSNull: "null"
      case let number as NSNumber: number.stringValue
      default: "?"
      }
    }
  }

  /// What a pipe holds.
  package static func unread(_ descriptor: Int32) -> [UInt8] {
    var all: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    while case let count = read(descriptor, &bytes, bytes.count), count > 0 { all += bytes[..<count] }
    return all
  }

  package func makePipe() { _ = mkfifo(path, 0o600) }
}
