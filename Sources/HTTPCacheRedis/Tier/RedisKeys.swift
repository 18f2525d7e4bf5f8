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

  /// A hash: the variants of a URL.
  func entry(_ key: [UInt8], _ seed: UInt64) -> [UInt8] { tagged(key, seed) + Array(":e".utf8) }

  /// A string: the owner of a lease.
  func lease(_ key: [UInt8], _ seed: UInt64) -> [UInt8] { tagged(key, seed) + Array(":l".utf8) }

  /// A string: a part of a content.
  static func piece(_ entry: [UInt8], _ stamp: UInt64, _ number: Int) -> [UInt8] {
    entry + Array(":\(stamp):\(number)".utf8)
  }

  private func tagged(_ key: [UInt8], _ seed: UInt64) -> [UInt8] {
    prefix + Array("{\(String(XXH3.hash(key, seed: seed), radix: 16))}".utf8)
  }
}
