// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheAsyncHTTPClient
import HTTPCacheHummingbird
import HTTPCacheObserving
import Hummingbird
import NIOCore

/// The service: it calls two upstreams through a cache, and caches its own routes.
struct Gateway {
  /// Responses of upstreams.
  let upstreamCache: HTTPCache
  /// Responses of the routes.
  let routeCache: HTTPCache
  let client: CachingHTTPClient
  let upstreams: Upstreams
  private let upstreamMetrics = CacheMetrics("upstream")
  private let routeMetrics = CacheMetrics("routes")

  init(upstreams: Upstreams) throws {
    self.upstreams = upstreams
    upstreamCache = try HTTPCache(.init(kind: .shared, memoryCapacity: 64 << 20))
    routeCache = try HTTPCache(.init(kind: .shared, memoryCapacity: 64 << 20))
    // Two upstreams that fail must not keep their clients waiting.
    var configuration = HTTPClient.Configuration()
    configuration.timeout = .init(connect: .seconds(1), read: .seconds(5))
    client = CachingHTTPClient(
      configuration: configuration, redirects: .follow(max: 5), cache: upstreamCache)
    upstreamMetrics.count(upstreamCache)
    routeMetrics.count(routeCache)
  }

  func responder() -> some HTTPResponder<BasicRequestContext> {
    let router = Router()
    // Neither is cached: they come before the cache.
    router.get("health") { _, _ in "ok\n" }
    router.get("metrics") { [self] _, _ in metrics() }

    router.add(middleware: CacheMiddleware(cache: routeCache))

    // Two upstream calls, one response.
    router.get("dashboard") { [self] _, _ in
      async let prices = load("/prices")
      async let news = load("/news")
      let (first, second) = try await (prices, news)
      return Response(
        status: .ok, headers: [.contentType: "text/plain"],
        body: .init(byteBuffer: ByteBuffer(string: "\(first.text)\(second.text)"))
      ).caching(.public, maxAge: .seconds(1), staleWhileRevalidate: .seconds(30), groups: ["dashboard"])
    }

    // What the upstream says about caching holds here, too.
    router.get("prices") { [self] _, _ in
      let answer = try await load("/prices")
      return Response(
        status: .ok, headers: [.contentType: "text/plain", .cacheControl: answer.cacheControl],
        body: .init(byteBuffer: ByteBuffer(string: answer.text)))
    }

    // A change invalidates its own URL by itself, and the dashboard by its group.
    router.put("prices") { [self] request, context in
      var change = HTTPClientRequest(url: upstreams.prices.url("/prices"))
      change.method = .PUT
      change.body = .bytes(try await request.body.collect(upTo: 1 << 16))
      let response = try await client.execute(change, timeout: .seconds(5))
      try context.cache.invalidate(group: "dashboard")
      return Response(status: .init(code: Int(response.status.code)))
    }
    return router.buildCachingResponder()
  }

  /// Calls an upstream, through the cache.
  private func load(_ path: String) async throws -> (text: String, cacheControl: String) {
    let upstream = path == "/news" ? upstreams.news : upstreams.prices
    let response = try await client.execute(HTTPClientRequest(url: upstream.url(path)), timeout: .seconds(5))
    guard response.status == .ok else { throw HTTPError(.badGateway) }
    let content = try await response.body.collect(upTo: 1 << 20)
    let source = response.cacheStatus.map { "\($0.source)" } ?? "none"
    return (
      "\(String(buffer: content)) [upstream: \(source)]\n",
      response.headers["Cache-Control"].first ?? "no-cache"
    )
  }

  /// The counts in the text format of Prometheus.
  private func metrics() -> String {
    [("upstream", upstreamMetrics), ("routes", routeMetrics)].map { name, metrics in
      CachedResponse.Source.allCases.map { source in
        "httpcache_requests_total{cache=\"\(name)\",outcome=\"\(source)\"} \(metrics[source].value)\n"
      }.joined() + "httpcache_stored_total{cache=\"\(name)\"} \(metrics.stored.value)\n"
    }.joined()
  }

  func shutdown() async throws {
    try await client.shutdown()
    upstreamCache.close()
    routeCache.close()
  }
}
