// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine

/// Reads the parameters of a request to the admin port.
enum AdminParameters {
  typealias Parameter = (name: String, value: String)

  /// Why the parameters mean nothing.
  struct Fault: Error {
    let text: String
    init(_ text: String) { self.text = text }
  }

  /// Reads the query, and the content: one URL per line, or a form with the same parameters.
  static func read(_ query: String, _ content: [UInt8]) throws(Fault) -> [Parameter] {
    var parameters = try parameters(query[...])
    // As bytes: a combining character behind the end of a line would make it another `Character`.
    for line in content.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
      let text = String(decoding: line, as: UTF8.self)
      // Some clients send everything as a form.
      let start = text.prefix(8).lowercasedASCII
      let isURL = start.hasPrefix("http://") || start.hasPrefix("https://")
      parameters += isURL ? [("url", text)] : try self.parameters(text[...])
    }
    return parameters
  }

  /// Reads a flag. It is on if it is present; one that is explicitly off is an error, because it does not say what
  /// is wanted instead.
  static func flag(_ value: String, _ name: String) throws(Fault) -> Bool {
    guard ["", "1", "true"].contains(value) else {
      throw Fault("\(name): expected no value; write \(name), or remove it.")
    }
    return true
  }

  private static func parameters(_ query: Substring) throws(Fault) -> [Parameter] {
    var parameters: [Parameter] = []
    // As bytes: a combining character behind a separator would make it another `Character`.
    for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
      let name = try decoded(pair.prefix { $0 != UInt8(ascii: "=") })
      let value = pair.drop { $0 != UInt8(ascii: "=") }.dropFirst()
      // Forms write a blank as +. In a URL, which has no blanks, + is itself.
      let isName = name == "group" || name == "tag"
      parameters.append((name, try decoded(value, blank: isName ? UInt8(ascii: "+") : nil)))
    }
    return parameters
  }

  /// Percent-decodes a text.
  ///
  /// - Parameter blank: the byte that stands for a blank, if any.
  private static func decoded(
    _ text: Substring.UTF8View, blank: UInt8? = nil
  ) throws(Fault) -> String {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte == blank ? UInt8(ascii: " ") : byte)
        continue
      }
      let digits = rest.prefix(2)
      guard digits.count == 2, digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
        let decoded = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
      else {
        throw Fault(
          "expected two hexadecimal digits after each %, found '\(String(decoding: text.prefix(200), as: UTF8.self))'; write %25 for %."
        )
      }
      bytes.append(decoded)
      rest = rest.dropFirst(2)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
