// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// What a request allows a cache to do, with the six meanings of `URLRequest.CachePolicy`.
public enum RequestCachePolicy: String, Hashable, Sendable, CaseIterable, Codable {
  /// What RFC 9111 says: fresh responses are reused, stale ones validated.
  case useProtocolCachePolicy
  /// No stored response is read; what arrives is stored all the same.
  case reloadIgnoringLocalCacheData
  /// The same, and caches on the way are told to do so too, by `Cache-Control: no-cache` and `Pragma: no-cache`.
  case reloadIgnoringLocalAndRemoteCacheData
  /// Any stored response, whatever its age and whatever its directives say of reuse; the network where there is none.
  ///
  /// That is the caller's own word, as Foundation has it ("regardless of its age or expiration date"), and goes against
  /// RFC 9111 §4.2.4, which lets a cache serve nothing stale against `must-revalidate` or `no-cache`. A response that may
  /// not be stored is not there to be served.
  case returnCacheDataElseLoad
  /// The same, but an error where there is none, and never the network.
  case returnCacheDataDontLoad
  /// A stored response only after its origin has validated it; without a validator it is fetched anew. One that is
  /// fresh and `immutable` was validated beforehand (RFC 8246 §2).
  case reloadRevalidatingCacheData

  /// Whether stored responses may be used without a question to the origin, whatever their age.
  var returnsAnyStored: Bool {
    self == .returnCacheDataElseLoad || self == .returnCacheDataDontLoad
  }

  /// Whether stored responses are not even looked at.
  package var ignoresStored: Bool {
    self == .reloadIgnoringLocalCacheData || self == .reloadIgnoringLocalAndRemoteCacheData
  }
}
