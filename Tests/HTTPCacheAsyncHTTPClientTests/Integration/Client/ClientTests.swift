// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheAsyncHTTPClient
import Loopback
import NIOCore
import NIOHTTP1
import NIOSSL
import TestSupport
import Testing

@Suite("AsyncHTTPClient with a cache", .timeLimit(.minutes(10)))
struct ClientTests {
  /// One way in which an origin marks and frames its responses.
  struct Shape: Sendable, CustomStringConvertible {
    var validator: HTTPFields
    var isChunked: Bool
    var size: Int

    var description: String { "\(validator) \(isChunked ? "chunked" : "with length") \(size)" }

    static let all: [Shape] = {
      let validators: [HTTPFields] = [
        [:], [.eTag: "\"1\""], [.eTag: "W/\"1\""], [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"],
      ]
      return validators.flatMap { validator in
        [false, true].flatMap { isChunked in
          [0, 1, 1000, 300_000].map { Shape(validator: validator, isChunked: isChunked, size: $0) }
        }
      }
    }()
  }

  @Test(
    "A response is stored, reused and revalidated, whatever its validator, framing and size",
    arguments: Shape.all)
  func shapes(shape: Shape) async throws {
    let content = String(repeating: "x", count: shape.size)
    try await Fixture.with { request in
      var fields = shape.validator
      fields[.cacheControl] = "max-age=60"
      let isConfirmed = request.fields[.ifNoneMatch] != nil || request.fields[.ifModifiedSince] != nil
      return isConfirmed
        ? .init(status: 304, fields: fields)
        : .init(fields: fields, body: content, isChunked: shape.isChunked)
    } test: { (fixture: Fixture) async throws in
      #expect(try await fixture.get("/a") == .init(source: .network, body: content))
      #expect(try await fixture.get("/a") == .init(source: .hit, body: content))
      fixture.clock.advance(seconds: 61)
      let isConfirmed = !shape.validator.isEmpty
      #expect(
        try await fixture.get("/a") == .init(source: isConfirmed ? .validated : .network, body: content))
      #expect(try await fixture.get("/a") == .init(source: .hit, body: content))
      #expect(fixture.origin.requestCount == 2)
    }
  }

  @Test("An answer says where it came from, why, and its age")
  func status() async throws {
    try await Fixture.with { _ in
      .fresh("a")
    } test: { (fixture: Fixture) async throws in
      let first = try await fixture.client.execute(fixture.request("/"), timeout: .minutes(4))
      #expect(first.cacheStatus?.source == .network && first.cacheStatus?.reason != nil)
      _ = try await first.body.collect(upTo: 10)
      fixture.clock.advance(seconds: 7)
      let second = try await fixture.client.execute(fixture.request("/"), timeout: .minutes(4))
      let status = try #require(second.cacheStatus)
      #expect(status.source == .hit && status.reason == .fresh && status.age == .seconds(7))
      #expect(second.headers.first(name: "Age") == "7")
      #expect(second.url?.absoluteString == fixture.origin.url("/") && second.history.count == 1)
    }
  }

  @Test("HEAD is answered from a stored GET, and its response has no content")
  func head() async throws {
    try await Fixture.with { _ in
      .fresh("content")
    } test: { (fixture: Fixture) async throws in
      _ = try await fixture.get("/a")
      var request = fixture.request("/a")
      request.method = .HEAD
      #expect(try await fixture.answer(to: request) == .init(source: .hit, body: ""))
      request.url = fixture.origin.url("/b")
      #expect(try await fixture.answer(to: request) == .init(source: .network, body: ""))
    }
  }

  @Test("A response varies on the fields sent")
  func vary() async throws {
    try await Fixture.with { request in
      .fresh(request.fields[.acceptLanguage] ?? "none", [.vary: "Accept-Language"])
    } test: { (fixture: Fixture) async throws in
      for language in ["de", "en"] {
        #expect(try await fixture.get("/", [("Accept-Language", language)]).body == language)
        let again = try await fixture.get("/", [("Accept-Language", language)])
        #expect(again == .init(source: .hit, body: language))
      }
      #expect(try await fixture.get("/").body == "none")
      #expect(fixture.origin.requestCount == 3)
    }
  }

  @Test("A range is answered from the stored response")
  func range() async throws {
    try await Fixture.with { _ in
      .fresh("0123456789", [.eTag: "\"1\""])
    } test: { (fixture: Fixture) async throws in
      _ = try await fixture.get("/")
      let part = try await fixture.get("/", [("Range", "bytes=2-4")])
      #expect(part == .init(source: .hit, status: 206, body: "234"))
    }
  }

