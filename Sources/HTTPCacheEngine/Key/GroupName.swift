// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The names of groups in fields (RFC 9875 §2). A tag is a name, too.
package enum GroupName {
  /// Returns the text that stands for a group's name in `Cache-Groups`, in stored responses and in removals.
  ///
  /// A String of structured fields has only printable ASCII characters (RFC 9651 §3.3.3). All other bytes of the name
  /// are percent-encoded: `日本` is `%E6%97%A5%E6%9C%AC`. A `%` is encoded only where it would otherwise read as an
  /// encoded byte. So two names never have the same text, and nearly all names of printable ASCII are their own text.
  package static func inField(_ name: String) -> String { inField(Array(name.utf8)[...]) }

  /// Returns the same for a name of any bytes.
  package static func inField(_ name: ArraySlice<UInt8>) -> String {
    var text = ""
    var bytes = name
    while let byte = bytes.popFirst() {
      if needsEncoding(byte) || byte == percent && isEncodedByte(bytes.prefix(2)) {
        let digits = String(byte, radix: 16, uppercase: true)
        text += digits.utf8.count == 1 ? "%0" + digits : "%" + digits
      } else {
        text.unicodeScalars.append(Unicode.Scalar(byte))
      }
    }
    return text
  }

  /// Returns the texts in fields that a name may stand for: the name may be written as an origin writes it.
  package static func possible(_ name: String) -> [String] {
    let text = inField(name)
    return text == name || name.utf8.contains(where: needsEncoding) ? [text] : [text, name]
  }

  private static let percent = UInt8(ascii: "%")

  private static func needsEncoding(_ byte: UInt8) -> Bool { byte < 0x20 || byte > 0x7E }

  /// Whether these two bytes after a `%` are an encoded byte: uppercase digits, of a byte that is encoded.
  private static func isEncodedByte(_ digits: ArraySlice<UInt8>) -> Bool {
    guard digits.count == 2, digits.allSatisfy({ "0123456789ABCDEF".utf8.contains($0) }),
      let byte = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
    else { return false }
    return byte == percent || needsEncoding(byte)
  }
}
