// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

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

@Suite("Cache status and events of a session", .timeLimit(.minutes(10)))
struct ObservingTests {
  @Test("Every response reports its source, reason, age and remaining lifetime")
  func stories() async throws {
    try await Setting.with { request in
      if request.fields[.ifNoneMatch] != nil { return .init(status: 304, fields: [.eTag: "\"a\""]) }
      switch request.target {
      case "/secret": return .init(fields: [.cacheControl: "no-store"], body: "secret")
      default:
        return .init(
          fields: [.cacheControl: "max-age=60, stale-while-revalidate=30", .eTag: "\"a\""], body: "content")
      }
    } test: { setting async throws in
      func status(
        _ path: String = "/", policy: URLRequest.CachePolicy = .useProtocolCachePolicy
      ) async throws -> CacheStatus {
        let status = try await setting.load(path, policy: policy).response.cacheStatus
        try await setting.cache.fetches.emptied()
        return try #require(status)
      }
      let first = try await status()
      #expect(
        first.source == .network && first.isStored && first.forward == .uriMiss && first.forwardStatus == 200)
      #expect(first.timeToLive == .seconds(60) && first.age == nil && first.reason == .storedWithLifetime)
      setting.clock.advance(seconds: 20)
      let hit = try await status()
      #expect(
        hit.source == .hit && hit.age == .seconds(20) && hit.timeToLive == .seconds(40) && hit.forward == nil)
      #expect(
        hit.description == "hit, 20 s old, fresh for 40 s: The stored response is fresh. (RFC 9111 §4.2)")
      setting.clock.advance(seconds: 45)
      let stale = try await status()
      #expect(stale.source == .stale && stale.age == .seconds(65) && stale.timeToLive == .seconds(-5))
      #expect(stale.reason == .staleWhileRevalidate)
      setting.clock.advance(seconds: 100)
      let validated = try await status()
      #expect(validated.source == .validated && validated.forwardStatus == 304 && validated.forward == .stale)
      #expect(validated.timeToLive == .seconds(60))
      let secret = try await status("/secret")
      #expect(secret.source == .network && !secret.isStored && secret.reason == .responseNoStore)
      #expect(secret.age == nil && secret.timeToLive == nil)
    }
  }

  @Test("Cache events report why a session's response was not stored")
  func events() async throws {
    try await Setting.with { _ in
      .init(fields: [.cacheControl: "no-store"], body: "x")
    } test: { setting async throws in
      let events = setting.cache.events(of: [.notStored])
      _ = try await setting.load("/a")
      var iterator = events.makeAsyncIterator()
      let event = try #require(await iterator.next())
      #expect(event.uri == setting.origin.url("/a"))
      #expect(event.reason == .responseNoStore)
    }
  }

  @Test("stale-while-revalidate answers at once, and its revalidation outlives task and session")
  func staleWhileRevalidate() async throws {
    let gate = Gate()
    try await Setting.with { request in
      if request.number > 1 { await gate.wait() }
      return .init(
        fields: [.cacheControl: "max-age=10, stale-while-revalidate=60"], body: "answer \(request.number)")
    } test: { setting async throws in
      // A way out, should the expectations fail before it is opened.
      defer { gate.open() }
      #expect(try await setting.load().text == "answer 1")
      setting.clock.advance(seconds: 11)
      let loading = Task {
        let stale = try await setting.load()
        #expect(stale.text == "answer 1")
        #expect(stale.reason == .staleWhileRevalidate)
      }
      try await loading.value
      loading.cancel()
      // The session that asked goes, too.
      setting.session.finishTasksAndInvalidate()
      await gate.arrived(1)
      gate.open()
      try await setting.cache.fetches.emptied()
      let next = URLSession(configuration: .caching(with: setting.cache, base: .plain))
      defer { next.finishTasksAndInvalidate() }
      let (data, response) = try await next.data(for: setting.request())
      #expect(String(decoding: data, as: UTF8.self) == "answer 2")
      #expect((response as? HTTPURLResponse)?.cacheStatus?.source == .hit)
      #expect(setting.origin.requestCount == 2)
    }
  }
}

