// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheObserving
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import MetricsTestKit
import TestSupport
import Testing

@Suite("Metrics of a cache", .timeLimit(.minutes(10)))
struct MetricsTests {
  @Test("Metrics count requests by outcome, responses by storage, and the bytes stored and served")
  func counts() async throws {
    let test = TestMetrics()
    let metrics = CacheMetrics(factory: test)
    let (cache, clock) = try makeCache()
    let observation = metrics.count(cache)
    for (path, seconds) in [("/a", 0), ("/a", 0), ("/a", 61), ("/b", 0), ("/b", 0), ("/down", 0)] {
      clock.advance(seconds: Int64(seconds))
      _ = try? await cache.get(path)
    }
    _ = try? await cache.get("/none", policy: .returnCacheDataDontLoad)
    observation.cancel()
    _ = try await cache.get("/a")
    #expect(metrics[.network].value == 3)
    #expect(metrics[.hit].value == 1)
    #expect(metrics[.validated].value == 1)
    #expect(metrics.answered == 5)
    #expect(metrics.failed.value == 1)
    #expect(metrics.notCached.value == 1)
    #expect(metrics.stored.value == 1)
    #expect(metrics.storedBytes.value == 7)
    #expect(metrics.servedBytes.value == 14)
    #expect(metrics.updated.value == 1)
    #expect(metrics.notStored == [.responseNoStore: 2])
    // And the same by swift-metrics.
    #expect(test.counterTotal(label: "httpcache_requests_total", dimensions: [("outcome", "network")]) == 3)
    #expect(test.counterTotal(label: "httpcache_requests_total") == 5)
    #expect(test.counterTotal(label: "httpcache_stored_bytes_total") == 7)
    let reason = [("reason", "responseNoStore")]
    #expect(test.counterTotal(label: "httpcache_not_stored_total", dimensions: reason) == 2)
    #expect(try test.expectGauge("httpcache_memory_entries").lastValue == 1)
  }

  @Test("Evictions are counted once, as in the store's statistics")
  func evictions() async throws {
    let (cache, _) = try makeCache(memory: 64 << 10)
    let metrics = CacheMetrics(factory: TestMetrics())
    metrics.count(cache, [.stored])
    for number in 0..<200 { _ = try await cache.get("/large\(number)") }
    #expect(metrics.memoryEvictions.value > 0)
    #expect(metrics.memoryEvictions.value == cache.store.statistics.memoryEvictions)
    #expect(metrics.stored.value == 200)
    #expect(metrics.answered == 0)
  }

  @Test("Evictions are counted from the start of counting, once for all caches of a store")
  func evictionsOfSharedStore() async throws {
    let store = try CacheStore(.init(memoryCapacity: 64 << 10))
    let (one, two) = (try makeCache(store: store).0, try makeCache(store: store).0)
    for number in 0..<100 { _ = try await one.get("/large\(number)") }
    let before = store.statistics.memoryEvictions
    #expect(before > 0)
    let metrics = CacheMetrics(factory: TestMetrics())
    let observations = [metrics.count(one), metrics.count(two)]
    #expect(metrics.memoryEvictions.value == 0)
    for number in 100..<150 {
      _ = try await one.get("/large\(number)")
      _ = try await two.get("/large\(number + 1000)")
    }
    #expect(metrics.memoryEvictions.value == store.statistics.memoryEvictions - before)
    // Begun in the middle, by another that counts on its own.
    let others = CacheMetrics(factory: TestMetrics())
    let middle = store.statistics.memoryEvictions
    others.count(two, [.stored])
    for number in 200..<250 { _ = try await two.get("/large\(number)") }
    #expect(others.memoryEvictions.value == store.statistics.memoryEvictions - middle)
    #expect(metrics.memoryEvictions.value == store.statistics.memoryEvictions - before)
    // What was not counted is not made up for.
    let counted = metrics.memoryEvictions.value
    for observation in observations { observation.cancel() }
    for number in 300..<350 { _ = try await two.get("/large\(number)") }
    metrics.count(one)
    let again = store.statistics.memoryEvictions
    for number in 400..<450 { _ = try await one.get("/large\(number)") }
    #expect(metrics.memoryEvictions.value - counted == store.statistics.memoryEvictions - again)
    #expect(metrics.memoryEvictions.value > counted)
  }

