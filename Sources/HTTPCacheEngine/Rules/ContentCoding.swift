// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Whether a client accepts content in a coding (RFC 9110 §12.5.3).
package enum ContentCoding {
  /// - Parameters:
  ///   - lines: the values of a response's `Content-Encoding` lines.
  ///   - request: the request's fields. A request without `Accept-Encoding` counts as accepting no coding. The RFC lets
  ///     the server choose then, but clients that do not send the field decode nothing.
  package static func areAccepted(_ lines: [String], by request: HTTPFields) -> Bool {
    let codings = lines.flatMap(members).map(canonical).filter { $0 != "identity" }
    if codings.isEmpty { return true }
    let ranges = request.lazy.filter { $0.name == .acceptEncoding }.flatMap {
      PreferenceField.ranges(Octets(valueOf: $0))
    }
    return codings.allSatisfy { coding in
      let range = ranges.first { canonical($0.range) == coding } ?? ranges.first { $0.range == "*" }
      return range.map { $0.weight > 0 } ?? false
    }
  }

  private static func members(_ line: String) -> [String] {
    line.withFieldBytes { bytes in
      var members: [String] = []
      var list = ListMembers(bytes.whole)
      while let member = list.next(in: bytes) { members.append(bytes.string(member).lowercasedASCII) }
      return members
    }
  }

  /// Returns the canonical name: some codings have two (RFC 9110 §8.4.1).
  static func canonical(_ coding: String) -> String {
    switch coding {
    case "x-gzip": "gzip"
    case "x-compress": "compress"
    default: coding
    }
  }
}
