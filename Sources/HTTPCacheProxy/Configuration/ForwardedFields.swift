// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension ProxyConfiguration {
  /// The fields in which the proxy names the client to the origin.
  public enum ForwardedFields: String, Hashable, Sendable, CaseIterable {
    /// `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host`, which most servers read.
    case xForwarded = "x-forwarded"
    /// `Forwarded` (RFC 7239).
    case rfc7239
    /// `X-Forwarded-For` and the like, and `Forwarded`.
    case both
    /// No fields. The proxy still removes those from untrusted clients.
    case none

    var usesXForwarded: Bool { self == .xForwarded || self == .both }
    var usesForwarded: Bool { self == .rfc7239 || self == .both }
  }
}