  @Test(
    "The gauges are correct after concurrent storing and after an invalidation"
  )
  func gauges() async throws {
    let (cache, _) = try makeCache(memory: 64 << 10)
    let test = TestMetrics()
    let metrics = CacheMetrics(factory: test)
    metrics.count(cache, [.stored, .invalidated])
    func areRight() throws -> Bool {
      let usage = cache.store.usage
      return try test.expectGauge("httpcache_memory_bytes").lastValue == Double(usage.memoryBytes)
        && test.expectGauge("httpcache_memory_entries").lastValue == Double(usage.memoryEntries)
        && test.expectGauge("httpcache_disk_bytes").lastValue == 0
    }
    #expect(try areRight(), "before anything is stored")
    for round in 0..<50 {
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<8 { group.addTask { _ = try? await cache.get("/large\(round)-\(number)") } }
      }
      #expect(try areRight(), "round \(round)")
    }
    #expect(metrics.memoryEvictions.value > 0)
    let entries = cache.store.usage.memoryEntries
    let request = HTTPRequest(
      method: .put, scheme: "https", authority: "a.example", path: "/large49-7")
    _ = try await cache.respond(to: request) { _, _ in
      TransportResponse(head: HTTPResponse(status: .noContent))
    }
    #expect(cache.store.usage.memoryEntries == entries - 1 && metrics.invalidated.value == 1)
    #expect(try areRight())
  }

  @Test("Two caches in one process have metrics of their own if they have names")
  func names() async throws {
    let test = TestMetrics()
    for (name, count) in [("a", 1), ("b", 2)] {
      let (cache, _) = try makeCache()
      let metrics = CacheMetrics(name, factory: test)
      metrics.count(cache)
      for number in 0..<count { _ = try await cache.get("/large\(number)") }
      _ = try await cache.get("/b")
    }
    for (name, count) in [("a", 1), ("b", 2)] {
      let base = [("cache", name)]
      #expect(try test.expectGauge("httpcache_memory_entries", base).lastValue == Double(count))
      #expect(test.counterTotal(label: "httpcache_stored_total", dimensions: base) == Int64(count))
      let reason = base + [("reason", "responseNoStore")]
      #expect(test.counterTotal(label: "httpcache_not_stored_total", dimensions: reason) == 1)
    }
  }

  @Test("Caches that are counted together have the sums of their figures")
  func sums() async throws {
    let test = TestMetrics()
    let metrics = CacheMetrics(factory: test)
    let caches = [try makeCache().0, try makeCache().0]
    for cache in caches {
      metrics.count(cache)
      _ = try await cache.get("/a")
    }
    #expect(metrics.stored.value == 2)
    #expect(try test.expectGauge("httpcache_memory_entries").lastValue == 2)
  }

  @Test("Timers have the time to the head of hits and misses, and that of the origin")
  func timers() async throws {
    let test = TestMetrics()
    let clock = TickingClock()
    let cache = HTTPCache(
      store: try CacheStore(.init(memoryCapacity: 1 << 20)), configuration: .init(), clock: clock)
    CacheMetrics("a", factory: test).count(cache)
    func get() async throws {
      let request = HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/")
      let response = try await cache.respond(to: request) { _, _ in
        // The request and the fetch have begun.
        clock.advance(by: 250_000)
        return TransportResponse(
          head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"]),
          body: MessageBody([1]))
      }
      for try await _ in response.body {}
    }
    for _ in 1...3 { try await get() }
    func values(_ outcome: String) throws -> [Int64] {
      try test.expectTimer("httpcache_latency_seconds", [("cache", "a"), ("outcome", outcome)]).values
    }
    // Each look at the clock takes a nanosecond.
    #expect(try values("hit") == [1, 1])
    #expect(try values("network") == [250_003])
    #expect(
      try test.expectTimer("httpcache_origin_latency_seconds", [("cache", "a")]).values == [250_001])
  }

  @Test("Only observers of the end of a request cost looks at the clock")
  func clockReadings() async throws {
    let clock = TickingClock()
    let cache = HTTPCache(
      store: try CacheStore(.init(memoryCapacity: 1 << 20)), configuration: .init(), clock: clock)
    cache.observe([.stored, .forwarded]) { event in #expect(event.duration == nil) }
    for _ in 1...2 { _ = try await cache.get("/a") }
    #expect(clock.readings == 0)
    let observation = cache.observe([.served]) { event in #expect(event.duration == .nanoseconds(1)) }
    _ = try await cache.get("/a")
    #expect(clock.readings == 2)
    observation.cancel()
    _ = try await cache.get("/a")
    #expect(clock.readings == 2)
  }

  @Test("The figures of a shared tier are gauges and counts")
  func sharedTier() async throws {
    let fleet = try await SharedFleet(1)
    let node = fleet.nodes[0]
    let test = TestMetrics()
    CacheMetrics("a", factory: test).count(node.cache)
    let base = [("cache", "a")]
    #expect(try test.expectGauge("httpcache_shared_available", base).lastValue == 1)
    for path in ["/1", "/2"] { _ = try await fleet.get(path, at: 0) }
    node.tier.fault = .failing
    await node.step()
    #expect(try test.expectGauge("httpcache_shared_available", base).lastValue == 0)
    let found = node.statistics
    #expect(found.misses == 2 && found.errors > 0)
    let misses = base + [("result", "miss")]
    #expect(test.counterTotal(label: "httpcache_shared_lookups_total", dimensions: misses) == 2)
    #expect(test.counterTotal(label: "httpcache_shared_errors_total", dimensions: base) > 0)
  }
}

/// A clock that stands still, and whose uptime takes a nanosecond to read.
private final class TickingClock: CacheClock {
  private let time = Mutex((uptime: Int64(0), readings: 0))

  var now: Timestamp { Timestamp(seconds: 1_700_000_000) }
  var readings: Int { time.withLock { $0.readings } }

  var uptimeNanoseconds: Int64 {
    time.withLock { time in
      time.readings += 1
      time.uptime += 1
      return time.uptime
    }
  }

  func advance(by nanoseconds: Int64) { time.withLock { $0.uptime += nanoseconds } }
}

func makeCache(memory: Int = 1 << 20, store: CacheStore? = nil) throws -> (HTTPCache, ManualClock) {
  let clock = ManualClock(Timestamp(seconds: 1_700_000_000))
  let store = try store ?? CacheStore(.init(memoryCapacity: memory))
  return (HTTPCache(store: store, configuration: .init(), clock: clock), clock)
}

extension HTTPCache {
  func get(
    _ path: String, authority: String = "a.example", policy: RequestCachePolicy = .useProtocolCachePolicy
  ) async throws -> CachedResponse {
    let request = HTTPRequest(method: .get, scheme: "https", authority: authority, path: path)
    let response = try await respond(to: request, policy: policy) { request, _ in
      if path == "/down" { throw Unreachable() }
      if request.headerFields[.ifNoneMatch] != nil {
        return TransportResponse(head: HTTPResponse(status: .notModified, headerFields: [.eTag: "\"a\""]))
      }
      let isStored = path != "/b"
      return TransportResponse(
        head: HTTPResponse(
          status: .ok, headerFields: [.cacheControl: isStored ? "max-age=60" : "no-store", .eTag: "\"a\""]),
        body: MessageBody(
          path.hasPrefix("/large") ? [UInt8](repeating: 1, count: 1000) : Array("content".utf8)))
    }
    for try await _ in response.body {}
    return response
  }
}
