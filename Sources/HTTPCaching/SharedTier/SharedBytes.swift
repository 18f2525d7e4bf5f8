// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Writes the numbers and texts of what nodes exchange.
struct SharedBytes {
  private(set) var bytes: [UInt8] = []

  mutating func add(_ byte: UInt8) { bytes.append(byte) }

  mutating func add(_ number: UInt64) {
    for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
  }

  mutating func add(_ text: some Collection<UInt8>) {
    let count = UInt32(text.count)
    for shift in stride(from: 0, to: 32, by: 8) { bytes.append(UInt8(truncatingIfNeeded: count >> shift)) }
    bytes.append(contentsOf: text)
  }

  mutating func add(_ text: String) { add(Array(text.utf8)) }
}

/// Reads what ``SharedBytes`` wrote. The bytes come from the network: every range lies within them.
struct SharedBytesReader {
  private let bytes: [UInt8]
  private(set) var position = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  var isAtEnd: Bool { position == bytes.count }

  private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
    guard count <= bytes.count - position else { return nil }
    defer { position += count }
    return bytes[position..<position + count]
  }

  mutating func byte() -> UInt8? { take(1)?.first }

  mutating func number() -> UInt64? { take(8).map { $0.reversed().reduce(0) { $0 << 8 | UInt64($1) } } }

  mutating func text() -> ArraySlice<UInt8>? {
    guard let count = take(4).map({ $0.reversed().reduce(0) { $0 << 8 | Int($1) } }) else { return nil }
    return take(count)
  }

  mutating func string() -> String? {
    text().map { String(decoding: $0, as: UTF8.self) }
  }
}
