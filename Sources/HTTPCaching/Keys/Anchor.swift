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
    var reader = RecordReader(metadata)
    guard let nonce = reader.begin(.anchor) else { return nil }
    self.nonce = nonce
    // A line of a field contains no line break.
    lines = reader.rest.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
  }

  var metadata: [UInt8] { RecordMark.anchor.record(nonce, lines.joined(separator: "\n").utf8) }

  /// Returns the entry to store.
  func entry(_ key: CacheKey, at time: Timestamp) -> NewEntry {
    NewEntry(
      key: StoreKey(key.bytes), variant: VariantID(rawValue: 0), metadata: metadata, body: [],
      storedAt: time.milliseconds)
  }
}
