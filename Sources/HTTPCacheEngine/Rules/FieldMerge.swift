// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Updates the fields of a stored response with those of a newer response, line by line (RFC 9111 §3.2).
///
/// The first new line of a name takes the place of the stored lines of that name, and further lines follow at the end.
/// So only the fields that change are copied: most fields of a 304 are those that were stored. Composed again, and with a
/// set of the updated names, ten fields took 37,000 instructions.
struct FieldMerge {
  private(set) var fields: HTTPFields
  /// The number of stored lines, which come before those that were added.
  private var storedCount: Int
  /// Bitmasks of the names (see `bit(of:)`) of the stored lines, of those stored at least twice, and of the new lines.
  private var (stored, repeated, updated): (UInt64, UInt64, UInt64) = (0, 0, 0)
  /// The position after the stored line that was replaced last: normally that of the next one.
  private var next = 0

  init(into fields: HTTPFields) {
    self.fields = fields
    storedCount = fields.count
    for position in 0..<storedCount {
      let bit = Self.bit(of: fields[position].name.canonicalName)
      repeated |= stored & bit
      stored |= bit
    }
  }

  /// Puts one line of an update in the place of the stored lines of its name.
  ///
  /// - Parameter update: all lines of the update: each is put in order, or none of its name.
  mutating func put(_ position: Int, of update: HTTPFields) {
    let bit = Self.bit(of: update[position].name.canonicalName)
    let isFirst = updated & bit == 0 || !Self.hasEarlierLine(position, update)
    updated |= bit
    guard isFirst, stored & bit != 0,
      let place = place(of: update[position].name, isRepeated: repeated & bit != 0)
    else { return fields.append(update[position]) }
    next = place + 1
    // Normally most lines are those that were stored.
    if Octets.isSameASCII(valueAt: place, of: fields, as: position, of: update) { return }
    let (old, new) = (Octets(valueAt: place, of: fields), Octets(valueAt: position, of: update))
    if old.ascii != nil, new.ascii != nil {
      fields[place] = update[position]
    } else {
      // Setting a field does nothing if its value is canonically equivalent: other octets would be ignored.
      fields.replaceSubrange(place...place, with: CollectionOfOne(update[position]))
    }
  }

  /// Removes the stored lines of a name that the update does not have.
  mutating func remove(_ name: HTTPField.Name) {
    let bit = Self.bit(of: name.canonicalName)
    if stored & bit != 0, let place = place(of: name, isRepeated: repeated & bit != 0) {
      fields.remove(at: place)
      storedCount -= 1
      next = 0
    }
  }

  /// Returns the position of the first stored line of a name, and removes the others.
  private mutating func place(of name: HTTPField.Name, isRepeated: Bool) -> Int? {
    if !isRepeated {
      return (next..<storedCount).first { Self.isNamed(name, fields, $0) }
        ?? (0..<Swift.min(next, storedCount)).first { Self.isNamed(name, fields, $0) }
    }
    guard let first = (0..<storedCount).first(where: { Self.isNamed(name, fields, $0) }) else { return nil }
    for position in (first + 1..<storedCount).reversed() where Self.isNamed(name, fields, position) {
      fields.remove(at: position)
      storedCount -= 1
    }
    return first
  }

  private static func hasEarlierLine(_ position: Int, _ fields: HTTPFields) -> Bool {
    (0..<position).contains { isNamed(fields[position].name, fields, $0) }
  }

  @inline(__always)
  private static func isNamed(_ name: HTTPField.Name, _ fields: HTTPFields, _ position: Int) -> Bool {
    // Not `HTTPField.Name`'s equality, which is not inlined. Most names have another length.
    fields[position].name.canonicalName.utf8.count == name.canonicalName.utf8.count
      && fields[position].name.canonicalName == name.canonicalName
  }

  /// Returns a bit that depends on the length of a name and its last letter: two names rarely share it.
  @inline(__always)
  private static func bit(of name: String) -> UInt64 {
    name.withFieldBytes { bytes in
      bytes.isEmpty
        ? 0 : 1 << UInt64(truncatingIfNeeded: (bytes.count &* 5 &+ Int(bytes[bytes.count - 1])) & 63)
    }
  }
}
