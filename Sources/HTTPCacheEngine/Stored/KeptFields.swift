// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Positions among the fields of a message: a bit for each of the first 64; for the others, only whether there are any.
struct FieldPositions: Hashable, Sendable {
  private var bits: UInt64 = 0
  /// Whether the positions of all inserted fields are known.
  private(set) var isExact = true

  @inline(__always)
  mutating func insert(_ position: Int) {
    if position < 64 { bits |= 1 << UInt64(position) } else { isExact = false }
  }

  @inline(__always)
  func contains(_ position: Int) -> Bool { position < 64 && bits >> UInt64(position) & 1 != 0 }

  var isEmpty: Bool { bits == 0 && isExact }
  /// The number of known positions.
  var count: Int { bits.nonzeroBitCount }
}

/// The fields of a stored response: those received, except for those that are not stored (RFC 9111 §3.1), or those of its
/// stored form.
///
/// Omitted fields are only marked. Removing `Connection` from ten fields copies the other nine, which was a quarter of
/// the cost of judging a response. Normally the fields are only written to the stored form.
struct KeptFields: Sendable {
  private enum Form {
    case received(HTTPFields, without: FieldPositions)
    case stored(StoredLines)
  }

  private let form: Form

  /// - Parameter omitted: the positions of fields that are not stored; must be exact.
  init(_ received: HTTPFields, without omitted: FieldPositions = FieldPositions()) {
    form = .received(received, without: omitted)
  }

  init(_ lines: StoredLines) { form = .stored(lines) }

  /// The stored fields.
  ///
  /// - Complexity: O(*n*) if some fields are omitted, or the fields are read from a stored form.
  var fields: HTTPFields {
    switch form {
    case .received(let fields, let omitted):
      if omitted.isEmpty { return fields }
      var kept = HTTPFields()
      kept.reserveCapacity(count)
      for position in fields.indices where !omitted.contains(position) { kept.append(fields[position]) }
      return kept
    case .stored(let lines): return lines.fields
    }
  }

  /// The stored fields in their stored form.
  var lines: StoredLines {
    if case .stored(let lines) = form { return lines }
    return StoredLines(count: count, bytes: ByteWriter.bytes { write(to: &$0) })
  }

  var count: Int {
    switch form {
    case .received(let fields, let omitted): fields.count - omitted.count
    case .stored(let lines): lines.count
    }
  }

  /// Writes the stored form of the fields.
  func write(to writer: inout ByteWriter) {
    switch form {
    case .received(let fields, let omitted):
      for position in fields.indices where !omitted.contains(position) {
        writer.writeField(at: position, of: fields)
      }
    case .stored(let lines): writer.append(lines.bytes.span)
    }
  }

  /// Returns the values of the lines of one name.
  func values(of name: HTTPField.Name) -> [String] {
    switch form {
    case .received(let fields, let omitted):
      var values: [String] = []
      for position in fields.indices
      // Not the equality of names, which is not inlined.
      where fields[position].name.canonicalName == name.canonicalName && !omitted.contains(position) {
        values.append(fields[position].value)
      }
      return values
    case .stored(let lines):
      var values: [String] = []
      lines.forEachValue(of: name) {
        values.append($0.ascii ?? $0.description)
        return true
      }
      return values
    }
  }

  // The same as in `ResponseFields`: the first line of ETag, and lines of Last-Modified if all are equal. Joined by
  // commas they would be another value.

  var entityTag: EntityTag? {
    switch form {
    case .received(let fields, let omitted):
      for position in fields.indices
      where FieldKind(fields[position].name.canonicalName) == .entityTag && !omitted.contains(position) {
        return EntityTag(parsingValueAt: position, of: fields)
      }
      return nil
    case .stored(let lines):
      var tag: EntityTag?
      lines.forEachValue(of: .eTag) {
        tag = EntityTag(parsing: $0)
        return false
      }
      return tag
    }
  }

  /// - Parameter now: needed for two-digit years only.
  func lastModified(at now: Timestamp) -> (date: HTTPDate, text: String)? {
    let lines = values(of: .lastModified)
    guard let text = lines.first, lines.allSatisfy({ $0 == text }),
      let date = HTTPDate(parsing: text, now: now)
    else { return nil }
    return (date, text)
  }

  /// Returns `Last-Modified` as a date in any recognisable format, for use in a condition (§4.3.1).
  func modification(at now: Timestamp) -> (date: HTTPDate, text: String)? {
    let lines = values(of: .lastModified)
    guard let text = lines.first, lines.allSatisfy({ $0 == text }),
      let date = HTTPDate.recognised(text, now: now)
    else { return nil }
    return (date, text)
  }

  func hasValidator(at now: Timestamp) -> Bool { entityTag != nil || modification(at: now) != nil }
}

/// Equal if the stored fields are equal, however they were made.
extension KeptFields: Hashable {
  static func == (left: KeptFields, right: KeptFields) -> Bool {
    let (left, right) = (left.fields, right.fields)
    // Not `HTTPField`'s equality, which is that of `String`.
    return left.count == right.count
      && zip(left, right).allSatisfy {
        $0.name == $1.name && Octets(valueOf: $0) == Octets(valueOf: $1)
      }
  }

  func hash(into hasher: inout Hasher) { hasher.combine(count) }
}
