// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore

/// A small entry of the store with a nonce, from which other keys are derived; for a path, also with its
/// `No-Vary-Search` value. See `CacheKey.queryAnchor`.
struct Anchor: Sendable {
  let nonce: UInt64
  /// The lines of `No-Vary-Search`; none for QUERY.
  let lines: [String]

  init(lines: [String] = []) {
    nonce = .random(in: .min ... .max)
    self.lines = lines
  }

  /// Reads the bytes from ``metadata``; `nil` for any other bytes.
  init?(_ metadata: [UInt8]) {
    guard metadata.count >= 9, metadata.first == RecordMark.anchor.rawValue else { return nil }
    let number = metadata.dropFirst().prefix(8)
    nonce = number.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    // A line of a field contains no line break.
    lines = metadata.dropFirst(9).split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
  }

  var metadata: [UInt8] {
    var bytes = [RecordMark.anchor.rawValue]
    for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: nonce >> shift)) }
    return bytes + lines.joined(separator: "\n").utf8
  }

  /// Returns the entry to store.
  func entry(_ key: CacheKey, at time: Timestamp) -> NewEntry {
    NewEntry(
      key: StoreKey(key.bytes), variant: VariantID(rawValue: 0), metadata: metadata, body: [],
      storedAt: time.milliseconds)
  }
}