  @Test("The policy of a request decides about store and network", arguments: RequestCachePolicy.allCases)
  func policies(policy: RequestCachePolicy) async throws {
    try await Fixture.with { _ in
      .fresh("a", [.eTag: "\"1\""])
    } test: { (fixture: Fixture) async throws in
      let options = CachingHTTPClient.RequestOptions(policy: policy)
      if policy == .returnCacheDataDontLoad {
        let error = await #expect(throws: HTTPCacheError.self) {
          try await fixture.get("/", options: options)
        }
        #expect(error?.code == .notCached)
      }
      _ = try await fixture.get("/")
      let count = fixture.origin.requestCount
      let answer = try await fixture.get("/", options: options)
      let isReload =
        policy != .useProtocolCachePolicy && policy != .returnCacheDataElseLoad
        && policy != .returnCacheDataDontLoad
      #expect(fixture.origin.requestCount == count + (isReload ? 1 : 0))
      #expect((answer.source == .hit) == !isReload)
    }
  }

  @Test("A lifetime of the request or of the client replaces the origin's")
  func lifetimes() async throws {
    var options = CachingHTTPClient.Options()
    options.lifetime = { request, response in
      request.url.hasSuffix("/client") && response.status == .ok ? .seconds(100) : nil
    }
    try await Fixture.with(options: options) { _ in
      .init(fields: [.cacheControl: "no-store"], body: "a")
    } test: { (fixture: Fixture) async throws in
      _ = try await fixture.get("/request", options: .init(lifetime: .seconds(10)))
      _ = try await fixture.get("/client")
      _ = try await fixture.get("/none")
      #expect(try await fixture.get("/request").source == .hit)
      #expect(try await fixture.get("/client").source == .hit)
      #expect(try await fixture.get("/none").source == .network)
      fixture.clock.advance(seconds: 11)
      #expect(try await fixture.get("/request").source == .network)
      #expect(try await fixture.get("/client").source == .hit)
    }
  }

  @Test("Partitions separate responses, by request and by client")
  func partitions() async throws {
    var options = CachingHTTPClient.Options()
    options.partition = { $0.headers.first(name: "X-Account") }
    try await Fixture.with(options: options) { request in
      .fresh(request.fields[values: .init("X-Account")!].joined())
    } test: { (fixture: Fixture) async throws in
      #expect(try await fixture.get("/", [("X-Account", "1")]).body == "1")
      #expect(try await fixture.get("/", [("X-Account", "2")]).body == "2")
      #expect(try await fixture.get("/", options: .init(partition: "1")) == .init(source: .hit, body: "1"))
      #expect(try await fixture.get("/").source == .network)
    }
  }

  @Test("An upload streams to the origin with its framing, and invalidates the stored response")
  func upload() async throws {
    try await Fixture.with { request in
      request.method == "GET"
        ? .fresh("a")
        : .init(
          body:
            "\(request.body.count) \(request.fields[.contentLength] ?? request.fields[.transferEncoding] ?? "")"
        )
    } test: { (fixture: Fixture) async throws in
      let buffers = (0..<40).map { _ in ByteBuffer(repeating: 1, count: 50_000) }
      let bodies: [(HTTPClientRequest.Body, String)] = [
        (.bytes(ByteBuffer(string: "abc")), "3 3"),
        (.bytes([UInt8](repeating: 1, count: 5_000_000)), "5000000 5000000"),
        (.stream(AsyncBuffers(buffers: buffers), length: .known(2_000_000 as Int64)), "2000000 2000000"),
        (.stream(AsyncBuffers(buffers: buffers), length: .unknown), "2000000 chunked"),
      ]
      for (body, expected) in bodies {
        _ = try await fixture.get("/")
        var request = fixture.request("/")
        request.method = .PUT
        request.body = body
        #expect(try await fixture.answer(to: request) == .init(source: .network, body: expected))
        #expect(try await fixture.get("/").source == .network)
      }
    }
  }

  @Test("The content of a QUERY is part of its key, up to the limit", arguments: [100, 200_000])
  func query(size: Int) async throws {
    try await Fixture.with { request in
      .fresh("\(request.body.count) \(request.body.first ?? 0)")
    } test: { (fixture: Fixture) async throws in
      for number in 1...2 as ClosedRange<UInt8> {
        var request = fixture.request("/")
        request.method = .RAW(value: "QUERY")
        request.headers.add(name: "Content-Type", value: "text/plain")
        let buffers = [
          ByteBuffer(repeating: number, count: size / 2), ByteBuffer(repeating: number, count: size / 2),
        ]
        request.body = .stream(AsyncBuffers(buffers: buffers), length: .unknown)
        #expect(try await fixture.answer(to: request) == .init(source: .network, body: "\(size) \(number)"))
        let again = try await fixture.answer(to: request)
        #expect(again == .init(source: size < 65536 ? .hit : .network, body: "\(size) \(number)"))
      }
    }
  }

  @Test("A GET with content is sent, and is not answered from the store")
  func getWithContent() async throws {
    try await Fixture.with { request in
      .fresh("\(request.body.count)")
    } test: { (fixture: Fixture) async throws in
      _ = try await fixture.get("/")
      var request = fixture.request("/")
      request.body = .bytes(ByteBuffer(string: "abc"))
      #expect(try await fixture.answer(to: request).body == "3")
      #expect(try await fixture.get("/") == .init(source: .hit, body: "0"))
    }
  }

  @Test("Requests that the cache cannot answer go to the client, with its errors")
  func bypass() async throws {
    var options = CachingHTTPClient.Options()
    options.shouldIntercept = { !$0.url.hasSuffix("/live") }
    try await Fixture.with(options: options) { _ in
      .fresh("a")
    } test: { (fixture: Fixture) async throws in
      for _ in 0..<2 { #expect(try await fixture.get("/live") == .init(source: nil, body: "a")) }
      // Another site on the same server.
      for _ in 0..<2 { #expect(try await fixture.get("/", [("Host", "other.example")]).source == nil) }
      var tls = fixture.request("/tls")
      tls.tlsConfiguration = .makeClientConfiguration()
      for _ in 0..<2 { #expect(try await fixture.answer(to: tls).source == nil) }
      #expect(try await fixture.answer(to: tls, options: .init(partition: "user")).source == .network)
      #expect(try await fixture.answer(to: tls, options: .init(partition: "user")).source == .hit)
      for (url, expected) in [
        ("", HTTPClientError.invalidURL), ("http://", .emptyHost),
        ("ftp://127.0.0.1/", .unsupportedScheme("ftp")),
      ] {
        await #expect(throws: expected) { try await fixture.answer(to: HTTPClientRequest(url: url)) }
      }
      await #expect(throws: HTTPClientError.invalidHeaderFieldValues(["a\nb"])) {
        try await fixture.get("/", [("X-Test", "a\nb")])
      }
    }
  }

  @Test("The shared client works, with redirects through the cache")
  func shared() async throws {
    let origin = try await LoopbackOrigin.start { request in
      request.target == "/from"
        ? .init(status: 301, fields: [.location: "/to", .cacheControl: "max-age=86400"])
        : .fresh("a", [.cacheControl: "max-age=86400"])
    }
    let client = CachingHTTPClient(cache: try HTTPCache())
    for source in [CachedResponse.Source.network, .hit] {
      let response = try await client.execute(
        HTTPClientRequest(url: origin.url("/from")), deadline: .distantFuture)
      #expect(try await response.body.collect(upTo: 10) == ByteBuffer(string: "a"))
      #expect(response.cacheStatus?.source == source && response.history.count == 2)
    }
    #expect(origin.requestCount == 2)
    try await client.shutdown()
    await origin.stop()
  }

  @Test("URLs in every form have the key of the request that is sent")
  func urls() async throws {
    try await Fixture.with { request in
      .fresh(request.target)
    } test: { (fixture: Fixture) async throws in
      let port = fixture.origin.port
      for (url, target) in [
        ("http://127.0.0.1:\(port)", "/"), ("HTTP://127.0.0.1:\(port)/", "/"),
        ("http://127.0.0.1:\(port)/a%20b?x=%C3%A9#f", "/a%20b?x=%C3%A9"),
        ("http://user:pass@127.0.0.1:\(port)/u", "/u"),
      ] {
        let answer = try await fixture.answer(to: HTTPClientRequest(url: url))
        #expect(answer.body == target && answer.source != nil, "\(url)")
      }
      #expect(try await fixture.get("/").source == .hit)
    }
  }
}

/// Buffers that arrive one after the other.
struct AsyncBuffers: AsyncSequence, Sendable {
  var buffers: [ByteBuffer]

  func makeAsyncIterator() -> Iterator { Iterator(buffers: buffers[...]) }

  struct Iterator: AsyncIteratorProtocol {
    var buffers: ArraySlice<ByteBuffer>

    mutating func next() async throws -> ByteBuffer? { buffers.popFirst() }
  }
}
