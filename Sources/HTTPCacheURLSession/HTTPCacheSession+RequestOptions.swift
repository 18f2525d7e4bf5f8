// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension HTTPCacheSession {
  /// What one request of the session has of its own. The cache policy is the `cachePolicy` of the `URLRequest`.
  public struct RequestOptions: Sendable {
    /// The freshness lifetime of the response, in place of the origin's; `nil` leaves it to ``CachingOptions/lifetime``.
    ///
    /// It applies if the request goes to the origin and the response is successful (2xx), or confirms a stored one (304).
    /// See `LifetimeRule` for what it replaces.
    public var lifetime: Duration?
    /// The partition of the response; `nil` leaves it to ``CachingOptions/partition``.
    public var partition: String?

    /// Makes options. Each parameter is documented at the property of its name.
    public init(lifetime: Duration? = nil, partition: String? = nil) {
      self.lifetime = lifetime
      self.partition = partition
    }
  }
}
