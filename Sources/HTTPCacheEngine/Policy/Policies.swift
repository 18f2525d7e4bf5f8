// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// What a request allows a cache to do, with the six meanings of `URLRequest.CachePolicy`.
public enum RequestCachePolicy: String, Hashable, Sendable, CaseIterable, Codable {
  /// The rules of RFC 9111: fresh responses are reused, stale ones revalidated.
  case useProtocolCachePolicy
  /// No stored response is used; the new response is stored all the same.
  case reloadIgnoringLocalCacheData
  /// The same. In addition, `Cache-Control: no-cache` and `Pragma: no-cache` tell intermediate caches to do so, too.
  case reloadIgnoringLocalAndRemoteCacheData
  /// Uses any stored response, regardless of its age and its directives. Without one, the request goes to the origin.
  ///
  /// The caller decides this, as in Foundation ("regardless of its age or expiration date"). It goes against RFC 9111
  /// §4.2.4, by which a cache serves nothing stale against `must-revalidate` or `no-cache`. A response that must not be
  /// stored is never in the store. A shared cache does not use a stale response that had no lifetime: it may be for another
  /// user.
  case returnCacheDataElseLoad
  /// Uses any stored response, as `returnCacheDataElseLoad`. Without one, the request fails: it never goes to the origin.
  case returnCacheDataDontLoad
  /// A stored response only after its origin has validated it; without a validator it is refetched. A response that is
  /// fresh and `immutable` counts as validated (RFC 8246 §2).
  case reloadRevalidatingCacheData

  /// Whether stored responses may be used without a request to the origin, whatever their age.
  var returnsAnyStored: Bool {
    self == .returnCacheDataElseLoad || self == .returnCacheDataDontLoad
  }

  /// Whether the lookup of stored responses is skipped.
  package var ignoresStored: Bool {
    self == .reloadIgnoringLocalCacheData || self == .reloadIgnoringLocalAndRemoteCacheData
  }
}

extension CacheEngine {
  /// Which stale responses may be served while their origin is unreachable (RFC 9111 §4.2.4), whatever their age.
  ///
  /// `stale-if-error` and the request's `max-stale` apply in addition. A shared cache serves none that had no lifetime when it
  /// was stored or last validated: it may be the page of one visitor.
  public enum DisconnectedUse: String, Hashable, Sendable, CaseIterable, Codable {
    /// None: the caller gets the transport's error.
    case nothing
    /// Those that no directive forbids: neither `must-revalidate` and the like, nor `no-cache`. Invalidated responses
    /// are excluded, too.
    case unlessForbidden
    /// Any stored response. The RFC forbids this to a cache by itself; it is the user's own decision to prefer an old
    /// response to none. Responses with `no-store` are never stored, so they cannot be served. A request with
    /// `no-cache` is not answered.
    case anyStored
  }

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
