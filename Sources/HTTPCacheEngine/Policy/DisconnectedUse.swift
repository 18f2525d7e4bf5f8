// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension CacheEngine {
  /// What may be served of a stale response while its origin cannot be reached (RFC 9111 §4.2.4), whatever its age.
  ///
  /// `stale-if-error` and the request's `max-stale` count besides.
  public enum DisconnectedUse: String, Hashable, Sendable, CaseIterable, Codable {
    /// Nothing: the caller gets the transport's error.
    case nothing
    /// What no directive forbids: neither `must-revalidate` and its like, nor `no-cache`, nor what was invalidated.
    case unlessForbidden
    /// Whatever is stored. The RFC forbids it for a cache by itself; this is the user's own decision to rather see
    /// something than nothing. What carries `no-store` is not there to be served, and a request with `no-cache` is not
    /// answered.
    case anyStored
  }
}
