// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheEngine
import HTTPCacheURLSession
import HTTPCaching
import HTTPTypes
import Loopback
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What MigratingFromOtherCaches.md says of other caches' features.
@Suite("Features of other client caches", .timeLimit(.minutes(10)))
struct MigrationTests {
  private static let fresh: HTTPFields = [.cacheControl: "max-age=60"]

  @Test(
    "A lifetime of zero stores a response for offline use whatever the origin says, and revalidates it online",
    arguments: [nil, "max-age=3600", "no-store", "no-cache", "private, must-revalidate"])
  func everyResponseOffline(directives: String?) async throws {
    let isReachable = Mutex(true)
    var options = CachingOptions()
    options.isReachable = { _ in isReachable.withLock { $0 } }
    options.lifetime = { _, response in response.statusCode < 400 ? .zero : nil }
    try await Setting.with(options: options, configure: { $0.rules.whenDisconnected = .anyStored }) {
      request in
      var fields: HTTPFields = [.eTag: "\"1\""]
      if let directives { fields[.cacheControl] = directives }
      if request.fields[.ifNoneMatch] != nil { return .init(status: 304, fields: fields) }
      return .init(fields: fields, body: "kept")
    } test: { setting async throws in
      #expect(try await setting.load().source == .network)
      #expect(try await setting.load().source == .validated)
      setting.clock.advance(seconds: 1_000_000)
      isReachable.withLock { $0 = false }
      let answer = try await setting.load()
      #expect((answer.source, answer.text) == (.stale, "kept"))
      let error = await #expect(throws: URLError.self) { try await setting.load("/other") }
      #expect(error?.code == .notConnectedToInternet)
      #expect(setting.origin.requestCount == 2)
    }
  }

  @Test(
    "The same lifetime stores redirects, so that they can be followed offline",
    arguments: [301, 302, 303, 307, 308], [nil, "no-store"])
  func redirectsOffline(status: Int, directives: String?) async throws {
    let isReachable = Mutex(true)
    var options = CachingOptions()
    options.isReachable = { _ in isReachable.withLock { $0 } }
    options.lifetime = { _, response in response.statusCode < 400 ? .zero : nil }
    try await Setting.with(options: options, configure: { $0.rules.whenDisconnected = .anyStored }) {
      request in
      var fields: HTTPFields = [:]
      if let directives { fields[.cacheControl] = directives }
      if request.target == "/page" { return .init(fields: fields, body: "page") }
      fields[.location] = "/page"
      return .init(status: status, fields: fields)
    } test: { setting async throws in
      #expect(try await setting.load("/").text == "page")
      #expect(try await setting.load("/").source == .network)
      #expect(setting.origin.requestCount == 4)
      isReachable.withLock { $0 = false }
      let answer = try await setting.load("/")
      #expect((answer.source, answer.text) == (.stale, "page"))
    }
  }

  @Test(
    "A request's Cache-Control forces the cache, forces the network, or sets limits for age and staleness")
  func requestDirectives() async throws {
    try await Setting.with { request in
      .init(fields: Self.fresh, body: "\(request.number)")
    } test: { setting async throws in
      func load(_ directives: String) async throws -> Answer {
        try await setting.load(fields: ["Cache-Control": directives])
      }
      #expect(try await load("only-if-cached, max-stale").response.statusCode == 504)
      #expect(try await load("no-store").source == .network)
      #expect(try await load("only-if-cached, max-stale").response.statusCode == 504)
      #expect(try await load("max-age=10").source == .network)
      setting.clock.advance(seconds: 8)
      #expect(try await load("max-age=10").source == .hit)
      #expect(try await load("min-fresh=30").source == .hit)
      #expect(try await load("min-fresh=55").source == .network)
      setting.clock.advance(seconds: 100)
      #expect(try await load("only-if-cached, max-stale").source == .stale)
      #expect(try await load("max-stale=3600").source == .stale)
      #expect(try await load("max-stale=10").source == .network)
      #expect(try await load("no-cache").source == .network)
      #expect(setting.origin.requestCount == 5)
    }
  }

  @Test("middleware and willSend see requests to the origin with the cache's fields, and see no hit")
  func networkInterceptors() async throws {
    let seen = Mutex<[String]>([])
    var options = CachingOptions()
    options.middleware = { transport in
      { request, body in
        seen.withLock { $0.append("middleware \(request.headerFields[.ifNoneMatch] ?? "")") }
        return try await transport(request, body)
      }
    }
    options.willSend = { request in
      seen.withLock { $0.append("willSend \(request.value(forHTTPHeaderField: "If-None-Match") ?? "")") }
      return request
    }
    try await Setting.with(options: options) { request in
      let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\""]
      return request.fields[.ifNoneMatch] == nil
        ? .init(fields: fields, body: "content") : .init(status: 304, fields: fields)
    } test: { setting async throws in
      let served = Recorder<CachedResponse.Source?>()
      setting.cache.observe([.served, .answered]) { event in
        served.add(event.source)
      }
      #expect(try await setting.load().source == .network)
      #expect(try await setting.load().source == .hit)
      setting.clock.advance(seconds: 100)
      #expect(try await setting.load().source == .validated)
      #expect(
        seen.withLock { $0 } == ["middleware ", "willSend ", #"middleware "1""#, #"willSend "1""#])
      #expect(served.all == [.network, .hit, .validated])
    }
  }

  @Test(
    "A POST invalidates the stored response of its URL, unless the predicate hides it from the cache",
    arguments: [true, false])
  func hiddenPost(isHidden: Bool) async throws {
    var options = CachingOptions()
    if isHidden { options.shouldIntercept = { $0.httpMethod == "GET" } }
    try await Setting.with(options: options) { _ in
      .init(fields: Self.fresh, body: "content")
    } test: { setting async throws in
      _ = try await setting.load("/a")
      _ = try await setting.load(setting.request("/a", method: "POST"))
      #expect(try await setting.load("/a").source == (isHidden ? .hit : .network))
    }
  }
}
