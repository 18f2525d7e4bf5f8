// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A version of HTTP that clients use with the proxy.
enum HTTPVersion: Hashable, Sendable, CaseIterable {
  case http10
  case http11
  case http2

  /// The version in elements that require a minor version (RFC 9110 §2.5), such as `Via`: `1.1`.
  var number: StaticString {
    switch self {
    case .http10: "1.0"
    case .http11: "1.1"
    case .http2: "2.0"
    }
  }
}
