// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// A few names, in lowercase, that each field of a message is looked up among.
///
/// The length of its name and the last letter of that rule out nearly every field: to compare ten with three names took 1,800
/// instructions.
struct FieldNameSet: Hashable, Sendable {
  let names: [String]
  /// Of the length of each name that is no rule's, a bit; the last stands for all that are longer, too.
  let otherLengths: UInt64
  /// The same of each name that rules ask for (see ``FieldKind``): there are none of these, as a rule.
  let ruledLengths: UInt64
  /// Of the last letter of each, a bit.
  let letters: UInt32

  init(_ names: [String]) {
    self.names = names
    otherLengths = Self.lengths(of: names.filter { FieldKind($0) == .other })
    ruledLengths = Self.lengths(of: names.filter { FieldKind($0) != .other })
    letters = names.reduce(0) { $0 | Self.letter(of: $1) }
  }

  static let none = FieldNameSet([])

  /// - Parameter name: in lowercase.
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
    name.withFieldBytes { $0.isEmpty ? 0 : 1 << UInt32($0[$0.count - 1] & 31) }
  }
}
