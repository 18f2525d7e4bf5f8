// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheAsyncHTTPClient
import Loopback
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import TestSupport
import Testing

/// The cache cannot read the configuration of a client that it did not make.
@Suite("A cache in front of an existing client", .timeLimit(.minutes(10)))
struct GivenClientTests {
  /// Runs a test with a client, and shuts it down.
  private static func with(
    following isFollowing: Bool, redirects: CachingHTTPClient.Redirects? = nil,
    decompression: HTTPClient.Decompression = .disabled, options: CachingHTTPClient.Options = .init(),
    _ handler: @escaping LoopbackOrigin.Handler, test body: (Fixture) async throws -> Void
  ) async throws {
    var configuration = HTTPClient.Configuration()
    configuration.timeout.connect = .minutes(4)
    configuration.decompression = decompression
    if !isFollowing { configuration.redirectConfiguration = .disallow }
    let given = HTTPClient(configuration: configuration)
    let result: Result<Void, any Error>
    do {
      result = .success(
        try await Fixture.with(options: options, redirects: redirects, given: given, handler, test: body))
    } catch {
      result = .failure(error)
    }
    try await given.shutdown()
    try result.get()
  }

  private static func redirect(to location: String) -> LoopbackOrigin.Response {
    // A length would contradict the content that the cache does not get.
    .init(
      status: 301, fields: [.location: location, .cacheControl: "max-age=60"], body: "moved", isChunked: true)
  }

  @Test("A client without redirects follows them through the cache if the cache has rules for them")
  func hops() async throws {
    try await Self.with(following: false, redirects: .follow(max: 5)) { request in
      request.target == "/1" ? Self.redirect(to: "/2") : .fresh("end")
    } test: { (fixture: Fixture) async throws in
      #expect(try await fixture.get("/1") == .init(source: .network, body: "end"))
      #expect(try await fixture.get("/1") == .init(source: .hit, body: "end"))
      #expect(fixture.origin.requestCount == 2)
    }
    try await Self.with(following: false) { _ in
      Self.redirect(to: "/2")
    } test: { (fixture: Fixture) async throws in
      #expect(try await fixture.get("/1") == .init(source: .network, status: 301, body: "moved"))
      #expect(try await fixture.get("/1") == .init(source: .hit, status: 301, body: "moved"))
    }
  }

  @Test(
    "The response to a redirect that the client follows by itself is the answer, and is not stored",
    arguments: [nil, Duration.seconds(60)])
  func followed(lifetime: Duration?) async throws {
    let gate = Gate()
    var options = CachingHTTPClient.Options()
    options.lifetime = { _, _ in lifetime }
    try await Self.with(following: true, options: options) { request in
      if request.target == "/gate" { await gate.wait() }
      return request.target == "/2" ? .fresh("end") : Self.redirect(to: "/2")
    } test: { (fixture: Fixture) async throws in
      for _ in 0..<2 {
        #expect(try await fixture.get("/1") == .init(source: nil, body: "end"))
      }
      let response = try await fixture.client.execute(fixture.request("/1"), timeout: .minutes(4))
      #expect(response.url?.path == "/2" && response.history.map(\.responseHead.status.code) == [301, 200])
      #expect(try await response.body.collect(upTo: 10) == ByteBuffer(string: "end"))
      #expect(fixture.origin.requests.map(\.target) == ["/1", "/2", "/1", "/2", "/1", "/2"])
      // Other responses of the same client are stored.
      #expect(try await fixture.get("/2") == .init(source: .network, body: "end"))
      #expect(try await fixture.get("/2") == .init(source: .hit, body: "end"))
      // Each caller has content of its own.
      async let first = fixture.get("/gate")
      async let second = fixture.get("/gate")
      await gate.arrived(1)
      gate.open()
      #expect(try await [first, second].map(\.body) == ["end", "end"])
    }
  }

