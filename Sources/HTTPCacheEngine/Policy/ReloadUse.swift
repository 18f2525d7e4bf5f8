// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension CacheEngine {
  /// What a request may require of a fresh stored response by `no-cache`, `max-age` and `min-fresh` (RFC 9111 §5.2.1).
  ///
  /// A browser sends these when its user reloads a page. The RFC leaves it to the cache: a request only states what its
  /// client prefers. In a shared cache, clients could otherwise send as many requests to the origin as they like.
  public enum ReloadUse: String, Hashable, Sendable, CaseIterable, Codable {
    /// Each such request goes to the origin by itself.
    case honor
    /// Such requests validate the stored response together: one that arrives during a validation waits for its result.
    case validateOnce
    /// They are answered as if they did not have these directives.
    case ignore
  }
}
