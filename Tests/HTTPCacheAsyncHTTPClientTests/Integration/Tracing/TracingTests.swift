// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import AsyncHTTPClient
import Foundation
import HTTPCacheAsyncHTTPClient
import HTTPCacheObserving
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import InMemoryTracing
import Instrumentation
import Loopback
import NIOCore
import TestSupport
import Testing
import Tracing

@Suite("Spans of the steps of a request", .timeLimit(.minutes(10)))
struct TracingTests {
  private let tracer = InMemoryTracer()
  private let clock = ManualClock(Timestamp(seconds: 1_700_000_000))
  private let request = HTTPRequest(
    method: .get, scheme: "https", authority: "a.example:8443", path: "/feed?token=secret")

  private func cache(
    disk: FilePath? = nil, traced isTraced: Bool = true,
    configure: (inout HTTPCache.Configuration) -> Void = { _ in }
  ) throws -> HTTPCache {
    var configuration = HTTPCache.Configuration(kind: .shared)
    if isTraced { configuration.trace(with: tracer) }
    configure(&configuration)
    return HTTPCache(
      store: try CacheStore(
        .init(
          memoryCapacity: disk == nil ? 1 << 20 : 0, diskCapacity: disk == nil ? 0 : 8 << 20, directory: disk)
      ),
      configuration: configuration, clock: clock)
  }

  private static func transport(_ cacheControl: String = "max-age=60") -> Transport {
    { _, _ in
      .init(head: .init(status: .ok, headerFields: [.cacheControl: cacheControl]), body: MessageBody([1]))
    }
  }

  /// The spans that have ended, with a few of their attributes, in the order of their ends.
  private func spans() -> [String] {
    tracer.finishedSpans.map { span in
      let source = span.attributes.get("httpcache.source").map { " \($0)" } ?? ""
      return span.operationName + source.replacing("string(\"", with: "").replacing("\")", with: "")
    }
  }

  private func read(_ response: CachedResponse) async throws {
    _ = try await response.body.collect(upTo: 100)
  }

  @Test("A miss has a fetch within its request, and a hit has one span")
  func missAndHit() async throws {
    let cache = try cache()
    try await read(try await cache.respond(to: request, transport: Self.transport()))
    #expect(spans() == ["HTTP cache fetch", "HTTP cache network"])
    let (fetch, answer) = (tracer.finishedSpans[0], tracer.finishedSpans[1])
    #expect(fetch.parentSpanID == answer.spanID && fetch.traceID == answer.traceID)
    for span in [fetch, answer] {
      #expect(span.attributes.get("http.request.method") == .string("GET"))
      #expect(span.attributes.get("http.response.status_code") == .int64(200))
      #expect(span.attributes.get("url.scheme") == .string("https"))
      #expect(span.attributes.get("url.path") == .string("/feed"))
      #expect(span.attributes.get("server.address") == .string("a.example"))
      #expect(span.attributes.get("server.port") == .int64(8443))
      #expect(!"\(span.attributes)".contains("secret"))
    }
    tracer.clearFinishedSpans()
    try await read(try await cache.respond(to: request, transport: Self.transport()))
    _ = try #require(cache.storedResponse(for: request))
    #expect(spans() == ["HTTP cache hit", "HTTP cache hit"])
    #expect(tracer.finishedSpans.allSatisfy { $0.attributes.get("httpcache.reason") == .string("fresh") })
  }

  @Test("A lookup that waits for the disk is a span of its own")
  func lookup() async throws {
    try await withTemporaryFolder { folder in
      let cache = try cache(disk: FilePath(folder.path))
      try await read(try await cache.respond(to: request, transport: Self.transport()))
      tracer.clearFinishedSpans()
      cache.flush()
      // Whatever the page cache has, only a lookup that may wait deals with damage.
      for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
      where name.hasPrefix("segment-") {
        let file = folder.appending(path: name)
        let count = try Data(contentsOf: file).count
        let segment = try FileHandle(forWritingTo: file)
        try segment.write(contentsOf: Data(count: count))
        try segment.close()
      }
      try await read(try await cache.respond(to: request, transport: Self.transport()))
      #expect(spans() == ["HTTP cache lookup", "HTTP cache fetch", "HTTP cache network"])
      cache.close()
    }
  }

