// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Octets of a message, such as a field value or an entity tag: two are equal only if all their octets are.
///
/// HTTP's elements are octets (RFC 9110 §5.5). `String` compares by canonical equivalence, in which the KELVIN SIGN equals
/// the letter K, and has one character for all octets that are not UTF-8.
package struct Octets: Hashable, Sendable {
  /// A character of ISO 8859-1 for each octet; unless all are ASCII, a mark stands before them.
  ///
  /// No two such texts are canonically equivalent, because none has combining characters: so `String`'s own equality is
  /// that of the octets. A text of ASCII is the value itself, without a copy, and up to 15 octets need no memory of their
  /// own. With an array, the selecting fields of a response took two allocations more.
  private let text: String

  /// The mark: no text of ASCII begins with its first byte.
  private static let mark: Unicode.Scalar = "\u{80}"

  /// - Parameter text: octets of ASCII.
  @inline(__always)
  init(ofASCII text: String) { self.text = text }

  /// The octets of a field value, without whitespace around them (RFC 9110 §5.5).
  package init(valueOf field: HTTPField) {
    self = Self.plain(field.value) ?? field.withOctets { Octets($0, $0.trimmed($0.whole)) }
  }

  /// The octets of the value of a field of a message.
  @inline(__always)
  init(valueAt position: Int, of fields: HTTPFields) {
    // Without a copy of the field, which would take 150 instructions.
    self = Self.plain(fields[position].value) ?? Octets(valueOf: fields[position])
  }

  /// Returns a value of ASCII without whitespace around it; `nil` for any other.
  @inline(__always)
  private static func plain(_ value: String) -> Octets? {
    let isPlain = value.withFieldBytes { bytes in
      bytes.isASCII
        && (bytes.isEmpty
          || !bytes[0].isOptionalWhitespace && !bytes[bytes.count - 1].isOptionalWhitespace)
    }
    return isPlain ? Octets(ofASCII: value) : nil
  }

  /// Whether the value of a field of a message has these octets, and all are ASCII.
  @inline(__always)
  static func isSameASCII(valueAt position: Int, of fields: HTTPFields, as bytes: Span<UInt8>) -> Bool {
    fields[position].value.withFieldBytes { $0.isSameASCII(bytes) }
  }

  init(_ bytes: Span<UInt8>, _ range: ByteRange) {
    if bytes.isASCII(range) {
      text = bytes.string(range)
    } else {
      var text = String(Self.mark)
      for position in range.start..<range.end { text.unicodeScalars.append(Unicode.Scalar(bytes[position])) }
      self.text = text
    }
  }

  package init(_ bytes: [UInt8]) {
    let span = bytes.span
    self.init(span, span.whole)
  }

  /// The octets of a text in UTF-8.
  package init(_ text: String) {
    self = text.withFieldBytes { bytes in
      bytes.isASCII ? Octets(ofASCII: text) : Octets(bytes, bytes.whole)
    }
  }

  /// The octets as a text, if all are ASCII.
  @inline(__always)
  var ascii: String? {
    text.withFieldBytes { $0.isEmpty || $0[0] < 0x80 } ? text : nil
  }

  /// Calls `body` with the octets.
  @inline(__always)
  func withBytes<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
    if let ascii { return ascii.withFieldBytes(body) }
    let bytes = text.unicodeScalars.dropFirst().map { UInt8(truncatingIfNeeded: $0.value) }
    return body(bytes.span)
  }

  var bytes: [UInt8] { withBytes { bytes in bytes.withUnsafeBufferPointer { Array($0) } } }

  var isEmpty: Bool { text.isEmpty }

  var count: Int { ascii?.utf8.count ?? text.unicodeScalars.count - 1 }

  /// The octets with the capital letters of ASCII in lowercase.
  var lowercased: Octets {
    withBytes { bytes in
      var folded: [UInt8] = []
      folded.reserveCapacity(bytes.count)
      for position in 0..<bytes.count { folded.append(bytes[position].lowercasedASCII) }
      return Octets(folded)
    }
  }

  /// Makes a field with these octets as its value.
  package func field(_ name: HTTPField.Name) -> HTTPField {
    ascii.map { HTTPField(name: name, value: $0) } ?? HTTPField(name: name, value: bytes)
  }
}

extension Octets: ExpressibleByStringLiteral {
  package init(stringLiteral text: String) { self.init(text) }
}

extension Octets: CustomStringConvertible {
  /// The octets read as UTF-8, for display: what is not UTF-8 becomes U+FFFD.
  package var description: String { String(decoding: bytes, as: UTF8.self) }
}

extension StringProtocol {
  /// The text with the capital letters of ASCII in lowercase.
  ///
  /// `lowercased()` maps the KELVIN SIGN to k: a name from the network would equal one that it is not.
  ///
  /// Inlinable: unspecialised in other modules, it took 1.7 µs of a miss in the proxy.
  @inlinable
  package var lowercasedASCII: String {
    let bytes = utf8
    guard bytes.contains(where: { $0 >= 0x41 && $0 <= 0x5A }) else { return String(self) }
    return String(decoding: bytes.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }, as: UTF8.self)
  }

  /// The text without spaces and tabs at its ends.
  package var trimmedOfBlanks: String {
    var text = Substring(self)
    while let first = text.utf8.first, first == 0x20 || first == 0x09 { text.removeFirst() }
    while let last = text.utf8.last, last == 0x20 || last == 0x09 { text.removeLast() }
    return String(text)
  }
}
