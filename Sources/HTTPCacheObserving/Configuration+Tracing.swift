// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if Tracing
  import HTTPCaching
  import Tracing

  extension HTTPCache.Configuration {
    /// Makes spans of what the cache does for each request. Needs the trait `Tracing`.
    ///
    /// ```swift
    /// InstrumentationSystem.bootstrap(tracer)
    /// var configuration = HTTPCache.Configuration(kind: .shared)
    /// configuration.trace()
    /// let cache = try HTTPCache(configuration)
    /// ```
    ///
    /// | Span | Time |
    /// |---|---|
    /// | `HTTP cache` | one request to the cache, until the head of the response is there; the others are parts of it |
    /// | `HTTP cache lookup` | waiting for stored responses on the disk |
    /// | `HTTP cache wait` | waiting for the response to another request; it links to that request's span |
    /// | `HTTP cache fetch` | a request to the origin, until the head of the response has arrived |
    /// | `HTTP cache revalidation` | the same in the background, for a stale response that was served meanwhile |
    /// | `HTTP cache tier lookup` | looking for the response in the shared tier |
    /// | `HTTP cache tier lease` | taking the lease of the shared tier, or waiting until another machine has released it |
    /// | `HTTP cache tier store` | storing the response in the shared tier, in the background |
    ///
    /// A fetch belongs to the trace of the request that caused it, and the transport runs in its context. A client that
    /// propagates the context, such as AsyncHTTPClient, sends it to the origin.
    ///
    /// Attributes have the names of OpenTelemetry's conventions for HTTP where there are any: `http.request.method`,
    /// `http.response.status_code`, `url.scheme`, `url.path`, `server.address`, `server.port`. The others are
    /// `httpcache.source` (see `CachedResponse.Source`), `httpcache.reason` and `httpcache.storage` (the names of
    /// reasons), and `httpcache.coalesced`. Queries are omitted, because they may be confidential.
    ///
    /// - Parameter tracer: the tracer (default: the one that the program has bootstrapped). Without one, nothing is recorded
    ///   and requests cost nothing.
    public mutating func trace(with tracer: any Tracer = InstrumentationSystem.tracer) {
      self.tracer = tracer is NoOpTracer ? nil : Self.spans(of: tracer)
    }

    private static func spans(of tracer: some Tracer) -> any CacheTracer { SpanTracer(tracer: tracer) }
  }
#endif