@Suite("Partitions of a session's cache", .timeLimit(.minutes(10)))
struct SessionPartitionTests {
  @Test("A closure assigns requests and redirects to partitions, which can be removed")
  func partitions() async throws {
    let cache = HTTPCache(store: try CacheStore(.init(memoryCapacity: 1 << 20)), configuration: .init())
    let origin = try await LoopbackOrigin.start { request in
      if request.target == "/moved" {
        return .init(status: 301, fields: [.location: "/", .cacheControl: "max-age=60"])
      }
      return .init(fields: [.cacheControl: "max-age=60"], body: "answer \(request.number)")
    }
    var options = CachingOptions()
    options.partition = { $0.value(forHTTPHeaderField: "X-Account") }
    let session = URLSession(configuration: .caching(with: cache, options: options, base: .plain))
    func load(_ account: String?, _ path: String = "/") async throws -> String {
      var request = URLRequest(url: try #require(URL(string: origin.url(path))))
      request.setValue(account, forHTTPHeaderField: "X-Account")
      return String(decoding: try await session.data(for: request).0, as: UTF8.self)
    }
    #expect(try await load("ann") == "answer 1")
    #expect(try await load("bob") == "answer 2")
    #expect(try await load(nil) == "answer 3")
    for (account, text) in [("ann", "answer 1"), ("bob", "answer 2"), (nil, "answer 3")] {
      #expect(try await load(account) == text)
    }
    #expect(try await load("bob", "/moved") == "answer 2")
    cache.remove(.partition("bob"))
    #expect(try await load("ann") == "answer 1")
    #expect(try await load("bob") == "answer 5")
    session.finishTasksAndInvalidate()
    await origin.stop()
  }

  @Test("Middleware sees requests to the origin and can answer them")
  func through() async throws {
    try await Setting.with { _ in
      .init(body: "origin")
    } test: { setting async throws in
      var options = CachingOptions()
      options.middleware = { next in
        { request, body in
          if request.path == "/made-up" {
            return TransportResponse(
              head: HTTPResponse(status: .ok), body: MessageBody(Array("made up".utf8)))
          }
          return try await next(request, body)
        }
      }
      let session = URLSession(
        configuration: .caching(with: setting.cache, options: options, base: .plain))
      defer { session.finishTasksAndInvalidate() }
      let madeUp = try await session.data(for: setting.request("/made-up")).0
      let origins = try await session.data(for: setting.request("/else")).0
      #expect(String(decoding: madeUp, as: UTF8.self) == "made up")
      #expect(String(decoding: origins, as: UTF8.self) == "origin")
      #expect(setting.origin.requestCount == 1)
    }
  }

  @Test("Middleware can send a request to another server; the response is stored for the requested URL")
  func redirected() async throws {
    let other = try await LoopbackOrigin.start { request in
      .init(fields: [.cacheControl: "max-age=60"], body: "other \(request.target)")
    }
    try await Setting.with { _ in
      .init(body: "origin")
    } test: { setting async throws in
      var options = CachingOptions()
      options.middleware = { [port = other.port] next in
        { request, body in
          var changed = request
          changed.authority = "127.0.0.1:\(port)"
          changed.path = "/staging" + (request.path ?? "")
          return try await next(changed, body)
        }
      }
      let session = URLSession(
        configuration: .caching(with: setting.cache, options: options, base: .plain))
      defer { session.finishTasksAndInvalidate() }
      for _ in 1...2 {
        let (data, response) = try await session.data(for: setting.request("/a"))
        #expect(String(decoding: data, as: UTF8.self) == "other /staging/a")
        #expect(response.url == URL(string: setting.origin.url("/a")))
      }
      #expect(setting.origin.requestCount == 0 && other.requestCount == 1)
    }
    await other.stop()
  }
}
