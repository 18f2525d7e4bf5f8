// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine

/// The world outside: files, standard input and the clock.
enum Input {
  /// Heads are at the front, so content is read only so far.
  private static let limit = 16 << 20

  /// - Parameter path: `-` for standard input.
  static func bytes(of path: String) throws(InputError) -> [UInt8] {
    do {
      let handle =
        try path == "-" ? FileHandle.standardInput : FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      var bytes: [UInt8] = []
      while bytes.count < limit, let chunk = try handle.read(upToCount: 1 << 16), !chunk.isEmpty {
        bytes += chunk
      }
      return bytes
    } catch {
      throw .unreadable
    }
  }

  /// Writes to standard output at once.
  static func put(_ bytes: [UInt8]) throws {
    try FileHandle.standardOutput.write(contentsOf: Data(bytes))
  }

  static var systemTime: Timestamp {
    Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
  }

  static var isTerminalOutput: Bool { isatty(1) == 1 }

  static func complain(_ text: String) {
    FileHandle.standardError.write(Data("httpcache: \(text)\n".utf8))
  }
}
