// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The range of a representation in a response: `Content-Range` (RFC 9110 §14.4).
package enum ContentRange: Hashable, Sendable {
  /// These bytes, positions counted from 0, of a representation of this length; `nil` if the sender does not know it.
  case bytes(Range<Int64>, of: Int64?)
  /// None, because no requested range lies within this length (§15.5.17).
  case unsatisfied(length: Int64)

  /// Parses a field value. Returns `nil` for another unit than bytes, invalid syntax, contradictory positions, and
  /// numbers that are too large: nothing may be combined by such a field (§14.4).
  package init?(parsing text: String) {
    guard let parsed = text.withFieldBytes(Self.parse) else { return nil }
    self = parsed
  }

  private static func parse(_ bytes: Span<UInt8>) -> ContentRange? {
    let value = bytes.trimmed(bytes.whole)
    guard let space = bytes.firstIndex(of: UInt8(ascii: " "), in: value),
      bytes.matches("bytes", in: ByteRange(start: value.start, end: space)),
      let slash = bytes.firstIndex(of: UInt8(ascii: "/"), in: value), slash > space
    else { return nil }
    let range = ByteRange(start: space + 1, end: slash)
    let length = ByteRange(start: slash + 1, end: value.end)
    let isUnknown = isAsterisk(bytes, length)
    let complete = number(bytes, length)
    guard isUnknown || complete != nil else { return nil }
    if isAsterisk(bytes, range) { return complete.map { .unsatisfied(length: $0) } }
    guard let dash = bytes.firstIndex(of: UInt8(ascii: "-"), in: range),
      let first = number(bytes, ByteRange(start: range.start, end: dash)),
      let last = number(bytes, ByteRange(start: dash + 1, end: range.end)), first <= last
    else { return nil }
    if let complete, complete <= last { return nil }
    return .bytes(first..<last + 1, of: complete)
  }

  private static func isAsterisk(_ bytes: Span<UInt8>, _ range: ByteRange) -> Bool {
    range.count == 1 && bytes[range.start] == UInt8(ascii: "*")
  }

  /// Returns a number that leaves room to count beyond it; a sign or whitespace is invalid.
  private static func number(_ bytes: Span<UInt8>, _ range: ByteRange) -> Int64? {
    guard !range.isEmpty else { return nil }
    var value: Int64 = 0
    for index in range.start..<range.end {
      guard bytes[index].isDigit else { return nil }
      value = value.saturatingMultiplied(by: 10).saturatingAdded(Int64(bytes[index] - 0x30))
    }
    return value < .max ? value : nil
  }

  /// The field value.
  package var fieldValue: String {
    switch self {
    case .bytes(let range, let length):
      "bytes \(range.lowerBound)-\(range.upperBound - 1)/" + (length.map { String($0) } ?? "*")
    case .unsatisfied(let length): "bytes */\(length)"
    }
  }
}
