// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCacheURLSession
import HTTPCaching
import HTTPTypes
import Loopback
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Per-session options", .timeLimit(.minutes(10)))
struct OptionsTests {
  private static func fresh(_ body: String) -> LoopbackOrigin.Response {
    .init(fields: [.cacheControl: "max-age=60", .contentType: "text/plain"], body: body)
  }

  // MARK: - willCache

  @Test("willCache receives the whole response, and its edits are stored and not delivered")
  func edits() async throws {
    let seen = Mutex<[String]>([])
    var options = CachingOptions()
    options.willCache = { proposed, request in
      let status = (proposed.response as? HTTPURLResponse)?.statusCode ?? 0
      seen.withLock {
        $0.append("\(request.url?.path ?? "") \(status) \(String(decoding: proposed.data, as: UTF8.self))")
      }
      return CachedURLResponse(
        response: proposed.response, data: Data("edited".utf8), userInfo: ["by": "willCache"],
        storagePolicy: .allowedInMemoryOnly)
    }
    try await Setting.with(options: options) { _ in
      Self.fresh("as it came")
    } test: { setting async throws in
      #expect(try await setting.load("/a").text == "as it came")
      #expect(seen.withLock { $0 } == ["/a 200 as it came"])
      let hit = try await setting.load("/a")
      #expect(hit.text == "edited")
      #expect(hit.source == .hit)
      #expect(hit.response.value(forHTTPHeaderField: "Content-Length") == "6")
      let found = try #require(HTTPURLCache(setting.cache).cachedResponse(for: setting.request("/a")))
      #expect(found.userInfo?["by"] as? String == "willCache")
      #expect(found.storagePolicy == .allowedInMemoryOnly)
      #expect(setting.origin.requestCount == 1)
    }
  }

  @Test("willCache can refuse, and the reason reports it", arguments: [true, false])
  func refuses(byPolicy: Bool) async throws {
    var options = CachingOptions()
    options.willCache = { proposed, _ in
      byPolicy
        ? CachedURLResponse(
          response: proposed.response, data: proposed.data, userInfo: nil, storagePolicy: .notAllowed) : nil
    }
    let events = Recorder<CacheEngine.Reason?>()
    try await Setting.with(
      options: options,
      configure: {
        $0.observe([.notStored]) { events.add($0.reason) }
      }
    ) { _ in
      Self.fresh(String(repeating: "x", count: 100_000))
    } test: { setting async throws in
      for _ in 1...2 {
        let answer = try await setting.load()
        #expect(answer.data.count == 100_000)
        #expect(answer.reason == .refusedByApplication)
        #expect(answer.response.cacheStatus?.isStored == false)
      }
      #expect(setting.cache.store.usage.memoryEntries == 0)
      #expect(events.all == [.refusedByApplication, .refusedByApplication])
    }
  }

  @Test("willCache is not called for forbidden or already stored responses")
  func notAsked() async throws {
    let count = EventCount()
    var options = CachingOptions()
    options.willCache = { proposed, _ in
      count.next()
      return proposed
    }
    try await Setting.with(options: options) { request in
      if request.fields[.ifNoneMatch] != nil { return .init(status: 304, fields: [.eTag: "\"1\""]) }
      return .init(
        fields: [.cacheControl: request.target == "/no" ? "no-store" : "max-age=60", .eTag: "\"1\""],
        body: "x")
    } test: { setting async throws in
      _ = try await setting.load("/no")
      #expect(count.count == 0)
      for _ in 1...2 { _ = try await setting.load("/yes") }
      setting.clock.advance(seconds: 61)
      #expect(try await setting.load("/yes").source == .validated)
      #expect(count.count == 1)
    }
  }

  @Test("A truncated transfer is not stored if willCache refuses it")
  func refusesPart() async throws {
    var options = CachingOptions()
    options.willCache = { _, _ in nil }
    try await Setting.with(options: options) { _ in
      .init(
        fields: [.cacheControl: "max-age=60", .eTag: "\"1\""], body: String(repeating: "x", count: 100_000),
        ending: .cut(afterBytes: 50_000))
    } test: { setting async throws in
      await #expect(throws: URLError.self) { try await setting.load() }
      #expect(setting.cache.store.usage.memoryEntries == 0)
    }
  }

