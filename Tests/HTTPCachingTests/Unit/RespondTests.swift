// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import TestSupport
import Testing

@Suite("Responses from the store and the origin", .timeLimit(.minutes(10)))
struct RespondTests {
  @Test("A fresh response is served from memory synchronously, with Age and Cache-Status")
  func hit() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in .ok("content") }
    #expect(try await setting.get(from: origin).source == .network)
    setting.clock.advance(seconds: 20)
    let hit = try #require(setting.cache.storedResponse(for: .get()))
    #expect(hit.source == .hit)
    #expect(hit.body.bytes.map { Array($0) } == Array("content".utf8))
    #expect(hit.age == .seconds(20))
    #expect(hit.remainingLifetime == .seconds(40))
    let name = try #require(HTTPField.Name("Cache-Status"))
    #expect(hit.head.headerFields[name] == "HTTPCacheEngine; hit; ttl=40; detail=fresh")
    #expect(origin.requests.count == 1)
  }

  @Test("A validated response is served with the origin's new fields and the stored content")
  func validated() async throws {
    let setting = try Setting()
    let version = try #require(HTTPField.Name("X-Version"))
    let origin = MemoryOrigin { _, number in
      number == 1
        ? .ok("content", [.cacheControl: "max-age=10", .eTag: "\"a\"", version: "1"])
        : .ok("", [.cacheControl: "max-age=99", .eTag: "\"a\"", version: "2"], status: .notModified)
    }
    _ = try await setting.get(from: origin)
    setting.clock.advance(seconds: 11)
    let answer = try await setting.get(from: origin)
    #expect(answer.source == .validated)
    #expect(answer.text == "content")
    #expect(answer.response.head.headerFields[version] == "2")
    #expect(origin.requests[1].headerFields[.ifNoneMatch] == "\"a\"")
    setting.clock.advance(seconds: 90)
    let hit = try await setting.get(from: origin)
    #expect(hit.source == .hit)
    #expect(hit.response.head.headerFields[version] == "2")
    #expect(setting.log.reasons(.updated) == [.freshened])
  }

  @Test("After a 304 that matches no stored response, the request is repeated in full")
  func unusable304() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { request, number in
      if number == 1 { return .ok("old", [.cacheControl: "max-age=1", .eTag: "\"a\""]) }
      return request.headerFields[.ifNoneMatch] == nil
        ? .ok("new", [.cacheControl: "max-age=60", .eTag: "\"b\""])
        : .ok("", [.eTag: "\"b\""], status: .notModified)
    }
    _ = try await setting.get(from: origin)
    setting.clock.advance(seconds: 5)
    #expect(try await setting.get(from: origin).text == "new")
    #expect(origin.requests.count == 3)
    #expect(try await setting.get(from: origin).text == "new")
  }

  @Test("A client's condition that holds for the stored response is answered with 304")
  func clientCondition() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in .ok("content", [.cacheControl: "max-age=60", .eTag: "\"a\""]) }
    _ = try await setting.get(from: origin)
    let answer = try await setting.get(from: origin, fields: [.ifNoneMatch: "\"a\""])
    #expect(answer.response.head.status == .notModified)
    #expect(answer.text.isEmpty)
    #expect(origin.requests.count == 1)
  }

  @Test("The error of an unreachable origin reaches the caller")
  func failure() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, number in
      if number > 1 { throw Unreachable() }
      return .ok("content", [.cacheControl: "max-age=1"])
    }
    _ = try await setting.get(from: origin)
    setting.clock.advance(seconds: 5)
    await #expect(throws: Unreachable.self) { try await setting.get(from: origin) }
  }

  @Test(
    "A stale response stands in for a failing origin where it or the configuration permits",
    arguments: [
      ("max-age=1, stale-if-error=60", false, true), ("max-age=1", true, true),
      ("max-age=1, must-revalidate", true, false), ("max-age=1, no-cache", true, false),
    ])
  func staleInsteadOfFailure(directives: String, servesStale: Bool, isServed: Bool) async throws {
    let setting = try Setting { $0.rules.whenDisconnected = servesStale ? .unlessForbidden : .nothing }
    let origin = MemoryOrigin { _, number in
      if number > 1 { throw Unreachable() }
      return .ok("content", [.cacheControl: directives])
    }
    _ = try await setting.get(from: origin)
    setting.clock.advance(seconds: 5)
    if isServed {
      let answer = try await setting.get(from: origin)
      #expect(answer.source == .stale)
      #expect(answer.text == "content")
    } else {
      await #expect(throws: Unreachable.self) { try await setting.get(from: origin) }
    }
  }

  @Test(
    "A GET or HEAD with content bypasses the cache and is not stored",
    arguments: [.get, .head] as [HTTPRequest.Method], [1, nil] as [Int?])
  func content(method: HTTPRequest.Method, length: Int?) async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, number in .ok("\(number)") }
    var request = HTTPRequest.get()
    request.method = method
    func stream(_ chunks: [ArraySlice<UInt8>]) -> ByteStream {
      ByteStream { feed in
        for chunk in chunks { feed.yield(chunk) }
        feed.finish()
      }
    }
    func send() async throws -> CachedResponse {
      let response = try await setting.cache.respond(
        to: request, body: MessageBody(stream([[120]]), length: length), transport: origin.transport)
      _ = try await response.body.collect(upTo: .max)
      return response
    }
    let first = try await send()
    #expect(first.source == .network && first.cacheStatus.forward == .bypass)
    if method == .get { #expect(await first.outcome.storage == .requestContent) }
    #expect(try await setting.get(from: origin).text == "2")
    #expect(try await send().source == .network)
    // Content without a byte is no content.
    request.method = .get
    let empty = try await setting.cache.respond(
      to: request, body: MessageBody(stream([]), length: 0),
      transport: origin.transport)
    #expect(empty.source == .hit)
    #expect(
      setting.cache.store(
        .init(status: .ok, headerFields: [.cacheControl: "max-age=60"]),
        content: [], for: .get("/x"), requestContent: [120]) == .requestContent)
  }

  @Test("A response within stale-while-revalidate is served at once and revalidated in the background")
  func staleWhileRevalidate() async throws {
    let setting = try Setting()
    let gate = Gate()
    let origin = MemoryOrigin { _, number in
      if number > 1 { await gate.wait() }
      return .ok("\(number)", [.cacheControl: "max-age=1, stale-while-revalidate=60"])
    }
    _ = try await setting.get(from: origin)
    setting.clock.advance(seconds: 5)
    let stale = try await setting.get(from: origin)
    #expect(stale.text == "1")
    #expect(stale.reason == .staleWhileRevalidate)
    // A second one while the validation is under way starts no other.
    _ = try await setting.get(from: origin)
    await gate.arrived(1)
    gate.open()
    try await setting.log.reach(.stored, 2)
    let fresh = try await setting.get(from: origin)
    #expect(fresh.text == "2")
    #expect(fresh.source == .hit)
    #expect(origin.requests.count == 2)
  }

  @Test("A successful unsafe request removes the responses of its target, a failed one does not")
  func invalidation() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { request, number in
      request.method == .get
        ? .ok("\(number)")
        : .ok("", [:], status: number == 2 ? .internalServerError : .noContent)
    }
    let post = HTTPRequest(method: .post, scheme: "https", authority: "EXAMPLE.test:443", path: "/")
    _ = try await setting.get(from: origin)
    _ = try await setting.cache.respond(to: post, transport: origin.transport)
    #expect(try await setting.get(from: origin).text == "1")
    _ = try await setting.cache.respond(to: post, transport: origin.transport)
    #expect(try await setting.get(from: origin).text == "4")
  }

  @Test("Variants of one resource are stored side by side")
  func variants() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin.varyingOnLanguage()
    for language in ["de", "en", "de", "en"] {
      #expect(try await setting.get(from: origin, fields: [.acceptLanguage: language]).text == language)
    }
    #expect(origin.requests.count == 2)
  }

  @Test("A miss is a 504 for only-if-cached and an error for a cache-only policy")
  func notCached() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in .ok("never") }
    let answer = try await setting.get(from: origin, fields: [.cacheControl: "only-if-cached"])
    #expect(answer.response.head.status == .gatewayTimeout)
    #expect(answer.source == .generated)
    await #expect(throws: HTTPCacheError.notCached(.policyForbidsNetwork)) {
      try await setting.get(from: origin, policy: .returnCacheDataDontLoad)
    }
    #expect(origin.requests.isEmpty)
  }

  @Test("Responses of one partition are not served in another")
  func partitions() async throws {
    let blue = try Setting { $0.partition = "blue" }
    let origin = MemoryOrigin { _, number in .ok("\(number)") }
    _ = try await blue.get(from: origin)
    var configuration = HTTPCache.Configuration()
    configuration.partition = "red"
    let red = HTTPCache(store: blue.cache.store, configuration: configuration, clock: blue.clock)
    #expect(red.storedResponse(for: .get()) == nil)
    #expect(blue.cache.storedResponse(for: .get()) != nil)
  }

  @Test("A newer response that must not be stored removes the older one")
  func supersededByNoStore() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, number in
      number == 1 ? .ok("old") : .ok("new", [.cacheControl: "no-store"])
    }
    _ = try await setting.get(from: origin)
    #expect(try await setting.get(from: origin, policy: .reloadIgnoringLocalCacheData).text == "new")
    #expect(setting.cache.storedResponse(for: .get(), policy: .returnCacheDataElseLoad) == nil)
  }

  @Test(
    "Ranges are cut from the stored response, in memory and on disk",
    arguments: [("bytes=2-4", "234"), ("bytes=-2", "89")])
  func ranges(range: String, expected: String) async throws {
    try await withTemporaryDirectory { directory in
      let origin = MemoryOrigin { _, _ in .ok("0123456789") }
      var setting = try Setting(directory: directory)
      _ = try await setting.get(from: origin)
      for _ in 1...2 {
        let answer = try await setting.get(from: origin, fields: [.range: range])
        #expect(answer.response.head.status == .partialContent)
        #expect(answer.text == expected)
        setting.cache.close()
        setting = try Setting(directory: directory)
      }
      #expect(origin.requests.count == 1)
      setting.cache.close()
    }
  }

  @Test("Several ranges are served as one multipart content")
  func multipart() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in .ok("0123456789") }
    _ = try await setting.get(from: origin)
    let answer = try await setting.get(from: origin, fields: [.range: "bytes=0-1, 8-9"])
    let boundary = try #require(answer.response.head.headerFields[.contentType]?.split(separator: "=").last)
    let lines = answer.text.split(separator: "\r\n", omittingEmptySubsequences: false)
    #expect(
      lines == [
        "--\(boundary)", "Content-Range: bytes 0-1/10", "", "01", "--\(boundary)",
        "Content-Range: bytes 8-9/10", "", "89", "--\(boundary)--", "",
      ])
    #expect(answer.response.head.headerFields[.contentLength] == String(answer.text.utf8.count))
  }

  @Test("A request for the whole succeeds after a range was stored first")
  func rangeFirst() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { request, _ in
      request.headerFields[.range] == nil
        ? .ok("0123456789")
        : .ok("01", [.contentRange: "bytes 0-1/10", .cacheControl: "max-age=60"], status: .partialContent)
    }
    #expect(try await setting.get(from: origin, fields: [.range: "bytes=0-1"]).text == "01")
    #expect(setting.log.reasons(.stored) == [.storedAsPart])
    #expect(try await setting.get(from: origin).text == "0123456789")
  }

  @Test("A response to POST for its own target replaces the invalidated response")
  func storedPost() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { request, number in
      .ok("\(request.method) \(number)", [.cacheControl: "max-age=60", .contentLocation: "/"])
    }
    let post = HTTPRequest(method: .post, scheme: "https", authority: "example.test", path: "/")
    #expect(try await setting.get(from: origin).text == "GET 1")
    _ = try await setting.cache.respond(to: post, transport: origin.transport)
    let answer = try await setting.get(from: origin)
    #expect(answer.text == "POST 2")
    #expect(answer.source == .hit)
    #expect(origin.requests.count == 2)
  }

  @Test("A response to POST does not undo a removal made while it was in flight")
  func removedDuringPost() async throws {
    let setting = try Setting()
    let gate = Gate()
    let origin = MemoryOrigin(holding: [gate]) { _, _ in
      .ok("x", [.cacheControl: "max-age=60", .contentLocation: "/"])
    }
    let post = HTTPRequest(method: .post, scheme: "https", authority: "example.test", path: "/")
    async let answer = setting.cache.respond(to: post, transport: origin.transport)
    await gate.arrived(1)
    setting.cache.remove(.target(of: .get()))
    gate.open()
    _ = try await answer
    #expect(setting.cache.storedResponse(for: .get()) == nil)
    #expect(setting.log.reasons(.notStored) == [.removedMeanwhile])
  }
}
