// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// A small set of lowercase names, in which each field of a message is looked up.
///
/// The length of a name and its last letter exclude nearly every field: comparing ten names with three took 1,800
/// instructions.
struct FieldNameSet: Hashable, Sendable {
  let names: [String]
  /// Bitmask of the lengths of names that no rule uses; the last bit also stands for all longer ones.
  let otherLengths: UInt64
  /// Bitmask of the lengths of names that rules use (see ``FieldKind``): normally empty.
  let ruledLengths: UInt64
  /// Bitmask of the last letters of the names.
  let letters: UInt32

  init(_ names: [String]) {
    self.names = names
    otherLengths = Self.lengths(of: names.filter { FieldKind($0) == .other })
    ruledLengths = Self.lengths(of: names.filter { FieldKind($0) != .other })
    letters = names.reduce(0) { $0 | Self.letter(of: $1) }
  }

  static let none = FieldNameSet([])

  /// - Parameter name: the name in lowercase.
  @inline(__always)
  func contains(_ name: String) -> Bool {
    (otherLengths | ruledLengths) & Self.length(of: name) != 0 && letters & Self.letter(of: name) != 0
      && names.contains(name)
  }

  private static func lengths(of names: [String]) -> UInt64 { names.reduce(0) { $0 | length(of: $1) } }

  @inline(__always)
  static func length(of name: String) -> UInt64 {
    1 << UInt64(truncatingIfNeeded: Swift.min(name.utf8.count, 63))
  }

  @inline(__always)
  static func letter(of name: String) -> UInt32 {
    name.withFieldBytes { letter(of: $0) }
  }

  @inline(__always)
  fileprivate static func letter(of name: Span<UInt8>) -> UInt32 {
    name.isEmpty ? 0 : 1 << UInt32(name[name.count - 1] & 31)
  }

  /// Whether the set may contain a name with this outline.
  @inline(__always)
  func mayContain(_ outline: FieldNameOutline) -> Bool {
    (outline.kind == .other ? otherLengths : ruledLengths) & outline.length != 0
      && letters & outline.letter != 0
  }
}

/// What decides for most names whether a rule uses them.
struct FieldNameOutline {
  let kind: FieldKind
  /// The bit of its length, and of its last letter (see ``FieldNameSet``).
  let length: UInt64
  let letter: UInt32

  /// - Parameter name: the name in any case.
  @inline(__always)
  init(_ name: Span<UInt8>) {
    kind = FieldKind(name)
    length = 1 << UInt64(truncatingIfNeeded: Swift.min(name.count, 63))
    letter = FieldNameSet.letter(of: name)
  }
}
