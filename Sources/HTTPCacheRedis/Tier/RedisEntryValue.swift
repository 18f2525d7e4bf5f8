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
      let start = position
      var value: UInt64 = 0
      while position < bytes.count, bytes[position] != UInt8(ascii: ":") {
        let digit = bytes[position] &- UInt8(ascii: "0")
        let (product, isBeyond) = value.multipliedReportingOverflow(by: 10)
        let (sum, isAlsoBeyond) = product.addingReportingOverflow(UInt64(digit))
        guard digit < 10, !isBeyond, !isAlsoBeyond else { return nil }
        value = sum
        position += 1
      }
      guard position > start, position < bytes.count else { return nil }
      position += 1
      return value
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

  /// The variants of an entry, each with its content if that is a field of its own.
  struct Fields: IteratorProtocol {
    private struct Field {
      /// The name of the variant's field.
      var variant: ArraySlice<UInt8>
      var isContent: Bool
      var value: [UInt8]
    }

    private var fields: [Field] = []

    /// - Parameter reply: names and values in turn, in any order of the names.
    init(_ reply: [RedisValue]) {
      fields.reserveCapacity(reply.count / 2)
      for index in stride(from: 0, to: reply.count - 1, by: 2) {
        // A value of another kind is malformed, and is counted.
        let (name, value) = (reply[index].bytes ?? [], reply[index + 1].bytes ?? [])
        let isContent = name.first == UInt8(ascii: "b")
        fields.append(Field(variant: isContent ? name[1...] : name[...], isContent: isContent, value: value))
      }
      // Each content next to its head, which then comes first, seen from the end.
      fields.sort {
        $0.variant == $1.variant
          ? $0.isContent && !$1.isContent : $1.variant.lexicographicallyPrecedes($0.variant)
      }
    }

    /// Returns the next variant. Contents without a head are passed over.
    mutating func next() -> (head: [UInt8], content: [UInt8]?)? {
      while let last = fields.popLast() {
        if last.isContent { continue }
        guard let content = fields.last, content.isContent, content.variant == last.variant else {
          return (last.value, nil)
        }
        fields.removeLast()
        return (last.value, content.value)
      }
      return nil
    }
  }
}