  @Test("The target of a redirect that the client follows does not confirm or complete what is stored")
  func confirmed() async throws {
    try await Self.with(following: true) { request in
      if request.target == "/1", request.number > 1 { return Self.redirect(to: "/2") }
      if request.fields[.ifNoneMatch] != nil { return .init(status: 304, fields: [.eTag: "\"1\""]) }
      return .fresh(request.target, [.eTag: "\"1\""])
    } test: { (fixture: Fixture) async throws in
      #expect(try await fixture.get("/1") == .init(source: .network, body: "/1"))
      fixture.clock.advance(seconds: 61)
      for _ in 0..<2 { #expect(try await fixture.get("/1") == .init(source: nil, body: "/2")) }
      // The condition of the caller is for the client.
      let own = try await fixture.get("/1", [("If-None-Match", "\"1\"")])
      #expect(own == .init(source: nil, status: 304, body: ""))
    }
  }

  @Test("A POST that the client redirects by itself is sent once, and invalidates the stored response")
  func invalidation() async throws {
    try await Self.with(following: true) { request in
      if request.target == "/2" { return .init(body: "\(request.method) \(request.body.count)") }
      return request.method == "POST"
        ? .init(status: 307, fields: [.location: "/2"]) : .fresh("\(request.number)")
    } test: { (fixture: Fixture) async throws in
      #expect(try await fixture.get("/1") == .init(source: .network, body: "1"))
      var request = fixture.request("/1")
      request.method = .POST
      request.body = .bytes(ByteBuffer(string: "abc"))
      #expect(try await fixture.answer(to: request) == .init(source: nil, body: "POST 3"))
      #expect(fixture.origin.requestCount == 3)
      #expect(try await fixture.get("/1") == .init(source: .network, body: "4"))
    }
  }

  @Test("Content that the client decodes arrives whole, and is asked for only in the caller's name")
  func decoding() async throws {
    let encoded: [UInt8] = [
      0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x4B, 0x4C, 0x4A, 0x4E, 0x49, 0x4D, 0x4B,
      0xCF, 0xC8, 0xCC, 0xCA, 0xCE, 0xC9, 0xCD, 0xCB, 0x2F, 0x28, 0x2C, 0x2A, 0x2E, 0x29, 0x2D, 0x2B, 0xAF,
      0xA8, 0xAC, 0x02, 0x00, 0xBD, 0x50, 0x27, 0x4C, 0x1A, 0x00, 0x00, 0x00,
    ]
    try await Self.with(following: false, decompression: .enabled(limit: .none)) { request in
      request.fields[.acceptEncoding] == "identity"
        ? .fresh("plain", [.vary: "Accept-Encoding"])
        : .init(
          fields: [.cacheControl: "max-age=60", .vary: "Accept-Encoding", .contentEncoding: "gzip"],
          bytes: encoded, isChunked: request.target == "/chunked")
    } test: { (fixture: Fixture) async throws in
      #expect(try await fixture.get("/") == .init(source: .network, body: "plain"))
      for path in ["/", "/chunked"] {
        for _ in 0..<2 {
          let answer = try await fixture.get(path, [("Accept-Encoding", "gzip")])
          #expect(answer.body == "abcdefghijklmnopqrstuvwxyz")
        }
      }
      #expect(try await fixture.get("/") == .init(source: .hit, body: "plain"))
    }
  }

  @Test("Shutdown ends the clients that were made, and not a given one")
  func shutdown() async throws {
    let origin = try await LoopbackOrigin.start { _ in .fresh("a") }
    let cache = try HTTPCache()
    let request = HTTPClientRequest(url: origin.url("/"))
    let given = HTTPClient()
    try await CachingHTTPClient(given, cache: cache).shutdown()
    #expect(try await given.execute(request, timeout: .minutes(4)).status == .ok)
    try await given.shutdown()
    for redirects in [nil, CachingHTTPClient.Redirects.follow(max: 5)] {
      let client = CachingHTTPClient(configuration: .init(), redirects: redirects, cache: cache)
      try await client.shutdown()
      await #expect(throws: HTTPClientError.alreadyShutdown) {
        try await client.client.execute(request, timeout: .minutes(4))
      }
      // It is another URL, which is not stored.
      await #expect(throws: HTTPClientError.alreadyShutdown) {
        try await client.execute(HTTPClientRequest(url: origin.url("/b")), timeout: .minutes(4))
      }
    }
    await origin.stop()
    cache.close()
  }

  @Test("The cache follows as many redirects as the shared client")
  func sharedLimit() async throws {
    let origin = try await LoopbackOrigin.start { request in
      let number = Int(request.target.dropFirst()) ?? 0
      return number == 0 ? .fresh("end") : Self.redirect(to: "/\(number - 1)")
    }
    let client = CachingHTTPClient(.shared, cache: try HTTPCache())
    let (most, tooMany) = (
      HTTPClientRequest(url: origin.url("/20")), HTTPClientRequest(url: origin.url("/21"))
    )
    #expect(try await HTTPClient.shared.execute(most, timeout: .minutes(4)).status == .ok)
    #expect(try await client.execute(most, timeout: .minutes(4)).status == .ok)
    await #expect(throws: HTTPClientError.redirectLimitReached) {
      try await HTTPClient.shared.execute(tooMany, timeout: .minutes(4))
    }
    await #expect(throws: HTTPClientError.redirectLimitReached) {
      try await client.execute(tooMany, timeout: .minutes(4))
    }
    await origin.stop()
  }

  @Test(
    "A request with an unsafe method is sent once, whatever the client follows", arguments: [true, false])
  func unsafe(isDelete: Bool) async throws {
    try await Self.with(following: true) { request in
      request.target == "/2" ? .init(body: "ok") : .init(status: 307, fields: [.location: "/2"])
    } test: { (fixture: Fixture) async throws in
      var request = fixture.request("/1")
      request.method = isDelete ? .DELETE : .POST
      var options = CachingHTTPClient.RequestOptions()
      options.policy = .reloadRevalidatingCacheData
      _ = try await fixture.client.execute(request, timeout: .minutes(4), options: options)
      let sent = fixture.origin.requests.map { "\($0.method) \($0.target)" }
      #expect(sent == ["\(request.method) /1", "\(request.method) /2"])
    }
  }
}
