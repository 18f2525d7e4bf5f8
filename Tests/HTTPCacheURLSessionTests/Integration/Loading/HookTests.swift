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

@Suite("Hooks, of both kinds of session", .timeLimit(.minutes(10)))
struct HookTests {
  enum Kind: CaseIterable, Sendable { case urlSession, cacheSession }

  struct Loaded: Sendable {
    var status: Int
    var text: String
    var url: URL?
    var source: CachedResponse.Source?
    var reason: CacheEngine.Reason?
  }

  /// Runs a test with a function that loads a path through the session.
  private func with(
    _ kind: Kind, _ options: CachingOptions, _ handler: @escaping LoopbackOrigin.Handler,
    test body: (Setting, @escaping @Sendable (String) async throws -> Loaded) async throws -> Void
  ) async throws {
    try await Setting.with(options: options, handler) { setting async throws in
      let session = HTTPCacheSession(
        cache: setting.cache, options: options, configuration: .plain)
      try await body(setting) { path in
        let request = try setting.request(path)
        switch kind {
        case .urlSession:
          let answer = try await setting.load(request)
          return Loaded(
            status: answer.response.statusCode, text: answer.text, url: answer.response.url,
            source: answer.source, reason: answer.reason)
        case .cacheSession:
          let (data, answer) = try await session.data(for: request)
          return Loaded(
            status: answer.response.statusCode, text: String(decoding: data, as: UTF8.self),
            url: answer.response.url, source: answer.source, reason: answer.reason)
        }
      }
    }
  }

  // MARK: - willRedirect

  private static let redirecting: LoopbackOrigin.Handler = { request in
    request.target == "/from"
      ? .init(status: 301, fields: [.location: "/to", .cacheControl: "max-age=60"], body: "moved")
      : .init(fields: [.cacheControl: "max-age=60"], body: "at \(request.target)")
  }

  @Test("A refused redirect is the response, from the origin and from the store", arguments: Kind.allCases)
  func refused(kind: Kind) async throws {
    let seen = Mutex<[String]>([])
    var options = CachingOptions()
    options.willRedirect = { redirect, next in
      seen.withLock {
        $0.append("\(redirect.statusCode) \(redirect.url?.path ?? "") \(next.url?.path ?? "")")
      }
      return nil
    }
    try await with(kind, options, Self.redirecting) { setting, load async throws in
      for source in [CachedResponse.Source.network, .hit] {
        let loaded = try await load("/from")
        #expect(loaded.status == 301)
        #expect(loaded.url?.path == "/from")
        #expect(loaded.source == source)
      }
      #expect(seen.withLock { $0 } == ["301 /from /to", "301 /from /to"])
      #expect(setting.origin.requests.map(\.target) == ["/from"])
    }
  }

