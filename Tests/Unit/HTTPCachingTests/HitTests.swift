// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import TestSupport
import Testing

/// What is answered from memory without a look at more than the front of the stored bytes.
@Suite(.timeLimit(.minutes(10)))
struct HitTests {
  private static let head: HTTPFields = [
    .cacheControl: "max-age=60", .age: "5", .contentType: "text/plain",
    .date: "Tue, 14 Nov 2023 22:13:20 GMT",
    .vary: "Accept",
  ]

  @Test(
    "Every copy of a hit has the stored fields, its Age and its Cache-Status"
  )
  func head() async throws {
    let setting = try Setting()
    var stored = Self.head
    stored[try #require(.init("Cache-Status"))] = "upstream; hit"
    stored[try #require(.init("X-Spelled"))] = "é"
    let origin = MemoryOrigin { [stored] _, _ in .ok("content", stored) }
    let fields: HTTPFields = [.accept: "text/plain"]
    _ = try await setting.get(from: origin, fields: fields)
    setting.clock.advance(seconds: 10)
    var response = try #require(setting.cache.storedResponse(for: .get(fields: fields)))
    let copy = response
    #expect(response.source == .hit)
    #expect(response.age == .seconds(15))
    #expect(response.remainingLifetime == .seconds(45))
    #expect(response.body.bytes.map { Array($0) } == Array("content".utf8))
    var expected = stored
    expected[.age] = "15"
    expected.append(
      HTTPField(
        name: try #require(.init("Cache-Status")), value: "HTTPCacheEngine; hit; ttl=45; detail=fresh"))
    #expect(response.head == HTTPResponse(status: .ok, headerFields: expected))
    #expect(copy.head == response.head)
    response.head.status = .accepted
    #expect(response.head.status == .accepted)
    #expect(copy.head.status == .ok)
    #expect(try await setting.get(from: origin, fields: fields).response.head == copy.head)
    #expect(origin.requests.count == 1)
  }

  @Test("The content of a hit is in memory and can be read repeatedly", arguments: [0, 7, 5000])
  func content(count: Int) async throws {
    let setting = try Setting()
    let text = String(repeating: "a", count: count)
    let origin = MemoryOrigin { _, _ in .ok(text, Self.head) }
    _ = try await setting.get(from: origin)
    let body = try #require(setting.cache.storedResponse(for: .get())).body
    #expect(body.isInMemory && body.length == count)
    for _ in 0..<2 {
      var shown: [UInt8] = [1]
      #expect(body.withBytes { bytes in shown = bytes.withUnsafeBytes { Array($0) } })
      #expect(shown == Array(text.utf8) && body.bytes.map { Array($0) } == shown)
      var read: [UInt8] = []
      for try await chunk in body { read += chunk }
      #expect(read == shown)
    }
    let (stream, continuation) = AsyncThrowingStream<ArraySlice<UInt8>, any Error>.makeStream()
    continuation.finish()
    let arriving = MessageBody(stream, length: 0)
    #expect(!arriving.isInMemory && arriving.bytes == nil && !arriving.withBytes { _ in })
  }

  @Test("A hit on the slow path equals one on the fast path")
  func longWay() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in .ok("content", Self.head) }
    _ = try await setting.get(from: origin, fields: [.accept: "a, b"])
    let short = try #require(setting.cache.storedResponse(for: .get(fields: [.accept: "a, b"])))
    // Another spelling of the same, and a directive that makes no difference.
    for fields: HTTPFields in [[.accept: "b,a"], [.accept: "a, b", .cacheControl: "max-age=50"]] {
      let long = try #require(setting.cache.storedResponse(for: .get(fields: fields)))
      #expect(long.head == short.head)
      #expect(long.age == short.age)
      #expect(long.cacheStatus == short.cacheStatus)
      #expect(long.reason == short.reason)
    }
    #expect(setting.log.reasons(.served) == [.fresh, .fresh, .fresh])
  }

  @Test("HEAD gets the stored head without content")
  func headRequest() async throws {
    let setting = try Setting()
    _ = try await setting.get(from: MemoryOrigin { _, _ in .ok("content") })
    var request = HTTPRequest.get()
    request.method = .head
    let response = try #require(setting.cache.storedResponse(for: request))
    #expect(response.head.status == .ok)
    #expect(response.body.length == 0)
  }

  @Test("A stored response with truncated metadata is a miss")
  func brokenBehindTheFront() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in .ok("content", Self.head) }
    _ = try await setting.get(from: origin)
    let store = setting.cache.store
    let key = StoreKey(try #require(CacheKey(.get())).bytes)
    let entry = try #require(store.lookup(key).only)
    let whole = Array(entry.metadata)
    #expect(setting.cache.storedResponse(for: .get()) != nil)
    for count in [0, 51, 52, whole.count / 2, whole.count - 1] {
      store.insert(
        NewEntry(
          key: key, variant: entry.variant, metadata: Array(whole.prefix(count)), body: [1],
          storedAt: entry.storedAt))
      #expect(setting.cache.storedResponse(for: .get()) == nil)
    }
    #expect(try await setting.get(from: origin).reason == .fromOrigin)
    #expect(origin.requests.count == 2)
  }
}
