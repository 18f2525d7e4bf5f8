// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import AsyncHTTPClient
import HTTPCaching
import NIOCore
import NIOHTTP1

extension CachingHTTPClient {
  /// The options of all requests of a client.
  public struct Options: Sendable {
    /// Which requests go through the cache (default: all). ``CachingHTTPClient/client`` sends the others, as if there were no cache.
    public var shouldIntercept: @Sendable (HTTPClientRequest) -> Bool = { _ in true }

    /// The partition of a request's response, for example its account; `nil` (the default) for the cache's own. Each
    /// redirect target has its own.
    public var partition: @Sendable (HTTPClientRequest) -> String? = { _ in nil }

    /// Whether the content of a request is in memory, so that it can be sent again (default: no).
    ///
    /// A redirect with 307 or 308 keeps method and content. It is followed if this returns `true` and the content arrives as
    /// a single buffer, as that of `.bytes(…)` up to 4 MiB does. Otherwise, as with `HTTPClient`, the redirect is the answer.
    /// AsyncHTTPClient does not publish which content can be read twice, so the client reads a second buffer to see.
    /// A stream for which this returns `true` is sent without a `Content-Length`.
    public var canResendContent: @Sendable (HTTPClientRequest) -> Bool = { _ in false }

    /// Sets the freshness lifetime of a response that has just arrived from its origin, in place of the origin; `nil`
    /// leaves it to the origin. See `LifetimeRule` for what it replaces.
    ///
    /// It is also called for a 304, which confirms a stored response. It must not block.
    public var lifetime: (@Sendable (HTTPClientRequest, HTTPResponseHead) -> Duration?)?

    /// Requests without a response at which an upstream gets only one request now and then, unless it responded to more of its
    /// latest requests (default: 5); `nil` for no limit.
    ///
    /// The first such request is sent after 100 ms. The time doubles from one to the next, up to ``retryInterval``. The requests of
    /// the last seconds count: at least 2.5, and more with a longer ``retryInterval``.
    ///
    /// A request counts if its connection cannot be made, if a timeout of the client's configuration ends it, or if the
    /// deadline of a caller passes; deadlines count once per ``retryInterval``. A connection that the upstream closes does
    /// not count, nor does the wait for a free connection of the pool.
    ///
    /// Other requests are not sent: a stored response answers where `stale-if-error` or the cache's settings permit it, and
    /// otherwise ``UpstreamUnavailable`` is thrown. The first response, whatever its status, ends that.
    public var failureLimit: Int? = 5

    /// Longest time between the requests to an upstream that does not respond (default: 1 second).
    public var retryInterval: TimeAmount = .seconds(1)

    /// Makes options with the defaults.
    public init() {}

    var breakers: UpstreamBreakers {
      UpstreamBreakers(limit: failureLimit.map { max(1, $0) }, interval: retryInterval)
    }
  }

  /// The options of one request.
  public struct RequestOptions: Sendable {
    /// What the request allows the cache to do (default: `useProtocolCachePolicy`).
    public var policy: RequestCachePolicy
    /// The partition of the response and of all redirects; `nil` leaves it to ``Options/partition``.
    public var partition: String?
    /// The freshness lifetime of the response, in place of the origin's; `nil` leaves it to ``Options/lifetime``.
    ///
    /// It applies if the request goes to the origin and the response is successful (2xx), or confirms a stored one (304).
    public var lifetime: Duration?

    /// Makes options. Each parameter is documented at the property of its name.
    public init(
      policy: RequestCachePolicy = .useProtocolCachePolicy, partition: String? = nil,
      lifetime: Duration? = nil
    ) {
      self.policy = policy
      self.partition = partition
      self.lifetime = lifetime
    }
  }
}