  @Test("Concurrent loads with willCache send one request to the origin")
  func many() async throws {
    var options = CachingOptions()
    options.willCache = { proposed, _ in proposed }
    try await Setting.with(options: options) { _ in
      Self.fresh(String(repeating: "y", count: 50_000))
    } test: { setting async throws in
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<20 { group.addTask { try await setting.load().data.count } }
        for try await count in group { #expect(count == 50_000) }
      }
      #expect(setting.origin.requestCount == 1)
    }
  }

  // MARK: - Which requests

  @Test("A predicate chooses the requests that use the cache, and others reach the origin")
  func intercepts() async throws {
    var options = CachingOptions()
    options.shouldIntercept = {
      $0.url?.path.hasPrefix("/api/") == true && $0.value(forHTTPHeaderField: "X-Live") == nil
    }
    try await Setting.with(options: options) { request in
      Self.fresh("\(request.number)")
    } test: { setting async throws in
      for (path, fields, sources) in [
        ("/api/x", [:], [CachedResponse.Source.network, .hit]), ("/page", [:], [nil, nil]),
        ("/api/x", ["X-Live": "1"], [nil, nil]),
      ] {
        for source in sources {
          #expect(try await setting.load(path, fields: fields).source == source)
        }
      }
      #expect(setting.origin.requestCount == 5)
    }
  }

  // MARK: - Which are one

  @Test(
    "A target rule unifies URLs for the cache, and the origin gets the original URL",
    arguments: [
      ("tracking", "/a?id=1&utm_source=mail&fbclid=z", "/a?id=1", true),
      ("tracking", "/a?utm_source=x", "/a", true),
      ("tracking", "/a?id=1", "/a?id=2", false), ("sorted", "/a?b=2&a=1", "/a?a=1&b=2", true),
      ("sorted", "/a?a=1&a=2", "/a?a=2&a=1", false), ("query", "/a?x", "/a?y", true),
      ("query", "/a", "/b", false),
      ("none", "/a#one", "/a#two", true), ("none", "/a?x", "/a?y", false),
    ])
  func targetRule(rule: String, first: String, second: String, areOne: Bool) async throws {
    let rules: [String: TargetRule] = [
      "tracking": .droppingTrackingParameters, "sorted": .sortingParameters, "query": .ignoringQuery,
    ]
    try await Setting.with(configure: { $0.targetRule = rules[rule] }) { request in
      Self.fresh(request.target)
    } test: { setting async throws in
      let wire = String(first.prefix { $0 != "#" })
      #expect(try await setting.load(first).text == wire)
      let answer = try await setting.load(second)
      #expect(answer.source == (areOne ? .hit : .network))
      #expect(answer.text == (areOne ? wire : second))
      #expect(setting.origin.requests.first?.target == wire)
      // What is removed or invalidated under one name is so under all.
      _ = try await setting.load(setting.request(second, method: "DELETE"))
      #expect(try await setting.load(first).source == (areOne ? .network : .hit))
      HTTPURLCache(setting.cache).removeCachedResponse(for: try setting.request(second))
      #expect(try await setting.load(first).source == (areOne ? .network : .hit))
    }
  }

  // MARK: - Policies

  @Test("A request's policy overrides the session's policy")
  func policies() async throws {
    let base = URLSessionConfiguration.ephemeral
    base.requestCachePolicy = .returnCacheDataDontLoad
    try await Setting.with(base: base) { request in
      Self.fresh("\(request.number)")
    } test: { setting async throws in
      let error = await #expect(throws: URLError.self) { try await setting.load() }
      #expect(error?.code == .resourceUnavailable)
      #expect(try await setting.load(policy: .reloadIgnoringLocalCacheData).text == "1")
      setting.clock.advance(seconds: 61)
      #expect(try await setting.load().reason == .policyReturnsStored)
      #expect(try await setting.load(policy: .reloadRevalidatingCacheData).text == "2")
      #expect(try await setting.load().text == "2")
    }
  }
}
