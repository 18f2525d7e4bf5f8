// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness

/// Recorded or generated requests: a key and a size for each.
struct Trace: Sendable {
  struct Request: Hashable, Sendable {
    /// The number of the key, in the order of first requests.
    var key: Int
    var bytes: Int
  }

  var name: String
  var requests: [Request]
  /// The size of each key at its first request.
  var firstBytes: [Int]

  var distinctKeys: Int { firstBytes.count }
  var distinctBytes: Int { firstBytes.reduce(0, +) }

  /// Maximum size of a replayed body, in bytes.
  static let mostBytes = 1 << 30
  private static let mostFileBytes = 2 << 30
  private static let longestLine = 1 << 16

  /// Reads a file with a key and a size in bytes in each line, separated by blanks.
  ///
  /// - Throws: ``FileError``, which names the line.
  init(path: String) throws {
    let bytes = try InputFile.bytes(of: path, limit: Self.mostFileBytes)
    try self.init(name: String(path.split(separator: "/").last ?? "-"), bytes: bytes, path: path)
  }

  init(name: String, bytes: [UInt8], path: String) throws {
    var requests: [(key: ArraySlice<UInt8>, bytes: Int)] = []
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    if lines.last?.isEmpty == true { lines.removeLast() }
    for (index, line) in lines.enumerated() {
      let parts = line.split {
        $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r")
      }
      func broken(_ what: String) -> FileError {
        FileError(path: path, what: "line \(index + 1) \(what); each line must be 'key size'")
      }
      guard line.count <= Self.longestLine else { throw broken("is longer than \(Self.longestLine) bytes") }
      guard parts.count == 2 else {
        throw broken(parts.isEmpty ? "is blank" : "has \(parts.count) word\(parts.count == 1 ? "" : "s")")
      }
      guard let size = Int(String(decoding: parts[1], as: UTF8.self)), (0...Self.mostBytes).contains(size)
      else {
        throw broken(
          "has the size '\(Printable.text(String(decoding: parts[1].prefix(32), as: UTF8.self)))', "
            + "expected a number from 0 to \(Self.mostBytes)")
      }
      requests.append((parts[0], size))
    }
    guard !requests.isEmpty else {
      throw FileError(path: path, what: "the file is empty; each line must be 'key size'")
    }
    self.init(name: name, requests: requests)
  }

  /// Numbers the keys in the order of their first requests.
  init<Key: Hashable>(name: String, requests all: [(key: Key, bytes: Int)]) {
    self.name = name
    requests = []
    firstBytes = []
    var numbers: [Key: Int] = [:]
    for (name, bytes) in all {
      let key = numbers[name, default: firstBytes.count]
      requests.append(Request(key: key, bytes: bytes))
      guard key == firstBytes.count else { continue }
      numbers[name] = key
      firstBytes.append(bytes)
    }
  }
}
