// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Fields that concern one connection or one proxy, and are neither stored nor updated (RFC 9111 §3.1, RFC 9110
/// §7.6.1).
enum ConnectionFields {
  /// Returns the names in lowercase that `Connection` lists.
  ///
  /// - Parameter targets: the fields that may replace Cache-Control for caching: they stay, as Cache-Control does.
  static func named(by fields: HTTPFields, targets: [String]) -> [String] {
    var names: [String] = []
    for field in fields where FieldKind(field.name) == .connection {
      field.value.withFieldBytes { bytes in
        var members = ListMembers(bytes.whole)
        while let member = members.next(in: bytes) {
          // Whatever is not a token is the name of no field.
          if bytes.isToken(member) { names.append(bytes.lowercasedString(member)) }
        }
      }
    }
    return names.filter { mayRemove($0, targets: targets) }
  }

  /// "Cache-Control is never appropriate as a connection option" (RFC 9110 §7.6.1). So a message that names it or Vary,
  /// by mistake or to have a private response stored, does not remove them.
  private static func mayRemove(_ name: String, targets: [String]) -> Bool {
    name != "cache-control" && name != "vary" && !targets.contains(name)
  }

  /// Returns the fields without those for one connection, without those that `Connection` names, and without `excluded`
  /// (lowercase).
  ///
  /// - Parameters:
  ///   - namesOthers: whether `Connection` may name other fields. If not, it is not read.
  ///   - targets: the fields that may replace Cache-Control for caching: they stay, as Cache-Control does.
  /// - Complexity: O(*n*) in the number of fields, times that of the names listed.
  static func removed(
    from fields: HTTPFields, excluding excluded: [String], namesOthers: Bool, targets: [String]
  ) -> HTTPFields {
    let listed =
      excluded.filter { mayRemove($0, targets: targets) }
      + (namesOthers ? named(by: fields, targets: targets) : [])
    let kept = fields.lazy.filter { field in
      !FieldKind(field.name).isOfConnection && !listed.contains(field.name.canonicalName)
    }
    return HTTPFields(kept)
  }

  /// Whether all options of a `Connection` field are known to name no other field.
  ///
  /// A field named `close` would be one: if a message has one, do not use this result.
  @inline(__always)
  static func namesNoOthers(_ value: String) -> Bool {
    value.withFieldBytes { $0.matches("keep-alive", in: $0.whole) || namesNoOthers($0) }
  }

  private static func namesNoOthers(_ bytes: Span<UInt8>) -> Bool {
    var members = ListMembers(bytes.whole)
    while let member = members.next(in: bytes) {
      let isKnown =
        bytes.matches("keep-alive", in: member) || bytes.matches("close", in: member)
        || bytes.matches("upgrade", in: member) || bytes.matches("te", in: member)
        || bytes.matches("transfer-encoding", in: member)
      if !isKnown { return false }
    }
    return true
  }
}
