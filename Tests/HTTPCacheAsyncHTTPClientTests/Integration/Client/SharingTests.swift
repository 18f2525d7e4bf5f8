// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheAsyncHTTPClient
import HTTPCacheStore
import Loopback
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import TestSupport
import Testing

@Suite("Concurrent requests, cancellation and errors with AsyncHTTPClient", .timeLimit(.minutes(10)))
struct SharingTests {
  @Test("1,000 concurrent requests for one response cause one request to the origin")
  func coalesced() async throws {
    let gate = Gate()
    try await Fixture.with { _ in
      await gate.wait()
      return .fresh("a")
    } test: { (fixture: Fixture) async throws in
      try await withThrowingTaskGroup(of: Fixture.Answer.self) { group in
        for _ in 0..<1000 { group.addTask { try await fixture.get("/") } }
        await gate.arrived(1)
        gate.open()
        for try await answer in group { #expect(answer.body == "a") }
      }
      #expect(fixture.origin.requestCount == 1)
    }
  }

  @Test("A deadline ends the wait of its caller, and not that of another")
  func deadline() async throws {
    let gate = Gate()
    try await Fixture.with { _ in
      await gate.wait()
      return .fresh("a")
    } test: { (fixture: Fixture) async throws in
      async let patient = fixture.get("/")
      await gate.arrived(1)
      await #expect(throws: HTTPClientError.deadlineExceeded) {
        try await fixture.client.execute(fixture.request("/"), timeout: .milliseconds(1))
      }
      // The first caller's, too.
      await #expect(throws: HTTPClientError.deadlineExceeded) {
        try await fixture.client.execute(fixture.request("/other"), timeout: .milliseconds(1))
      }
      gate.open()
      #expect(try await patient.body == "a")
    }
  }

  @Test(
    "After a deadline, a stale response answers where stale-if-error permits it", arguments: [false, true])
  func staleAtDeadline(hasDisk: Bool) async throws {
    try await withTemporaryFolder { folder in
      let gate = Gate()
      try await Fixture.with(disk: hasDisk ? FilePath(folder.path) : nil) { request in
        if request.number > 2 { await gate.wait() }
        return .init(
          fields: [.cacheControl: request.target == "/a" ? "max-age=1, stale-if-error=100" : "max-age=1"],
          body: "a")
      } test: { (fixture: Fixture) async throws in
        for path in ["/a", "/b"] { _ = try await fixture.get(path) }
        fixture.clock.advance(seconds: 10)
        @Sendable func get(_ path: String) async throws -> CachedResponse.Source? {
          try await fixture.client.execute(fixture.request(path), timeout: .milliseconds(1)).cacheStatus?
            .source
        }
        #expect(try await get("/a") == .stale)
        await #expect(throws: HTTPClientError.deadlineExceeded) { try await get("/b") }
        // One of the two may wait for the other.
        async let first = get("/a")
        async let second = get("/a")
        #expect(try await [first, second] == [.stale, .stale])
        gate.open()
      }
    }
  }

  @Test("A fresh response is an answer although the deadline has passed")
  func pastDeadline() async throws {
    try await Fixture.with { _ in
      .fresh("a")
    } test: { (fixture: Fixture) async throws in
      _ = try await fixture.get("/")
      let response = try await fixture.client.execute(fixture.request("/"), deadline: .now() - .seconds(1))
      #expect(response.status == .ok)
    }
  }

  @Test("A cancelled leader does not end the wait of a follower, and the last one ends the request")
  func cancelled() async throws {
    let (gate, watch) = (Gate(), CoalescingWatch())
    try await Fixture.with(cacheOptions: { $0.tracer = watch }) { _ in
      await gate.wait()
      return .fresh("a")
    } test: { (fixture: Fixture) async throws in
      let leader = Task { try await fixture.get("/") }
      await gate.arrived(1)
      async let follower = fixture.get("/")
      try await watch.followers(1)
      leader.cancel()
      await #expect(throws: (any Error).self) { try await leader.value }
      let alone = Task { try await fixture.get("/alone") }
      await gate.arrived(2)
      alone.cancel()
      await #expect(throws: (any Error).self) { try await alone.value }
      gate.open()
      #expect(try await follower.body == "a")
      #expect(fixture.origin.requestCount == 2)
    }
  }

  @Test("Content that the caller does not read to its end is released", arguments: [false, true], [0, 1, 3])
  func dropped(isChunked: Bool, reads: Int) async throws {
    let content = String(repeating: "x", count: 2_000_000)
    try await Fixture.with { _ in
      .init(fields: [.cacheControl: "max-age=60"], body: content, isChunked: isChunked)
    } test: { (fixture: Fixture) async throws in
      func leave() async throws {
        let response = try await fixture.client.execute(fixture.request("/"), timeout: .minutes(4))
        var iterator = response.body.makeAsyncIterator()
        for _ in 0..<reads { _ = try await iterator.next() }
      }
      try await leave()
      try await eventually { fixture.cache.transit.used == 0 }
      #expect(try await fixture.get("/").body == content)
    }
  }

  @Test("Content that ends early is an error for the reader, and is not stored as a whole")
  func truncated() async throws {
    let content = String(repeating: "x", count: 10_000)
    try await Fixture.with { request in
      .init(
        fields: [.cacheControl: "max-age=60"], body: content,
        ending: request.number == 1 ? .cut(afterBytes: 5000) : .whole)
    } test: { (fixture: Fixture) async throws in
      await #expect(throws: (any Error).self) { try await fixture.get("/") }
      #expect(try await fixture.get("/") == .init(source: .network, body: content))
    }
  }

  @Test("A connection error permits a stale response by stale-if-error, and is otherwise the caller's")
  func staleIfError() async throws {
    try await Fixture.with { request in
      request.number <= 2
        ? .init(
          fields: [.cacheControl: request.target == "/a" ? "max-age=1, stale-if-error=100" : "max-age=1"],
          body: "a")
        : .init(body: "", ending: .noResponse)
    } test: { (fixture: Fixture) async throws in
      _ = try await fixture.get("/a")
      _ = try await fixture.get("/b")
      fixture.clock.advance(seconds: 10)
      #expect(try await fixture.get("/a") == .init(source: .stale, body: "a"))
      await #expect(throws: HTTPClientError.remoteConnectionClosed) { try await fixture.get("/b") }
    }
  }

  @Test("A stale response is served while it is revalidated in the background")
  func staleWhileRevalidate() async throws {
    let revalidated = Gate()
    try await Fixture.with { request in
      if request.number > 1 { await revalidated.wait() }
      return .init(
        fields: [.cacheControl: "max-age=1, stale-while-revalidate=100"], body: "\(request.number)")
    } test: { (fixture: Fixture) async throws in
      _ = try await fixture.get("/")
      fixture.clock.advance(seconds: 10)
      #expect(try await fixture.get("/") == .init(source: .stale, body: "1"))
      await revalidated.arrived(1)
      revalidated.open()
      try await fixture.cache.fetches.emptied()
      #expect(try await fixture.get("/") == .init(source: .hit, body: "2"))
    }
  }

  @Test("Encoded content is stored decoded if the client decodes, with fields that describe it")
  func decoding() async throws {
    let content = String(repeating: "content of a page that compresses well. ", count: 50)
    let encoded = Self.encoded
    let handler: LoopbackOrigin.Handler = { request in
      let isEncoded = request.fields[.acceptEncoding]?.contains("gzip") ?? false
      return .init(
        fields: [
          .cacheControl: "max-age=60", .vary: "Accept-Encoding",
          .contentEncoding: isEncoded ? "gzip" : "identity",
        ], bytes: isEncoded ? encoded : Array(content.utf8))
    }
    try await Fixture.with(configure: { $0.decompression = .enabled(limit: .none) }, handler) {
      (fixture: Fixture) async throws in
      for source in [CachedResponse.Source.network, .hit] {
        let response = try await fixture.client.execute(fixture.request("/"), timeout: .minutes(4))
        #expect(
          response.headers["Content-Encoding"].isEmpty && response.headers["Vary"] == ["Accept-Encoding"])
        #expect([[], ["2000"]].contains(response.headers["Content-Length"]))
        let body = try await response.body.collect(upTo: 10_000)
        #expect(String(buffer: body) == content)
        #expect(response.cacheStatus?.source == source)
      }
      // A part of encoded content could not be decoded: the client does not accept it.
      #expect(try await fixture.get("/", [("Range", "bytes=0-6")]).source == .network)
      #expect(fixture.origin.requests.last?.fields[.acceptEncoding] == "identity")
      #expect(
        try await fixture.get("/", [("Accept-Encoding", "identity")]) == .init(source: .hit, body: content))
    }
    try await Fixture.with(.private, handler) { (fixture: Fixture) async throws in
      for source in [CachedResponse.Source.network, .hit] {
        let response = try await fixture.client.execute(
          fixture.request("/", [("Accept-Encoding", "gzip")]), timeout: .minutes(4))
        #expect(response.headers["Content-Encoding"] == ["gzip"])
        let body = try await response.body.collect(upTo: 10_000)
        #expect(Array(body.readableBytesView) == encoded)
        #expect(response.cacheStatus?.source == source)
      }
    }
  }

  /// The content, 50 times one sentence, by gzip.
  private static let encoded: [UInt8] = [
    0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xED, 0xCA, 0xB1, 0x0D, 0xC0, 0x20,
    0x0C, 0x04, 0xC0, 0x55, 0x7E, 0x02, 0x76, 0xB2, 0xD0, 0x93, 0x14, 0x80, 0x51, 0x6C, 0x29, 0xEB,
    0xC3, 0x18, 0x14, 0xDF, 0x9E, 0xAE, 0xFA, 0x4C, 0xCE, 0x84, 0x37, 0x18, 0x96, 0x3D, 0x44, 0xBE,
    0x96, 0xA8, 0x3E, 0xD6, 0xC7, 0x08, 0x06, 0x7E, 0xF6, 0x5E, 0x0E, 0xE8, 0xE9, 0xE9, 0xE9, 0xE9,
    0xE9, 0xE9, 0xDD, 0xFA, 0x36, 0xAA, 0x60, 0x4B, 0xAA, 0xD0, 0x07, 0x00, 0x00,
  ]

  @Test("Large content passes with bounded memory, from origin, memory and disk")
  func large() async throws {
    try await withTemporaryFolder { folder in
      let size = 40_000_000
      let content = [UInt8](repeating: 7, count: size)
      try await Fixture.with(disk: FilePath(folder.path)) { _ in
        .init(fields: [.cacheControl: "max-age=60", .eTag: "\"1\""], bytes: content)
      } test: { (fixture: Fixture) async throws in
        for source in [CachedResponse.Source.network, .hit] {
          let response = try await fixture.client.execute(fixture.request("/"), timeout: .minutes(4))
          #expect(response.cacheStatus?.source == source)
          var (count, largest) = (0, 0)
          for try await buffer in response.body {
            count += buffer.readableBytes
            largest = max(largest, fixture.cache.transit.used)
          }
          #expect(count == size && largest <= 4 << 20)
        }
      }
    }
  }
}
