// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension CacheEngine {
  /// What a shared cache does with a response that sets cookies (RFC 9111 §7.3).
  ///
  /// `Set-Cookie` "does not inhibit caching", so the origin decides. In every case, a shared cache stores such a response
  /// only if the origin declares that users may share it. The default, ``declared``, requires a declaration for shared
  /// caches: frameworks set a lifetime and a session cookie independently of each other. No heuristic ever makes such a
  /// response fresh.
  ///
  /// A private cache ignores this setting, because the cookies are for its one user.
  public enum SetCookieUse: String, Hashable, Sendable, CaseIterable, Codable {
    /// Stores the cookies with the response if the origin declares it for shared caches: by `public`, or by a lifetime in
    /// `s-maxage` or a targeted field (RFC 9213).
    case declared
    /// Does the same if the origin declares any explicit lifetime greater than 0 without `no-cache`.
    case store
    /// Stores such a response without its cookies. No client gets them, not even the one whose request fetched it.
    case strip
    /// Stores no response that sets cookies.
    case bypass
  }
}
