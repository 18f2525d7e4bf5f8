// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheStore

/// The names of the tier's keys in Redis.
struct RedisKeys: Sendable {
  private let prefix: [UInt8]

  init(prefix: String) {
    self.prefix = Array(prefix.utf8)
  }

  /// A hash: the epoch of the log, when it began, the server's run, the seed, and the nodes. They are in one key, so that
  /// none can be lost without the others.
  var meta: [UInt8] { prefix + Array("{log}:meta".utf8) }
  /// A stream: the records, with the identifiers `1-0`, `2-0`, …
  var log: [UInt8] { prefix + Array("{log}:log".utf8) }
  /// A stream: the leases that were released a moment ago.
  var released: [UInt8] { prefix + Array("{log}:released".utf8) }

  /// A pattern of SCAN for all entries. Other keys may match: see ``isEntry(_:)``.
  var everyEntry: [UInt8] {
    prefix.flatMap { "*?[]\\".utf8.contains($0) ? [UInt8(ascii: "\\"), $0] : [$0] } + Array("{*}:e".utf8)
  }

  /// Whether a key is that of an entry.
  func isEntry(_ key: [UInt8]) -> Bool {
    let tag = key.dropFirst(prefix.count).dropLast(2)
    return key.starts(with: prefix) && key.suffix(2).elementsEqual(":e".utf8)
      && tag.first == UInt8(ascii: "{")
      && tag.last == UInt8(ascii: "}") && (3...18).contains(tag.count)
      && tag.dropFirst().dropLast().allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }

  /// A hash: the variants of a URL.
  func entry(_ key: [UInt8], _ seed: UInt64) -> [UInt8] { tagged(key, seed, UInt8(ascii: "e")) }

  /// A string: the owner of a lease.
  func lease(_ key: [UInt8], _ seed: UInt64) -> [UInt8] { tagged(key, seed, UInt8(ascii: "l")) }

  /// A string: a part of a content.
  static func piece(_ entry: [UInt8], _ stamp: UInt64, _ number: Int) -> [UInt8] {
    entry + Array(":\(stamp):\(number)".utf8)
  }

  /// Written by hand because each request needs it: one allocation instead of six.
  private func tagged(_ key: [UInt8], _ seed: UInt64, _ kind: UInt8) -> [UInt8] {
    let hash = XXH3.hash(key, seed: seed)
    // The digits of its hexadecimal form, without leading zeros.
    let digits = max(1, (67 - hash.leadingZeroBitCount) / 4)
    var name: [UInt8] = []
    name.reserveCapacity(prefix.count + digits + 4)
    name += prefix
    name.append(UInt8(ascii: "{"))
    for place in (0..<digits).reversed() {
      let digit = UInt8(truncatingIfNeeded: hash >> (4 * UInt64(place))) & 0xF
      name.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
    }
    name.append(UInt8(ascii: "}"))
    name.append(UInt8(ascii: ":"))
    name.append(kind)
    return name
  }
}
