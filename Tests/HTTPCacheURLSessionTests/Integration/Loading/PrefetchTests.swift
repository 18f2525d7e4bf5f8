// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheURLSession
import HTTPCaching
import HTTPTypes
import Loopback
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Loading ahead, and watching for updates", .timeLimit(.minutes(10)))
struct PrefetchTests {
  private func with(
    _ handler: @escaping LoopbackOrigin.Handler,
    test body: (Setting, HTTPCacheSession) async throws -> Void
  ) async throws {
    try await Setting.with(handler) { setting async throws in
      try await body(setting, HTTPCacheSession(cache: setting.cache, configuration: .plain))
    }
  }

  private static let handler: LoopbackOrigin.Handler = { request in
    switch request.target {
    case "/missing": .init(status: 404, body: "none")
    case "/secret": .init(fields: [.cacheControl: "no-store"], body: "secret")
    default: .init(fields: [.cacheControl: "max-age=60"], body: String(repeating: "x", count: 1000))
    }
  }

  @Test("Prefetched responses are hits, and each result says what became of it", arguments: [0, 1, 3, 100])
  func results(concurrency: Int) async throws {
    try await with(Self.handler) { setting, session async throws in
      _ = try await session.data(for: setting.request("/stored"))
      let paths = ["/a", "/b", "/missing", "/secret", "/stored", "/c"]
      var requests = try paths.map { try setting.request($0) }
      requests.append(URLRequest(url: URL(fileURLWithPath: "/file")))
      var found: [String: HTTPCacheSession.Prefetched] = [:]
      for await one in session.prefetch(requests, atMost: concurrency) {
        found[one.request.url?.path ?? ""] = one
      }
      #expect(found.count == requests.count)
      for path in ["/a", "/b", "/c"] {
        #expect(try found[path]?.result.get().source == .network)
        #expect(found[path]?.byteCount == 1000)
        #expect(try await session.data(for: setting.request(path)).1.source == .hit)
      }
      #expect(try found["/stored"]?.result.get().source == .hit)
      #expect(try found["/missing"]?.result.get().response.statusCode == 404)
      #expect(try found["/secret"]?.result.get().storage == .responseNoStore)
      #expect(throws: URLError.self) { try found["/file"]?.result.get() }
      #expect(setting.origin.requestCount == 6)
    }
  }

  @Test("No more than the given number of requests is in flight")
  func concurrency() async throws {
    let counts = Mutex((now: 0, most: 0))
    try await with { request in
      counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
      defer { counts.withLock { $0.now -= 1 } }
      return .init(fields: [.cacheControl: "max-age=60"], body: request.target)
    } test: { setting, session async throws in
      let requests = try (0..<30).map { try setting.request("/\($0)") }
      var count = 0
      for await _ in session.prefetch(requests, atMost: 3) { count += 1 }
      #expect(count == 30)
      #expect(counts.withLock { $0.most } <= 3)
    }
  }

  @Test(
    "Beyond the byte limit no further request is sent, and hits do not count", arguments: [0, 1, 2500, 5000])
  func limit(bytes: Int) async throws {
    try await with(Self.handler) { setting, session async throws in
      _ = try await session.data(for: setting.request("/0"))
      let requests = try (0..<10).map { try setting.request("/\($0)") }
      var count = 0
      for await _ in session.prefetch(requests, atMost: 1, byteLimit: bytes) { count += 1 }
      // The hit, and the loads of 1,000 bytes that reach the limit.
      let loads = (bytes + 999) / 1000
      #expect(count == (bytes == 0 ? 0 : loads + 1))
      #expect(setting.origin.requestCount == 1 + loads)
    }
  }

  @Test(
    "A stream that is dropped, or whose reader is cancelled, sends no further request",
    arguments: [true, false])
  func ended(isCancelled: Bool) async throws {
    let (arrivals, gate) = (EventCount(), Gate())
    try await with { request in
      // The first requests only, until the reader has ended.
      if arrivals.next() > 2 { await gate.wait() }
      return await Self.handler(request)
    } test: { setting, session async throws in
      let requests = try (0..<1000).map { try setting.request("/\($0)") }
      let reader = Task {
        for await _ in session.prefetch(requests, atMost: 1) where !isCancelled || Task.isCancelled { break }
      }
      if isCancelled {
        try await arrivals.reached(1)
        reader.cancel()
      }
      await reader.value
      gate.open()
      #expect(setting.origin.requestCount < 1000)
    }
  }

  @Test("If updates are watched after the first load, content is shown once, and new content once")
  func follow() async throws {
    let version = Mutex(0)
    try await with { request in
      .init(
        fields: [.cacheControl: "max-age=0"],
        bytes: Array("\(request.target) \(version.withLock { $0 })".utf8),
        isChunked: request.target.hasSuffix("0"))
    } test: { setting, session async throws in
      for number in 0..<50 {
        version.withLock { $0 = 1 }
        let request = try setting.request("/\(number)")
        var stored = request
        stored.cachePolicy = .returnCacheDataElseLoad
        var shown = [String(decoding: try await session.data(for: stored).0, as: UTF8.self)]
        let updates = session.updates(for: stored)
        version.withLock { $0 = 2 }
        let refresh = Task { [request] in try await session.data(for: request) }
        for await _ in updates {
          shown.append(String(decoding: try await session.data(for: stored).0, as: UTF8.self))
          break
        }
        _ = try await refresh.value
        #expect(shown == ["/\(number) 1", "/\(number) 2"])
      }
    }
  }

  @Test("Stored content is shown at once, and an update says when there is new content")
  func offlineFirst() async throws {
    let version = Mutex("old")
    try await with { _ in
      .init(fields: [.cacheControl: "max-age=1"], body: version.withLock { $0 })
    } test: { setting, session async throws in
      let request = try setting.request("/feed")
      var stored = request
      stored.cachePolicy = .returnCacheDataElseLoad
      #expect(String(decoding: try await session.data(for: stored).0, as: UTF8.self) == "old")
      setting.clock.advance(seconds: 60)
      version.withLock { $0 = "new" }
      let updates = session.updates(for: request)
      #expect(String(decoding: try await session.data(for: stored).0, as: UTF8.self) == "old")
      _ = try await session.data(for: request)
      for await update in updates {
        #expect(update.byteCount == 3)
        break
      }
      let (data, answer) = try await session.data(for: stored)
      #expect(String(decoding: data, as: UTF8.self) == "new")
      #expect(answer.source == .hit)
    }
  }
}
