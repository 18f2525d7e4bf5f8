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

/// The first byte of the metadata of each entry that is not a stored response.
///
/// The values are among `StoredResponse.reservedFirstBytes`, so an entry of one kind never reads as another kind. Earlier
/// versions used 0xFB.
enum RecordMark: UInt8, CaseIterable {
  case variantIndex = 0xFC
  case annotation = 0xFD
  case anchor = 0xFE

  /// Returns the bytes of a record: the mark, a number, and bytes that belong to it.
  func record(_ number: UInt64, _ rest: some Sequence<UInt8> = []) -> [UInt8] {
    [rawValue] + stride(from: 0, to: 64, by: 8).map { UInt8(truncatingIfNeeded: number >> $0) } + rest
  }
}

/// Reads the bytes from ``RecordMark/record(_:_:)``.
struct RecordReader {
  /// What follows the number.
  private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) {
    rest = bytes[...]
  }

  /// Reads the mark and the number; `nil` for any other bytes.
  mutating func begin(_ mark: RecordMark) -> UInt64? {
    guard rest.count >= 9, rest.first == mark.rawValue else { return nil }
    let number = rest.dropFirst().prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    rest = rest.dropFirst(9)
    return number
  }
}
