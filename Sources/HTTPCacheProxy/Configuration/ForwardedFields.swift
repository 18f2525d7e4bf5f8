// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension ProxyConfiguration {
  /// The fields that name the client to the origin.
  public enum ForwardedFields: String, Hashable, Sendable, CaseIterable {
    /// `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host`, which most servers read.
    case xForwarded = "x-forwarded"
    /// `Forwarded` (RFC 7239).
    case rfc7239
    case both
    /// None. Those of clients that are not trusted are removed all the same.
    case none

    var usesXForwarded: Bool { self == .xForwarded || self == .both }
    var usesForwarded: Bool { self == .rfc7239 || self == .both }
  }
}
