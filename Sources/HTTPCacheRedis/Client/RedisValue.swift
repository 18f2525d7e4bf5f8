// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A reply of a server: a value of RESP, version 2.
package enum RedisValue: Sendable, Hashable {
  /// A missing value: a null bulk string or a null array.
  case null
  /// An integer.
  case integer(Int64)
  /// A simple string such as `OK`, or a bulk string.
  case string([UInt8])
  /// The command failed: a code in capitals, and usually a sentence.
  case error(String)
  /// An array of replies.
  case array([RedisValue])
}

extension RedisValue {
  /// The bytes of a string, or `nil`.
  package var bytes: [UInt8]? {
    guard case .string(let bytes) = self else { return nil }
    return bytes
  }

  /// The text of a string, or `nil`. Invalid UTF-8 is repaired.
  package var text: String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

  /// The value of an integer, or of a string of decimal digits; otherwise `nil`.
  package var integer: Int64? {
    switch self {
    case .integer(let value): value
    case .string(let bytes): Int64(String(decoding: bytes, as: UTF8.self))
    case .null, .error, .array: nil
    }
  }

  /// The elements of an array, or `nil`.
  package var elements: [RedisValue]? {
    guard case .array(let elements) = self else { return nil }
    return elements
  }

  /// The first word of an error, such as `WRONGTYPE`, `NOSCRIPT` or `OOM`, or `nil`.
  package var errorCode: Substring? {
    guard case .error(let message) = self else { return nil }
    return message.prefix { $0 != " " }
  }
}
