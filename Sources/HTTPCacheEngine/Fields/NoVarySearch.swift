// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import RawStructuredFieldValues

/// The differences between query strings that do not affect a response (`No-Vary-Search`, an Internet-Draft).
///
/// - Important: With this field, a stored response answers more requests, so a cache honours it only if configured to.
package struct NoVarySearch: Hashable, Sendable {
  private enum Parameters: Hashable {
    /// All parameters are significant except these.
    case allBut(Set<[UInt8]>)
    /// Only these parameters are significant.
    case only(Set<[UInt8]>)
  }

  private let parameters: Parameters
  private let heedsOrder: Bool

  /// Parses the lines of the field.
  ///
  /// Returns `nil` if the field changes nothing: it is absent, repeats the default, or contains anything unknown
  /// (*Parse a URL variation config*). A field that only ignores the order is honoured: the algorithm's text ignores
  /// such a field, but all of the draft's examples honour it.
  package init?(parsing lines: [String]) {
    guard !lines.isEmpty,
      var parser = try? StructuredField.parser(lines, separators: [UInt8(ascii: ","), UInt8(ascii: ";")]),
      let members = try? parser.parseDictionaryFieldValue()
    else { return nil }
    var heedsOrder = true
    if let member = members["key-order"] {
      guard case .item(let item) = member, case .bool(let ignoresOrder) = item.rfc9651BareItem else {
        return nil
      }
      heedsOrder = !ignoresOrder
    }
    switch (members["params"], members["except"]) {
    case (nil, nil): parameters = .allBut([])
    case (let params?, nil):
      guard let names = Self.names(params) else { return nil }
      parameters = .allBut(names)
    case (nil, let except?):
      guard let names = Self.names(except) else { return nil }
      parameters = .only(names)
    case (_?, _?): return nil
    }
    self.heedsOrder = heedsOrder
    if heedsOrder, parameters == .allBut([]) { return nil }
  }

  private static func names(_ member: ItemOrInnerList) -> Set<[UInt8]>? {
    guard case .innerList(let list) = member else { return nil }
    var names: Set<[UInt8]> = []
    for item in list.bareInnerList {
      guard case .string(let name) = item.rfc9651BareItem else { return nil }
      names.insert(FormParameters.decoded(name.utf8))
    }
    return names
  }

  /// Returns the significant part of a path and query: two URIs of one origin are equivalent exactly if it is equal.
  ///
  /// - Complexity: O(*n*) in the length of the query, or O(*n* log *n*) if the order is ignored.
  func significant(_ pathAndQuery: String) -> (path: Substring, parameters: [FormParameters.Pair]) {
    // By bytes: a combining mark after the question mark would form another character with it.
    let path = pathAndQuery[..<(pathAndQuery.utf8.firstIndex(of: UInt8(ascii: "?")) ?? pathAndQuery.endIndex)]
    var pairs = FormParameters.pairs(Substring(pathAndQuery.utf8[path.endIndex...].dropFirst()))
    switch parameters {
    case .allBut(let names): pairs.removeAll { names.contains($0.name) }
    case .only(let names): pairs.removeAll { !names.contains($0.name) }
    }
    if !heedsOrder {
      // Values of one name keep their order. The names may have any order that is always the same.
      let sorted = pairs.enumerated().sorted {
        $0.element.name.lexicographicallyPrecedes($1.element.name)
          || ($0.element.name == $1.element.name && $0.offset < $1.offset)
      }
      pairs = sorted.map(\.element)
    }
    return (path, pairs)
  }
}

/// The names and values of a query in the format of forms (`application/x-www-form-urlencoded`).
enum FormParameters {
  /// In UTF-8: Swift considers some strings equal that differ in the draft, which compares code units.
  struct Pair: Hashable {
    var name: [UInt8]
    var value: [UInt8]
  }

  static func pairs(_ query: some StringProtocol) -> [Pair] {
    query.utf8.split(separator: UInt8(ascii: "&")).map { part in
      let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
      return Pair(name: decoded(part[..<equals]), value: decoded(part[equals...].dropFirst()))
    }
  }

  /// Decodes a text: `+` is a space, `%xx` a byte, and bytes that are not UTF-8 become U+FFFD.
  static func decoded(_ text: some Collection<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var index = text.startIndex
    while index != text.endIndex {
      let byte = text[index]
      text.formIndex(after: &index)
      if byte == UInt8(ascii: "+") {
        bytes.append(UInt8(ascii: " "))
      } else if byte == UInt8(ascii: "%"), let high = index == text.endIndex ? nil : text[index].hexDigit,
        case let second = text.index(after: index), second != text.endIndex, let low = text[second].hexDigit
      {
        bytes.append(high << 4 | low)
        index = text.index(after: second)
      } else {
        bytes.append(byte)
      }
    }
    return Array(String(decoding: bytes, as: UTF8.self).utf8)
  }
}

extension UInt8 {
  fileprivate var hexDigit: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
