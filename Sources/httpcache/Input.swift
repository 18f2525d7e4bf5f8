// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine

/// Files, standard input and output, and the clock.
enum Input {
  /// Heads come first, so the command reads content only up to this number of bytes.
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

  /// Writes to standard output without buffering.
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
