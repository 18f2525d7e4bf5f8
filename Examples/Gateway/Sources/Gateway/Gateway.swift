// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheAsyncHTTPClient
import HTTPCacheHummingbird
import HTTPCacheObserving
import HTTPCacheStore
import Hummingbird
import NIOCore

/// The service: it calls two upstreams through a cache, and caches its own routes.
struct Gateway {
  /// Responses of upstreams.
  let upstreamCache: HTTPCache
  /// Responses of the routes.
  let routeCache: HTTPCache
  /// What sends the upstream calls; in a test, it answers from memory.
  let client: any RequestSending
  let upstreams: Upstreams
  private let upstreamMetrics = CacheMetrics("upstream")
  private let routeMetrics = CacheMetrics("routes")

  /// - Parameters:
  ///   - client: sends the upstream calls; `nil` for a client with a cache.
  ///   - clock: the clock of the routes' cache.
  init(
    upstreams: Upstreams, client: (any RequestSending)? = nil,
    clock: any CacheClock = SystemCacheClock.shared
  ) throws {
    self.upstreams = upstreams
    upstreamCache = try HTTPCache(.init(kind: .shared, memoryCapacity: 64 << 20))
    var configuration = HTTPCache.Configuration(kind: .shared, memoryCapacity: 64 << 20)
    // The parameters of links from mails and advertisements are not part of a page.
    configuration.cacheRules = try CacheRules([
      CacheRule(paths: ["/dashboard", "/offers"]) { $0.ignoredParameters = .all }
    ])
    routeCache = HTTPCache(
      store: try CacheStore(configuration.store), configuration: configuration, clock: clock)
    self.client = client ?? Self.client(with: upstreamCache)
    upstreamMetrics.count(upstreamCache)
    routeMetrics.count(routeCache)
  }

  private static func client(with cache: HTTPCache) -> CachingHTTPClient {
    // Two upstreams that fail must not keep their clients waiting.
    var configuration = HTTPClient.Configuration()
    configuration.timeout = .init(connect: .seconds(1), read: .seconds(5))
    return CachingHTTPClient(configuration: configuration, redirects: .follow(max: 5), cache: cache)
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

    // Declared for all routes of a group. Clients must ask each time, because the gateway cannot remove what they store.
    router.group("offers").caching(.seconds(60), groups: ["dashboard"], clients: .noStore)
      .get { [self] _, _ in try await load("/prices").text }

    // The handler compares versions, and makes the page only for a client that has another one.
    router.get("news") { [self] request, _ -> Response in
      let answer = try await load("/news")
      if try request.isCurrent(etag: "\(answer.version)") { return .notModified }
      return Response(
        status: .ok, headers: [.contentType: "text/plain"],
        body: .init(byteBuffer: ByteBuffer(string: answer.text))
      ).caching(.public, maxAge: .seconds(60))
    }

    // A change invalidates its own URL by itself, and the dashboard by its group.
    router.put("prices") { [self] request, context in
      var change = HTTPClientRequest(url: upstreams.prices.url("/prices"))
      change.method = .PUT
      change.body = .bytes(try await request.body.collect(upTo: 1 << 16))
      let response = try await client.execute(change, timeout: .seconds(5))
      let status = HTTPResponse.Status(code: Int(response.status.code))
      guard status.kind == .successful else { return Response(status: status) }
      let cache = try context.cache
      cache.invalidate(group: "dashboard")
      // With a shared tier, other gateways serve the old dashboard until they have applied the removal.
      guard await cache.confirm() == .everywhere else { return Response(status: .accepted) }
      return Response(status: status)
    }
    return router.buildCachingResponder()
  }

  /// Calls an upstream, through the cache.
  private func load(_ path: String) async throws -> (text: String, version: Int, cacheControl: String) {
    let upstream = path == "/news" ? upstreams.news : upstreams.prices
    let response = try await client.execute(HTTPClientRequest(url: upstream.url(path)), timeout: .seconds(5))
    guard response.status == .ok else { throw HTTPError(.badGateway) }
    let content = try await response.body.collect(upTo: 1 << 20)
    let source = response.cacheStatus.map { "\($0.source)" } ?? "none"
    let text = String(buffer: content)
    return (
      "\(text) [upstream: \(source)]\n", text.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF },
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

  /// Call it when the last response has been sent: first the connections end, then what stores their responses.
  func shutdown() async throws {
    try await (client as? CachingHTTPClient)?.shutdown()
    upstreamCache.close()
    routeCache.close()
  }
}
