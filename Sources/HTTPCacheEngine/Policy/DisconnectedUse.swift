// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension CacheEngine {
  /// Which stale responses may be served while their origin is unreachable (RFC 9111 §4.2.4), whatever their age.
  ///
  /// `stale-if-error` and the request's `max-stale` apply in addition.
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
}
