// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import SystemPackage

/// Files, standard input and output, and the clock.
enum Input {
  /// Heads come first, so the command reads content only up to this number of bytes.
  private static let limit = 16 << 20

  /// - Parameter path: `-` for standard input.
  static func bytes(of path: String) throws(InputError) -> [UInt8] {
    let file = try open(path)
    defer { if path != "-" { try? file.close() } }
    var bytes: [UInt8] = []
    while bytes.count < limit {
      let chunk = try available(in: file)
      if chunk.isEmpty { break }
      bytes += chunk
    }
    return bytes
  }

  /// - Parameter path: `-` for standard input.
  static func open(_ path: String) throws(InputError) -> FileDescriptor {
    do {
      return try path == "-" ? .standardInput : .open(FilePath(path), .readOnly, options: .closeOnExec)
    } catch {
      throw .unreadable
    }
  }

  /// Reads the available bytes, and waits if there are none; empty at the end.
  static func available(in file: FileDescriptor) throws(InputError) -> [UInt8] {
    do {
      return try [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
        count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
      }
    } catch {
      throw .unreadable
    }
  }

  /// Writes to standard output without buffering.
  static func put(_ bytes: [UInt8]) throws {
    try FileDescriptor.standardOutput.writeAll(bytes)
  }

  static var systemTime: Timestamp {
    Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
  }

  /// Writes to standard error as it is.
  static func show(_ text: String) { _ = try? FileDescriptor.standardError.writeAll(text.utf8) }

  static var isTerminalOutput: Bool { isatty(1) == 1 }

  static func complain(_ text: String) {
    show("httpcache: \(text)\n")
  }
}
