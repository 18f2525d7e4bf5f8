// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheHummingbird
import HTTPCacheStore
import HTTPCaching
import Hummingbird
import NIOCore

/// A product catalogue whose routes are cached.
public struct Catalogue: Sendable {
  public let cache: HTTPCache
  let products = Products()
  let runs = Runs()

  public init(clock: any CacheClock = SystemCacheClock.shared) throws {
    var configuration = HTTPCache.Configuration(kind: .shared, memoryCapacity: 64 << 20)
    // By path, apart from the routes.
    configuration.cacheRules = try CacheRules([
      CacheRule(paths: ["/products"]) { $0.ignoredParameters = .allBut(["order"]) },
      CacheRule(paths: ["/admin/*"]) { $0.isBypassed = true },
    ])
    cache = HTTPCache(
      store: try CacheStore(configuration.store), configuration: configuration, clock: clock)
  }

  public func responder() -> some HTTPResponder<BasicRequestContext> {
    let router = Router()
    // Routes that are added before the cache have none.
    router.get("health") { _, _ in "ok" }
    // The catalogue answers all hosts alike, and stands behind a proxy that ends TLS.
    router.add(middleware: CacheMiddleware(cache: cache, publicOrigin: "https://shop.example"))
    // Behind the cache, a middleware sees the runs of the handlers.
    router.add(middleware: runs)
    addPages(to: router)
    addPrices(to: router)
    addChanges(to: router)
    return router.buildCachingResponder()
  }

  private func addPages(to router: Router<BasicRequestContext>) {
    // What the handlers do not say: for how long, and to which group the responses belong.
    router.group("products").caching(.seconds(60), staleIfError: .seconds(600), groups: ["products"])
      .get { request, _ in products.list(by: request.uri.queryParameters["order"]) }
      .get(":id") { _, context in try products[context].text }

    // The handler knows the version, and need not make the page again.
    router.get("pages/:id") { request, context -> Response in
      let product = try products[context]
      if try request.isCurrent(etag: "\(product.version)") { return .notModified }
      return text("The page of the \(product.text)").caching(.public, maxAge: .seconds(60))
    }

    // Streamed: only the handler can name its version.
    router.get("export") { request, _ -> Response in
      if try request.isCurrent(etag: "all-\(products.version)") { return .notModified }
      let lines = products.all.map { "\($0.text)\n" }
      return Response(
        status: .ok,
        body: ResponseBody { writer in
          for line in lines { try await writer.write(ByteBuffer(string: line)) }
          try await writer.finish(nil)
        }
      ).caching(.public, maxAge: .seconds(60), groups: ["products"])
    }

    // Never stored: a rule says so.
    router.get("admin/report") { _, _ in text("a report").caching(.public, maxAge: .seconds(60)) }

    // Content that is made when the handler has returned knows the cache, too.
    router.post("clear") { _, context in
      Response(
        status: .ok,
        body: ResponseBody { writer in
          let count = try context.cache.invalidateAll(counting: true).count ?? 0
          try await writer.write(ByteBuffer(string: "Invalidated \(count) responses."))
          try await writer.finish(nil)
        })
    }
  }

  private func addPrices(to router: Router<BasicRequestContext>) {
    // Stored here, where a change can remove it, and not by browsers and CDNs.
    router.group("prices").caching(.seconds(60), groups: ["products"], clients: .noStore)
      .get(":id") { _, context in try "\(products[context].price) euros" }

    // Half a second is a second: HTTP counts whole ones. Then the stored response answers while a new one is made.
    router.get("stock/:id") { _, context in
      text("\(try products[context].stock) in stock")
        .caching(.public, maxAge: .milliseconds(500), staleWhileRevalidate: .seconds(600))
    }
  }

  private func addChanges(to router: Router<BasicRequestContext>) {
    router.put("products/:id") { request, context -> Response in
      let price = String(buffer: try await request.body.collect(upTo: 100))
      let product = try products[context]
      // Throws a 412 if the client means another version.
      _ = try request.isCurrent(etag: "\"\(product.version)\"")
      // Another request may have been faster.
      guard products.change(product, { $0.price = Int(price) ?? $0.price }) else {
        throw HTTPError(.preconditionFailed)
      }

      let cache = try context.cache
      let inGroup = cache.invalidate(group: "products", counting: true).count ?? 0
      let pages = cache.invalidate(prefix: "/pages/")
      // With a shared tier: whether all machines have done the same.
      let reach = await cache.confirm()
      return text("Invalidated \(inGroup) responses of the group and \(pages) pages, \(reach).")
    }
  }

  private func text(_ text: String) -> Response {
    Response(
      status: .ok, headers: [.contentType: "text/plain"], body: .init(byteBuffer: ByteBuffer(string: text)))
  }
}
