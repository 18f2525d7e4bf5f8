// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import SystemPackage
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
    let (stream, continuation) = ByteStream.makeStream()
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
    for fields: HTTPFields in [[.accept: "a,b"], [.accept: "a, b", .cacheControl: "max-age=50"]] {
      let long = try #require(setting.cache.storedResponse(for: .get(fields: fields)))
      #expect(long.head == short.head)
      #expect(long.age == short.age)
      #expect(long.cacheStatus == short.cacheStatus)
      #expect(long.reason == short.reason)
    }
    #expect(setting.log.reasons(.served) == [.fresh, .fresh, .fresh])
  }

  /// The head of a response with `max-age=3600` and `Vary: Accept-Encoding`, as version 4 of the stored form has it.
  private static let version4 = """
    04022801c800000080ee360000000000d00700000000000010ec20c88c01000040e420c88c0100003c00000000000000\
    010000000f000003110000006163636570742d656e636f64696e67677a69702c206465666c6174652c2062720f000000\
    62722c6465666c6174652c677a6970020000004f4b090000000f1d0000005475652c203032204a616e20323032342030\
    333a30343a303820474d540d0a000000696d6167652f77656270090400000031303234052f0000007075626c69632c20\
    6d61782d6167653d333630302c207374616c652d7768696c652d726576616c69646174653d3630101400000022356633\
    612d3631633765306439623261343022121d0000005475652c203032204a616e20323032342030333a30343a30352047\
    4d5415060000006f726967696e180f0000004163636570742d456e636f64696e6701050000006279746573
    """

  @Test(
    "A directory with a response of the last version of the stored form is opened, and its successor is a hit"
  )
  func earlierVersion() async throws {
    try await withTemporaryFolder { folder in
      let directory = FilePath(folder.path)
      let hex = Array(Self.version4.utf8)
      let metadata = stride(from: 0, to: hex.count, by: 2).compactMap {
        UInt8(String(decoding: hex[$0..<$0 + 2], as: UTF8.self), radix: 16)
      }
      #expect(metadata.first == 4)
      let earlier = try Setting(directory: directory).cache.store
      let entry = NewEntry(
        key: StoreKey(try #require(CacheKey(.get())).bytes),
        variant: earlier.fingerprint(of: Array("accept-encoding:br,deflate,gzip\0".utf8)), metadata: metadata,
        body: [1], storedAt: 1_700_000_000_000)
      #expect(earlier.insert(entry).refusal == nil)
      earlier.close()

      let setting = try Setting(directory: directory)
      #expect(setting.cache.store.usage.diskEntries == 1)
      let origin = MemoryOrigin { _, _ in .ok("new", [.cacheControl: "max-age=60", .vary: "Accept-Encoding"])
      }
      let fields: HTTPFields = [.acceptEncoding: "gzip, deflate, br"]
      #expect(try await setting.get(from: origin, fields: fields).reason == .fromOrigin)
      let second = try await setting.get(from: origin, fields: fields).response
      #expect(second.source == .hit && second.body.length == 3)
    }
  }

  /// A response with `Vary: Accept-Encoding`, `Cache-Groups: "g"` and `Surrogate-Key: a b`, as the proxy stored it before
  /// there were tags.
  private static let untagged = """
    05022003c800000000000000f4010000c8833951150000009c6b5a19a201000040e420c88c0100000000000000000000\
    010000000f000003110000006163636570742d656e636f64696e67677a69702c206465666c6174652c2062720f000000\
    677a69702c6465666c6174652c6272020000004f4b070000000f1d0000005475652c203032204a616e20323032342030\
    333a30343a303820474d540d0a000000696d6167652f7765627005120000006d61782d6167653d333630303030303030\
    30180f0000004163636570742d456e636f64696e67000c00000043616368652d47726f75707303000000226722000d00\
    0000537572726f676174652d4b657903000000612062090100000031010000000100000067
    """

  @Test("A directory with a response from before there were tags is opened, and the response is a hit")
  func untagged() async throws {
    try await withTemporaryFolder { folder in
      let directory = FilePath(folder.path)
      let hex = Array(Self.untagged.utf8)
      let metadata = stride(from: 0, to: hex.count, by: 2).compactMap {
        UInt8(String(decoding: hex[$0..<$0 + 2], as: UTF8.self), radix: 16)
      }
      let stored = try #require(StoredResponse(decoding: metadata[...]))
      var current = metadata
      (current[0], current[2]) = (6, current[2] | 1 << 6)
      #expect(stored.encoded() == current)
      let earlier = try Setting(directory: directory)
      let entry = NewEntry(
        key: StoreKey(try #require(CacheKey(.get())).bytes),
        variant: earlier.cache.store.fingerprint(of: stored.variantKey), metadata: metadata, body: [1],
        storedAt: 1_700_000_000_000)
      #expect(earlier.cache.store.insert(entry).refusal == nil)
      earlier.cache.close()

      let setting = try Setting(directory: directory) { $0.rules.tagFields = ["Surrogate-Key"] }
      let origin = MemoryOrigin { _, _ in .ok("new", [:]) }
      setting.clock.advance(
        by: .milliseconds(stored.facts.responseTime.milliseconds - setting.clock.now.milliseconds))
      let fields: HTTPFields = [.acceptEncoding: "gzip, deflate, br"]
      let hit = try await setting.get(from: origin, fields: fields).response
      #expect(hit.source == .hit && hit.head.headerFields[.contentType] == "image/webp")
      // It has the group that was stored, and gets its tags when it is validated.
      #expect(setting.cache.remove(.groups(["a", "b"])).count == 0)
      #expect(setting.cache.remove(.group("g")).count == 1)
    }
  }

  @Test("A request with a second host bypasses the store", arguments: [0, 1])
  func secondHost(storedFirst: Int) async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in .ok("content", [.cacheControl: "max-age=60"]) }
    if storedFirst == 1 { _ = try await setting.get(from: origin) }
    let fields: HTTPFields = [try #require(.init("Host")): "b.example"]
    for _ in 0..<2 {
      #expect(setting.cache.storedResponse(for: .get(fields: fields)) == nil)
      let response = try await setting.get(from: origin, fields: fields).response
      #expect(response.source == .network && response.cacheStatus.forward == .bypass)
    }
    #expect(origin.requests.count == 2 + storedFirst)
    #expect((setting.cache.storedResponse(for: .get()) != nil) == (storedFirst == 1))
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
