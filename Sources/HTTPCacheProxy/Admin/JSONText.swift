// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A value of JSON (RFC 8259). This module does not import Foundation, which has an encoder.
enum JSONText: CustomStringConvertible {
  case null
  case bool(Bool)
  case integer(Int)
  /// Must be finite.
  case number(Double)
  case string(String)
  case list([JSONText])
  case map([(name: String, value: JSONText)])

  static func optional(_ number: Int?) -> JSONText { number.map { .integer($0) } ?? .null }
  static func optional(_ number: Double?) -> JSONText { number.map { .number($0) } ?? .null }
  static func optional(_ text: String?) -> JSONText { text.map { .string($0) } ?? .null }

  var description: String {
    switch self {
    case .null: "null"
    case .bool(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .number(let value): "\(value)"
    case .string(let text): Self.quoted(text)
    case .list(let values): "[" + values.map(\.description).joined(separator: ",") + "]"
    case .map(let members):
      "{" + members.map { "\(Self.quoted($0.name)):\($0.value)" }.joined(separator: ",") + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var bytes = [UInt8(ascii: "\"")]
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case 0..<0x20:
        let digits = Array(String(byte, radix: 16).utf8)
        bytes += Array("\\u00".utf8) + (digits.count == 1 ? [UInt8(ascii: "0")] : []) + digits
      default: bytes.append(byte)
      }
    }
    return String(decoding: bytes + [UInt8(ascii: "\"")], as: UTF8.self)
  }
}
