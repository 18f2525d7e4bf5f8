// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import RawStructuredFieldValues

/// Reads fields that are defined as structured (RFC 9651): strictly, and as a whole or not at all.
///
/// The parser compares each key with all keys before it. A value with ``mostKeys`` separators or more is not read, so
/// that no sender can make it compare for minutes.
enum StructuredField {
  /// Twice as many as any field in use has by far; RFC 9875 requires 32 groups.
  static let mostKeys = 512

  enum Failure: Error {
    case invalid
    /// Too long to be parsed, so its validity is unknown.
    case tooLong
  }

  /// Returns the members of a Dictionary; if a key occurs twice, the last (§3.2).
  static func dictionary(_ lines: [String]) throws(Failure) -> [(key: String, value: RFC9651BareItem?)] {
    var parser = try parser(lines, separators: [UInt8(ascii: ","), UInt8(ascii: ";")])
    guard let members = try? parser.parseDictionaryFieldValue() else { throw .invalid }
    return members.map { ($0.0, $0.1.bareItem) }
  }

  /// Returns the members of a List that are Strings, each without its parameters.
  static func strings(_ lines: [String]) throws(Failure) -> [String] {
    var parser = try parser(lines, separators: [UInt8(ascii: ";")])
    guard let members = try? parser.parseListFieldValue() else { throw .invalid }
    return members.compactMap { if case .string(let text) = $0.bareItem { text } else { nil } }
  }

  /// Makes a parser for the lines of one field, which are one value (§4.2).
  ///
  /// - Parameter separators: the characters that separate keys.
  static func parser(
    _ lines: [String], separators: [UInt8]
  ) throws(Failure) -> StructuredFieldValueParser<[UInt8]> {
    let bytes = Array(lines.joined(separator: ", ").utf8)
    guard bytes.count(where: separators.contains) < mostKeys else { throw .tooLong }
    return StructuredFieldValueParser(bytes)
  }
}

extension ItemOrInnerList {
  /// The item; `nil` for an inner list.
  fileprivate var bareItem: RFC9651BareItem? {
    if case .item(let item) = self { item.rfc9651BareItem } else { nil }
  }
}
