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
    for field in self where field.name.canonicalName == "connection" && !field.value.isConnectionOptionAlone {
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

  /// Visits the fields of a message without those that concern one connection (RFC 9110 §7.6.1).
  ///
  /// The engine removes them from stored responses; this method is for responses that go to the client directly.
  ///
  /// - Parameter keepsUpgrade: whether `Upgrade` stays, as in a response to a request for another protocol (RFC 9110
  ///   §7.8).
  func forEachEndToEnd(keepsUpgrade: Bool = false, _ visit: (HTTPField) -> Void) {
    let named = connectionOptions
    var hasUpgrade = false
    for field in self {
      switch FieldRole(field.name.canonicalName) {
      case .connection, .transferEncoding, .te, .hop: continue
      case .upgrade:
        guard keepsUpgrade else { continue }
        if !hasUpgrade { visit(HTTPField(name: .connection, value: "Upgrade")) }
        hasUpgrade = true
      default: if named.contains(field.name.canonicalName) { continue }
      }
      visit(field)
    }
  }

  /// Returns a trailer section without the fields that it must not contain (RFC 9110 §6.5.1).
  func asTrailers() -> HTTPFields {
    var kept = HTTPFields()
    forEachEndToEnd { field in
      switch field.name.canonicalName {
      case "host", "content-length", "content-encoding", "content-type", "content-range", "trailer",
        "cache-control",
        "expires", "age", "date", "location", "vary", "max-forwards", "authorization", "set-cookie", "expect",
        "via":
        break
      default: kept.append(field)
      }
    }
    return kept
  }
}

extension String {
  /// Whether the value is one of the two that nearly all Connection fields have, and which name no field.
  var isConnectionOptionAlone: Bool {
    func isAlone(_ option: StaticString) -> Bool {
      utf8.count == option.utf8CodeUnitCount
        && option.withUTF8Buffer { option in utf8.elementsEqual(option) { $0 | 0x20 == $1 } }
    }
    return isAlone("keep-alive") || isAlone("close")
  }
}
