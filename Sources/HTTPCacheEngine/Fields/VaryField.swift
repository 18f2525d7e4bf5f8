// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// The field names that a response's `Vary` nominates (RFC 9110 §12.5.5).
package enum VaryField: Hashable, Sendable {
  /// `Vary: *`, alone or among names: the stored response matches no request (RFC 9111 §4.1).
  case any
  /// The names in lowercase, sorted, without duplicates; empty if the response does not vary.
  case names([String])

  /// Parses the field's lines; a member that is not a token makes the whole value unmatchable, like `*`.
  package init(parsing lines: some Sequence<String>) {
    var names = Names()
    for line in lines { names.add(line) }
    self = names.field()
  }

  /// Returns the names together with another.
  func adding(_ name: String) -> VaryField {
    guard case .names(let names) = self, !names.contains(name) else { return self }
    return .names((names + [name]).sorted())
  }

  /// The names of the lines read so far.
  struct Names {
    private var names: [String] = []
    private var isAny = false
    /// The most frequent value, as a constant that needs no separate memory.
    private static let acceptEncoding = ["accept-encoding"]

    @inline(__always)
    mutating func add(_ line: String) {
      if !isAny { isAny = !line.withFieldBytes { add($0) } }
    }

    /// Adds the names of a line; returns `false` for a value that no request matches.
    @inline(__always)
    private mutating func add(_ bytes: Span<UInt8>) -> Bool {
      // Normally one name, and normally this one.
      if bytes.matches("accept-encoding", in: bytes.whole) {
        if names.isEmpty { names = Self.acceptEncoding } else { names.append("accept-encoding") }
        return true
      }
      return addOthers(bytes)
    }

    private mutating func addOthers(_ bytes: Span<UInt8>) -> Bool {
      if bytes.count > 1, bytes.isToken(bytes.whole) {
        append(bytes.lowercasedString(bytes.whole))
        return true
      }
      var members = ListMembers(bytes.whole)
      while let member = members.next(in: bytes) {
        // `*` is a character of tokens.
        if member.count == 1, bytes[member.start] == UInt8(ascii: "*") { return false }
        if !bytes.isToken(member) { return false }
        append(bytes.lowercasedString(member))
      }
      return true
    }

    private mutating func append(_ name: String) {
      // Reserves space for one, and not for as many as an array grows by.
      if names.isEmpty { names = [name] } else { names.append(name) }
    }

    var isEmpty: Bool { names.isEmpty && !isAny }

    /// The result. Ends the use of these names, so that no reference to them is counted.
    consuming func field() -> VaryField {
      if isAny { return .any }
      if names.count < 2 { return .names(names) }
      var unique: [String] = []
      for name in names.sorted() where name != unique.last { unique.append(name) }
      return .names(unique)
    }
  }
}
