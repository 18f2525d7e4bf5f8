// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Draws choices from bytes; there are zeros behind their end, so that every input means something.
struct InputNumbers {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  var isAtEnd: Bool { position >= bytes.count }

  mutating func byte() -> UInt8 {
    guard position < bytes.count else { return 0 }
    defer { position += 1 }
    return bytes[position]
  }

  mutating func bool() -> Bool { byte() & 1 == 1 }

  mutating func pick<Choice>(_ choices: [Choice]) -> Choice { choices[Int(byte()) % choices.count] }

  mutating func integer(below limit: Int) -> Int { Int(byte()) % limit }

  /// Seconds: mostly few, sometimes as many as a field can hold, and beyond.
  mutating func seconds() -> Int64 {
    let byte = byte()
    return switch byte {
    case 0..<200: Int64(byte)
    case 200..<230: Int64(byte - 199) * 1000
    case 230..<250: Int64(byte - 229) * 10_000_000
    case 250: 2_147_483_647
    case 251: 2_147_483_648
    case 252: 9_999_999_999
    case 253: 9_223_372_036_854_775
    case 254: .max / 1000
    default: .max
    }
  }

  /// A short text of whatever bytes.
  mutating func text() -> String {
    let end = min(bytes.count, position + integer(below: 48))
    defer { position = end }
    return position < end ? String(decoding: bytes[position..<end], as: UTF8.self) : ""
  }
}
