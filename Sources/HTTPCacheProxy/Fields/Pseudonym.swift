// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// The name in the `Via` of the requests that a proxy sends, by which it recognises those that come back to it (RFC 9110
/// §7.6, §7.6.3).
///
/// It is the configured name and a mark, such as `httpcache-9f86d081884c7d65`: another proxy of the same program in the chain has
/// another mark. A process that takes the place of another one also takes its mark, because requests of the earlier process may
/// come back to the later one.
struct Pseudonym: Hashable, Sendable {
  /// 16 hexadecimal digits.
  let mark: String

  /// Makes a new mark.
  init() {
    let digits = String(UInt64.random(in: 0 ... .max), radix: 16)
    mark = String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }

  /// - Parameter mark: that of another process; `nil` is returned if it is invalid.
  init?(mark: String) {
    guard mark.utf8.count == 16, UInt64(mark, radix: 16) != nil else { return nil }
    self.mark = mark
  }

  /// Returns the pseudonym of a proxy with a name.
  func text(_ name: String) -> String { "\(name)-\(mark)" }

  /// Whether the fields are those of a request that the proxy has sent.
  func isIn(_ fields: HTTPFields) -> Bool {
    fields.contains { field in
      field.name.canonicalName == "via" && field.value.utf8.contains(mark.utf8)
    }
  }
}
