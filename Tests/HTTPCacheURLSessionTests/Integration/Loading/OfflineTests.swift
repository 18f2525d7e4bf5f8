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

@Suite("Offline use", .timeLimit(.minutes(10)))
struct OfflineTests {
  @Test(
    "If the origin is unreachable, permitted responses are served stale, and others fail",
    arguments: [
      (CacheEngine.DisconnectedUse.nothing, "max-age=60", nil),
      (.unlessForbidden, "max-age=60", CacheEngine.Reason.staleWhileDisconnected),
      (.unlessForbidden, "max-age=60, must-revalidate", nil), (.unlessForbidden, "no-cache", nil),
      (.unlessForbidden, "no-store", nil), (.anyStored, "max-age=60", .staleWhileDisconnected),
      (.anyStored, "max-age=60, must-revalidate", .forbiddenWhileDisconnected),
      (.anyStored, "no-cache", .forbiddenWhileDisconnected), (.anyStored, "no-store", nil),
    ])
  func disconnected(use: CacheEngine.DisconnectedUse, directives: String, reason: CacheEngine.Reason?)
    async throws
  {
    try await Setting.with(configure: { $0.rules.whenDisconnected = use }) { _ in
      .init(fields: [.cacheControl: directives], body: "kept")
    } test: { setting async throws in
      _ = try await setting.load()
      setting.clock.advance(seconds: 1_000_000)
      await setting.origin.stop()
      if let reason {
        let answer = try await setting.load()
        #expect(answer.text == "kept")
        #expect(answer.source == .stale)
        #expect(answer.reason == reason)
        #expect((answer.response.cacheStatus?.age ?? .zero) >= .seconds(1_000_000))
      } else {
        let error = await #expect(throws: URLError.self) { try await setting.load() }
        #expect(error?.code == .cannotConnectToHost, "\(String(describing: error))")
      }
    }
  }

  @Test(
    "An unknown host and a timeout count as unreachable",
    arguments: [true, false])
  func otherDisconnections(isTimeout: Bool) async throws {
    let gate = Gate()
    try await Setting.with(configure: { $0.rules.whenDisconnected = .unlessForbidden }) { request in
      if request.number > 1 { await gate.wait() }
      return .init(fields: [.cacheControl: "max-age=60"], body: "kept")
    } test: { setting async throws in
      var request = try setting.request()
      request.timeoutInterval = 1
      if !isTimeout { request.url = URL(string: "http://no-such-host.invalid/") }
      let url = try #require(request.url)
      HTTPURLCache(setting.cache).storeCachedResponse(
        CachedURLResponse(
          response: try #require(
            HTTPURLResponse(
              url: url, statusCode: 200, httpVersion: nil, headerFields: ["Cache-Control": "max-age=60"])),
          data: Data("kept".utf8)), for: request)
      if isTimeout { _ = try await setting.load(policy: .reloadIgnoringLocalCacheData) }
      setting.clock.advance(seconds: 100)
      #expect(try await setting.load(request).reason == .staleWhileDisconnected)
      gate.open()
    }
  }

  @Test("A connection that ends without an answer counts as unreachable", arguments: [false, true])
  func noAnswer(isStored: Bool) async throws {
    try await Setting.with(configure: { $0.rules.whenDisconnected = .anyStored }) { request in
      .init(
        fields: [.cacheControl: "max-age=60"], body: "kept",
        ending: request.number == 1 && isStored ? .whole : .noResponse)
    } test: { setting async throws in
      if isStored {
        _ = try await setting.load()
        setting.clock.advance(seconds: 100)
        #expect(try await setting.load().reason == .staleWhileDisconnected)
      } else {
        let error = await #expect(throws: URLError.self) { try await setting.load() }
        #expect(error?.code == .networkConnectionLost)
      }
    }
  }

  @Test("An invalid response does not count as unreachable, and its error is thrown")
  func badAnswer() async throws {
    let origin = try await RawOrigin.start { _, connection in
      try await connection.send("garbage\r\n\r\n")
      return false
    }
    try await Setting.with(configure: { $0.rules.whenDisconnected = .anyStored }) { _ in
      .init()
    } test: { setting async throws in
      var request = try setting.request()
      request.url = URL(string: "http://127.0.0.1:\(origin.port)/")
      let url = try #require(request.url)
      let response = try #require(
        HTTPURLResponse(
          url: url, statusCode: 200, httpVersion: nil,
          headerFields: ["Cache-Control": "max-age=60"]))
      HTTPURLCache(setting.cache).storeCachedResponse(
        CachedURLResponse(response: response, data: Data("kept".utf8)), for: request)
      #expect(try await setting.load(request).text == "kept")
      setting.clock.advance(seconds: 100)
      await #expect(throws: URLError.self) { try await setting.load(request) }
    }
    await origin.stop()
  }

  @Test("If isReachable returns false, no request is sent")
  func reachability() async throws {
    let isReachable = Mutex(true)
    var options = CachingOptions()
    options.isReachable = { _ in isReachable.withLock { $0 } }
    try await Setting.with(options: options, configure: { $0.rules.whenDisconnected = .unlessForbidden }) {
      _ in
      .init(fields: [.cacheControl: "max-age=60"], body: "kept")
    } test: { setting async throws in
      _ = try await setting.load("/a")
      setting.clock.advance(seconds: 100)
      isReachable.withLock { $0 = false }
      #expect(try await setting.load("/a").reason == .staleWhileDisconnected)
      let error = await #expect(throws: URLError.self) { try await setting.load("/b") }
      #expect(error?.code == .notConnectedToInternet)
      #expect(setting.origin.requestCount == 1)
      isReachable.withLock { $0 = true }
      #expect(try await setting.load("/b").source == .network)
    }
  }

  @Test("A redirect and its target are served offline, each by its own rules", arguments: [true, false])
  func redirects(isStored: Bool) async throws {
    try await Setting.with(configure: { $0.rules.whenDisconnected = .unlessForbidden }) { request in
      request.target == "/from"
        ? .init(status: 302, fields: [.location: "/to", .cacheControl: isStored ? "max-age=60" : "no-store"])
        : .init(fields: [.cacheControl: "max-age=60"], body: "kept")
    } test: { setting async throws in
      _ = try await setting.load("/from")
      setting.clock.advance(seconds: 100)
      await setting.origin.stop()
      if isStored {
        #expect(try await setting.load("/from").text == "kept")
      } else {
        await #expect(throws: URLError.self) { try await setting.load("/from") }
      }
    }
  }
}
