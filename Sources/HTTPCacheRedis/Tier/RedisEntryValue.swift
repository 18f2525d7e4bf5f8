// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The value of a variant, as the server has it: decimal numbers for the scripts, then bytes.
///
/// ```
/// <stored at>:<ends at>:<length of the head>:<stamp>:<pieces>:<head>
/// ```
///
/// The times are the server's own, in milliseconds. If `pieces` is 0, the content is a field of its own beside this one:
/// the server's reply then contains it as the cache stores it. With the content in this value, it would be copied once
/// more here, and once more by the script.
struct RedisEntryValue {
  enum Body: Sendable {
    case ownField
    case pieces(stamp: UInt64, count: Int)
  }

  /// Maximum number of pieces that a reader asks for.
  static let mostPieces = 16_384

  var at: Int64
  var end: Int64
  var head: [UInt8]
  var body: Body

  /// Reads a value; `nil` if it is malformed.
  init?(_ bytes: [UInt8]) {
    var position = 0
    func number() -> UInt64? {
      guard let colon = bytes[position...].prefix(21).firstIndex(of: UInt8(ascii: ":")) else { return nil }
      defer { position = colon + 1 }
      return UInt64(String(decoding: bytes[position..<colon], as: UTF8.self))
    }
    guard let at = number().flatMap({ Int64(exactly: $0) }),
      let end = number().flatMap({ Int64(exactly: $0) }),
      let length = number(), let stamp = number(), let pieces = number(), pieces <= UInt64(Self.mostPieces),
      length == UInt64(bytes.count - position)
    else { return nil }
    self.at = at
    self.end = end
    head = Array(bytes[position...])
    body = pieces == 0 ? .ownField : .pieces(stamp: stamp, count: Int(pieces))
  }

  /// The value without its times, which a script adds.
  static func rest(head: [UInt8], body: Body) -> [UInt8] {
    switch body {
    case .ownField: Array("\(head.count):0:0:".utf8) + head
    case .pieces(let stamp, let count): Array("\(head.count):\(stamp):\(count):".utf8) + head
    }
  }

  /// The name of the field with the content of a variant.
  ///
  /// - Parameter field: the name of the variant's field, a decimal number.
  static func bodyField(of field: [UInt8]) -> [UInt8] { [UInt8(ascii: "b")] + field }

  /// Whether a field contains the content of a variant.
  static func isBody(_ name: [UInt8]) -> Bool { name.first == UInt8(ascii: "b") }
}