  @Test("A coalesced request waits, and links to the span of the request that was sent")
  func coalesced() async throws {
    var configured = HTTPCache.Configuration()
    configured.trace(with: tracer)
    let (watch, gate) = (CoalescingWatch(configured.tracer), Gate())
    let cache = try cache { $0.tracer = watch }
    async let first = cache.respond(to: request) { _, _ in
      await gate.wait()
      return .init(
        head: .init(status: .ok, headerFields: [.cacheControl: "max-age=60"]), body: MessageBody([1]))
    }
    await gate.arrived(1)
    async let second = cache.respond(to: request, transport: Self.transport())
    try await watch.followers(1)
    gate.open()
    try await read(try await first)
    try await read(try await second)
    let fetch = try #require(tracer.finishedSpans.first { $0.operationName == "HTTP cache fetch" })
    let wait = try #require(tracer.finishedSpans.first { $0.operationName == "HTTP cache wait" })
    #expect(wait.traceID != fetch.traceID)
    #expect(wait.links.map { $0.context.inMemorySpanContext?.spanID } == [fetch.spanID])
    #expect(tracer.finishedSpans.contains { $0.attributes.get("httpcache.coalesced") == .bool(true) })
    #expect(tracer.activeSpans.isEmpty)
  }

  @Test("A background revalidation is a span in the trace of the request that caused it")
  func revalidation() async throws {
    let cache = try cache()
    let transport = Self.transport("max-age=1, stale-while-revalidate=60")
    try await read(try await cache.respond(to: request, transport: transport))
    clock.advance(seconds: 10)
    tracer.clearFinishedSpans()
    try await read(try await cache.respond(to: request, transport: transport))
    try await cache.fetches.emptied()
    #expect(Set(spans()) == ["HTTP cache stale", "HTTP cache revalidation"])
    #expect(Set(tracer.finishedSpans.map(\.traceID)).count == 1)
  }

  @Test("An error of the transport is recorded in the spans")
  func failure() async throws {
    struct Unreachable: Error {}
    let cache = try cache()
    await #expect(throws: Unreachable.self) {
      try await cache.respond(to: request) { _, _ in throw Unreachable() }
    }
    #expect(tracer.finishedSpans.count == 2 && tracer.finishedSpans.allSatisfy { $0.errors.count == 1 })
  }

  @Test("Without a tracer nothing is recorded")
  func untraced() async throws {
    var configuration = HTTPCache.Configuration()
    // The program has bootstrapped none.
    configuration.trace()
    #expect(configuration.tracer == nil)
    let cache = try cache(traced: false)
    try await read(try await cache.respond(to: request, transport: Self.transport()))
    #expect(spans().isEmpty)
  }

  @Test("AsyncHTTPClient sends the context of the fetch to the origin")
  func propagation() async throws {
    let origin = try await LoopbackOrigin.start { _ in .init(fields: [.cacheControl: "max-age=60"], body: "a")
    }
    var configuration = HTTPClient.Configuration()
    configuration.tracing.tracer = tracer
    // The machine may have other work.
    configuration.timeout.connect = .minutes(4)
    let client = CachingHTTPClient(configuration: configuration, redirects: nil, cache: try cache())
    try await tracer.withSpan("program") { _ in
      for _ in 0..<2 {
        let response = try await client.execute(
          HTTPClientRequest(url: origin.url("/")), timeout: .minutes(4))
        _ = try await response.body.collect(upTo: 10)
      }
    }
    let program = try #require(tracer.finishedSpans.first { $0.operationName == "program" })
    #expect(tracer.finishedSpans.allSatisfy { $0.traceID == program.traceID })
    #expect(tracer.finishedSpans.count { $0.operationName == "HTTP cache" } == 2)
    let sent = try #require(origin.requests.only)
    let id = try #require(HTTPField.Name(InMemoryTracer.traceIDKey))
    #expect(sent.fields[id] == program.traceID)
    try await client.shutdown()
    await origin.stop()
  }
}

extension Array {
  fileprivate var only: Element? { count == 1 ? first : nil }
}
