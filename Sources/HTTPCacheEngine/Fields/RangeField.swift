// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The byte ranges that a request specifies (RFC 9110 §14.1.2, §14.2).
package struct RangeField: Hashable, Sendable {
  /// One range of the list, positions counted from 0.
  package enum Specifier: Hashable, Sendable {
    /// From a position to another, or to the end.
    case from(Int64, through: Int64?)
    /// The last bytes, of this number.
    case suffix(Int64)
  }

  package let specifiers: [Specifier]

  /// Maximum number of ranges that are answered; a request with more gets the complete content (§14.2 warns of such).
  static let limit = 16

  /// Parses a field value; `nil` if it must be ignored (§14.2): another unit than bytes, invalid syntax, or too many
  /// ranges.
  package init?(parsing text: String) {
    guard let specifiers = text.withFieldBytes(Self.specifiers) else { return nil }
    self.specifiers = specifiers
  }

  private static func specifiers(_ bytes: Span<UInt8>) -> [Specifier]? {
    let value = bytes.trimmed(bytes.whole)
    guard let equals = bytes.firstIndex(of: UInt8(ascii: "="), in: value),
      bytes.matches("bytes", in: ByteRange(start: value.start, end: equals))
    else { return nil }
    var specifiers: [Specifier] = []
    var members = ListMembers(ByteRange(start: equals + 1, end: value.end))
    while let member = members.next(in: bytes) {
      guard specifiers.count < limit, let specifier = specifier(bytes, member) else { return nil }
      specifiers.append(specifier)
    }
    return specifiers.isEmpty ? nil : specifiers
  }

  private static func specifier(_ bytes: Span<UInt8>, _ member: ByteRange) -> Specifier? {
    guard let dash = bytes.firstIndex(of: UInt8(ascii: "-"), in: member) else { return nil }
    let first = ByteRange(start: member.start, end: dash)
    let last = ByteRange(start: dash + 1, end: member.end)
    if first.isEmpty { return position(bytes, last).map { .suffix($0) } }
    guard let start = position(bytes, first) else { return nil }
    if last.isEmpty { return .from(start, through: nil) }
    guard let end = position(bytes, last), end >= start else { return nil }
    return .from(start, through: end)
  }

  /// Reads a position of any number of digits; one beyond every content saturates.
  private static func position(_ bytes: Span<UInt8>, _ range: ByteRange) -> Int64? {
    guard !range.isEmpty else { return nil }
    var value: Int64 = 0
    for index in range.start..<range.end {
      guard bytes[index].isDigit else { return nil }
      value = value.saturatingMultiplied(by: 10).saturatingAdded(Int64(bytes[index] - 0x30))
    }
    return value
  }

  /// Whether there is a suffix range of at least one byte.
  var hasSuffix: Bool {
    specifiers.contains { if case .suffix(let count) = $0 { count > 0 } else { false } }
  }

  /// Returns the ranges that lie within a content of this length, in the requested order; empty if there are none.
  package func resolved(length: Int64) -> [Range<Int64>] {
    specifiers.compactMap { specifier in
      switch specifier {
      case .from(let first, let last):
        guard first < length else { return nil }
        return first..<Swift.min(last.map { $0.saturatingAdded(1) } ?? length, length)
      case .suffix(let count):
        guard count > 0, length > 0 else { return nil }
        return Swift.max(0, length - count)..<length
      }
    }
  }

  /// The ranges, if all have both ends, so that the length is not needed to resolve them; otherwise `nil`.
  var bounded: [Range<Int64>]? {
    var ranges: [Range<Int64>] = []
    for specifier in specifiers {
      guard case .from(let first, let last?) = specifier, last < .max else { return nil }
      ranges.append(first..<last + 1)
    }
    return ranges
  }
}
