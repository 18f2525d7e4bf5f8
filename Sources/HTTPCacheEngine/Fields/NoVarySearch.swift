// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import RawStructuredFieldValues

/// Which differences between query strings a response is not affected by (`No-Vary-Search`, an Internet-Draft).
///
/// - Important: The field widens what a stored response answers, so that a cache heeds it only when it is set to.
package struct NoVarySearch: Hashable, Sendable {
  private enum Parameters: Hashable {
    /// All count but these.
    case allBut(Set<[UInt8]>)
    /// None counts but these.
    case only(Set<[UInt8]>)
  }

  private let parameters: Parameters
  private let heedsOrder: Bool

  /// Parses the lines of the field.
  ///
  /// `nil` where the field changes nothing: it is absent, says what is so anyway, or anything in it is not understood
  /// (*Parse a URL variation config*). The order alone may be given up: the algorithm's text has that change nothing,
  /// but all the draft's examples have it count.
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

  /// What of a path and query tells one response from another: two URIs of one origin are equivalent exactly where this
  /// is the same.
  ///
  /// - Complexity: O(*n*) in the length of the query, or O(*n* log *n*) where the order does not count.
  func significant(_ pathAndQuery: String) -> (path: Substring, parameters: [FormParameters.Pair]) {
    // By bytes: a combining mark behind it would make another character of the question mark.
    let path = pathAndQuery[..<(pathAndQuery.utf8.firstIndex(of: UInt8(ascii: "?")) ?? pathAndQuery.endIndex)]
    var pairs = FormParameters.pairs(Substring(pathAndQuery.utf8[path.endIndex...].dropFirst()))
    switch parameters {
    case .allBut(let names): pairs.removeAll { names.contains($0.name) }
    case .only(let names): pairs.removeAll { !names.contains($0.name) }
    }
    if !heedsOrder {
      // Values of one name keep their order. Any order of the names will do, as long as it is always the same.
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
  /// In UTF-8: two strings are equal to Swift that are not to the draft, which compares code units.
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

  /// `+` is a space, `%xx` a byte, and bytes that are no UTF-8 are U+FFFD.
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
