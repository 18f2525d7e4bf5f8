// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// The fields of a stored response in their stored form (see ``StoredForm``).
///
/// A plan needs two or three of them, and an update copies most of them. To make `HTTPFields` of all took 11,400 of the
/// 16,900 instructions of reading a head of ten fields.
struct StoredLines: Sendable {
  let count: Int
  let bytes: [UInt8]

  /// The lines as fields.
  var fields: HTTPFields {
    var reader = StoredFormReader(position: 0)
    // The bytes were checked when they were read, or written by this process.
    return HTTPFields(&reader, bytes.span.bytes, count: count) ?? HTTPFields()
  }

  /// Calls `body` with the values of the lines of one name, until it returns `false`.
  @inline(__always)
  func forEachValue(of name: HTTPField.Name, _ body: (Octets) -> Bool) {
    let (span, number) = (bytes.span, FieldNameTable.number(ofLowercase: name.canonicalName))
    var reader = StoredFormReader(position: 0)
    for _ in 0..<count {
      guard let line = reader.line(span.bytes) else { return }
      if line.isNamed(name, number, span), !body(span.bytes.octets(line.value)) { return }
    }
  }
}

/// A line of ``StoredLines``.
struct StoredLine {
  /// The number of its name in ``FieldNameTable``; 0 if the name is spelled out.
  let number: UInt8
  /// The name, if it has no number.
  let name: ByteRange
  let value: ByteRange

  /// - Parameter number: that of the name in lowercase.
  @inline(__always)
  func isNamed(_ name: HTTPField.Name, _ number: UInt8, _ bytes: Span<UInt8>) -> Bool {
    if self.number != 0 { return FieldNameTable.lowercase(self.number) == number }
    // A name in another spelling than those of the table has no number here.
    return name.canonicalName.utf8.count == self.name.count
      && name.canonicalName.withFieldBytes { name in
        (0..<name.count).allSatisfy { bytes[self.name.start + $0].lowercasedASCII == name[$0] }
      }
  }

  @inline(__always)
  func outline(_ bytes: Span<UInt8>) -> FieldNameOutline {
    number != 0
      ? FieldNameTable.outline(numbered: number)
      : FieldNameOutline(bytes.extracting(name.start..<name.end))
  }
}
