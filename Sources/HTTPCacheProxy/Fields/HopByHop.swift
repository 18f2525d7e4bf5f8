// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

extension HTTPFields {
  /// The options that `Connection` names besides itself, in lowercase (RFC 9110 §7.6.1).
  ///
  /// Cache-Control and Vary are left out, because they are "never appropriate as a connection option": naming them must
  /// not remove them. So are the fields that decide where the message ends.
  var connectionOptions: Set<String> {
    var options: Set<String> = []
    for field in self where field.name.canonicalName == "connection" {
      for option in field.value.split(separator: ",") {
        let option = option.trimmingOptionalWhitespace.lowercasedASCII
        if !Self.neverOptions.contains(option) { options.insert(option) }
      }
    }
    return options
  }

  private static let neverOptions: Set = [
    "", "close", "keep-alive", "cache-control", "vary", "host", "content-length",
  ]

  /// Returns the fields of a message without those that concern one connection (RFC 9110 §7.6.1).
  ///
  /// The engine removes them from stored responses; this method is for responses that go to the client directly.
  ///
  /// - Parameter keepsUpgrade: whether `Upgrade` stays, as in a response to a request for another protocol (RFC 9110
  ///   §7.8).
  func withoutHopByHop(keepsUpgrade: Bool = false) -> HTTPFields {
    var named: Set<String>?
    var kept = HTTPFields()
    kept.reserveCapacity(count)
    if contains(where: { $0.name.canonicalName == "connection" }) { named = connectionOptions }
    for field in self {
      switch FieldRole(field.name.canonicalName) {
      case .connection, .transferEncoding, .te, .hop: continue
      case .upgrade:
        guard keepsUpgrade else { continue }
        if kept[.upgrade] == nil { kept.append(HTTPField(name: .connection, value: "Upgrade")) }
      default: if named?.contains(field.name.canonicalName) == true { continue }
      }
      kept.append(field)
    }
    return kept
  }

  /// Returns a trailer section without the fields that it must not contain (RFC 9110 §6.5.1).
  func asTrailers() -> HTTPFields {
    var kept = HTTPFields()
    for field in withoutHopByHop() {
      switch field.name.canonicalName {
      case "host", "content-length", "content-encoding", "content-type", "content-range", "trailer",
        "cache-control",
        "expires", "age", "date", "location", "vary", "max-forwards", "authorization", "set-cookie", "expect",
        "via":
        continue
      default: kept.append(field)
      }
    }
    return kept
  }
}
