// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension CacheEngine {
  /// What a shared cache does with a response that sets cookies (RFC 9111 §7.3).
  ///
  /// `Set-Cookie` "does not inhibit caching", so the origin decides, and the default is ``store``. In every case, a
  /// shared cache stores such a response only if the origin declares that users may share it. The declaration is
  /// `public`, or an explicit lifetime greater than 0 without `no-cache`. No heuristic ever makes it fresh.
  ///
  /// A private cache ignores this setting, because the cookies are for its one user.
  public enum SetCookieUse: String, Hashable, Sendable, CaseIterable, Codable {
    /// Stores the cookies with the response, and serves them to every client that it answers.
    case store
    /// Stores the response without its cookies. No client gets them, not even the one whose request fetched it.
    case strip
    /// Stores no response that sets cookies.
    case bypass
  }
}