  @Test("A redirect may be followed elsewhere", arguments: Kind.allCases)
  func changed(kind: Kind) async throws {
    var options = CachingOptions()
    options.willRedirect = { _, next in
      var next = next
      next.url = next.url.flatMap { URL(string: "/elsewhere", relativeTo: $0) }?.absoluteURL
      next.setValue("1", forHTTPHeaderField: "X-Followed")
      return next
    }
    try await with(kind, options, Self.redirecting) { setting, load async throws in
      for _ in 1...2 { #expect(try await load("/from").text == "at /elsewhere") }
      #expect(setting.origin.requests.map(\.target) == ["/from", "/elsewhere"])
      #expect(setting.origin.requests.last?.fields[HTTPField.Name("X-Followed") ?? .from] == "1")
    }
  }

  @Test("A redirect that always returns to itself still ends at the limit", arguments: Kind.allCases)
  func loop(kind: Kind) async throws {
    var options = CachingOptions()
    options.redirectLimit = 3
    options.willRedirect = { redirect, next in
      var next = next
      next.url = redirect.url
      return next
    }
    try await with(kind, options, Self.redirecting) { _, load async throws in
      let error = await #expect(throws: URLError.self) { try await load("/from") }
      #expect(error?.code == .httpTooManyRedirects)
    }
  }

  // MARK: - willSend

  @Test("willSend changes what is sent and not what is stored", arguments: Kind.allCases)
  func sends(kind: Kind) async throws {
    let seen = Mutex<[String?]>([])
    var options = CachingOptions()
    options.willSend = { request in
      seen.withLock { $0.append(request.value(forHTTPHeaderField: "If-None-Match")) }
      var request = request
      request.url = request.url.map { $0.appendingPathComponent("signed") }
      request.setValue("secret", forHTTPHeaderField: "X-Signature")
      return request
    }
    try await with(kind, options) { request in
      request.fields[.ifNoneMatch] == nil
        ? .init(fields: [.cacheControl: "no-cache", .eTag: "\"1\""], body: request.target)
        : .init(status: 304, fields: [.eTag: "\"1\""])
    } test: { setting, load async throws in
      for source in [CachedResponse.Source.network, .validated] {
        let loaded = try await load("/a")
        #expect(loaded.text == "/a/signed")
        #expect(loaded.url?.path == "/a")
        #expect(loaded.source == source)
      }
      #expect(seen.withLock { $0 } == [nil, "\"1\""])
      let signatures = setting.origin.requests.map { $0.fields[HTTPField.Name("X-Signature") ?? .from] }
      #expect(signatures == ["secret", "secret"])
    }
  }

  @Test("An error of willSend ends the task, and nothing is sent", arguments: Kind.allCases)
  func sendsNothing(kind: Kind) async throws {
    var options = CachingOptions()
    options.willSend = { _ in throw URLError(.userAuthenticationRequired) }
    try await with(kind, options) { _ in
      .init()
    } test: { setting, load async throws in
      let error = await #expect(throws: URLError.self) { try await load("/a") }
      #expect(error?.code == .userAuthenticationRequired)
      #expect(setting.origin.requestCount == 0)
    }
  }

  // MARK: - middleware

  @Test(
    "A middleware may load the URL that it was called for, itself or by way of another",
    arguments: Kind.allCases, ["/a", "/b"])
  func ownURL(kind: Kind, next: String) async throws {
    typealias Load = @Sendable (String) async throws -> Loaded
    let inner = Mutex<(paths: [String], load: Load?)>(([next, "/a"], nil))
    var options = CachingOptions()
    options.middleware = { transport in
      { request, body in
        let (path, load) = inner.withLock { ($0.paths.isEmpty ? nil : $0.paths.removeFirst(), $0.load) }
        if let path, let load { #expect(try await load(path).text == path) }
        return try await transport(request, body)
      }
    }
    try await with(kind, options) { request in
      .init(fields: [.cacheControl: "max-age=60"], body: request.target)
    } test: { setting, load async throws in
      inner.withLock { $0.load = load }
      // The test's clock stands still: a request that waits for itself would do so for good.
      #expect(try await load("/a").text == "/a")
      #expect(setting.origin.requests.map(\.target) == ["/a", next, "/a"])
      #expect(try await load("/a").source == .hit)
    }
  }

  // MARK: - lifetime

  @Test("lifetime replaces the origin's for the responses that it chooses", arguments: Kind.allCases)
  func lifetime(kind: Kind) async throws {
    var options = CachingOptions()
    options.lifetime = { request, response in
      request.url?.path == "/long" && response.statusCode == 200 ? .seconds(600) : nil
    }
    try await with(kind, options) { _ in
      .init(fields: [.cacheControl: "no-store"], body: "a")
    } test: { setting, load async throws in
      _ = try await load("/long")
      setting.clock.advance(seconds: 599)
      let hit = try await load("/long")
      #expect((hit.source, hit.reason) == (.hit, .freshByApplication))
      setting.clock.advance(seconds: 1)
      #expect(try await load("/long").source == .network)
      for _ in 1...2 { #expect(try await load("/other").source == .network) }
    }
  }
}
