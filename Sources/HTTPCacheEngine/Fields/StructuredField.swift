// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import RawStructuredFieldValues

/// Fields that are defined as structured (RFC 9651): read strictly, and as a whole or not at all.
///
/// The parser looks for each key among all that came before. So that nobody can have it compare for minutes, a value
/// with ``mostKeys`` separators or more is not read.
enum StructuredField {
  /// Twice as many as any field in use has by far; RFC 9875 asks for 32 groups.
  static let mostKeys = 512

  enum Failure: Error {
    case invalid
    /// Valid or not, nobody will know.
    case tooLong
  }

  /// The members of a Dictionary; of a key that occurs twice, the last (§3.2).
  static func dictionary(_ lines: [String]) throws(Failure) -> [(key: String, value: RFC9651BareItem?)] {
    var parser = try parser(lines, separators: [UInt8(ascii: ","), UInt8(ascii: ";")])
    guard let members = try? parser.parseDictionaryFieldValue() else { throw .invalid }
    return members.map { ($0.0, $0.1.bareItem) }
  }

  /// The members of a List that are Strings, each without its parameters.
  static func strings(_ lines: [String]) throws(Failure) -> [String] {
    var parser = try parser(lines, separators: [UInt8(ascii: ";")])
    guard let members = try? parser.parseListFieldValue() else { throw .invalid }
    return members.compactMap { if case .string(let text) = $0.bareItem { text } else { nil } }
  }

  /// Lines of one field are one value (§4.2).
  ///
  /// - Parameter separators: what separates keys from each other.
  static func parser(
    _ lines: [String], separators: [UInt8]
  ) throws(Failure) -> StructuredFieldValueParser<[UInt8]> {
    let bytes = Array(lines.joined(separator: ", ").utf8)
    guard bytes.count(where: separators.contains) < mostKeys else { throw .tooLong }
    return StructuredFieldValueParser(bytes)
  }
}

extension ItemOrInnerList {
  /// The item; `nil` of an inner list.
  fileprivate var bareItem: RFC9651BareItem? {
    if case .item(let item) = self { item.rfc9651BareItem } else { nil }
  }
}
