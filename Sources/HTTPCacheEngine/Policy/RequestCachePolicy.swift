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
  /// Any stored response, whatever its age and its directives about reuse; the network if there is none.
  ///
  /// The caller decides this, as in Foundation ("regardless of its age or expiration date"). It goes against RFC 9111
  /// §4.2.4, by which a cache serves nothing stale against `must-revalidate` or `no-cache`. A response that must not be
  /// stored is never in the store.
  case returnCacheDataElseLoad
  /// The same, but an error if there is none, and never the network.
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
