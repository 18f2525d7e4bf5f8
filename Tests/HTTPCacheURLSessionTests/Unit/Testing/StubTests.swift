// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheTesting
import HTTPTypes
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Stubs as a transport", .timeLimit(.minutes(10)))
struct StubTests {
  @Test("A stub answers by method, pattern and query; its closure sees the request")
  func answers() async throws {
    let (stubs, cache) = (HTTPStubs(), try makeCache())
    stubs.on(.get, "https://api.test/users/{id}") { call in
      try .json(["id": call.parameters["id"], "sort": call.query["sort"]])
    }
    stubs.on(.post, "https://api.test/users") { call in .text("made \(call.text)", status: 201) }
    stubs.on(nil, "/any?x=1", .text("any"))
    let user = try await cache.get("https://api.test/users/7?sort=up", through: stubs.transport)
    #expect(user.text == #"{"id":"7","sort":"up"}"#)
    #expect(user.response.head.headerFields[.contentType] == "application/json")
    #expect(user.response.head.headerFields[.contentLength] == "22")
    #expect(try await cache.get("https://other.test/any?x=1&y=2", through: stubs.transport).text == "any")
    let post = try #require(request("https://api.test/users", method: .post))
    let made = try await cache.respond(
      to: post, body: MessageBody(Array("ann".utf8)), transport: stubs.transport)
    #expect(made.head.status.code == 201)
    #expect(made.body.bytes.map { String(decoding: $0, as: UTF8.self) } == "made ann")
    #expect(
      stubs.requests.map(\.description) == [
        "GET https://api.test/users/7?sort=up", "GET https://other.test/any?x=1&y=2",
        "POST https://api.test/users",
      ])
    #expect(stubs.requests(.get, "/users/{id}").map(\.number) == [1])
    try stubs.verify()
  }

  @Test("The cache treats the responses of stubs like those of an origin")
  func caching() async throws {
    let (stubs, clock) = (HTTPStubs(), TestClock())
    let cache = try makeCache(clock: clock)
    stubs.on(.get, "/feed") { call in
      call.fields[.ifNoneMatch] == "\"a\""
        ? .status(304, fields: [.cacheControl: "max-age=60"])
        : .text("feed", fields: [.cacheControl: "max-age=60", .eTag: "\"a\""])
    }
    for (seconds, source) in [(0, CachedResponse.Source.network), (59, .hit), (2, .validated), (30, .hit)] {
      clock.advance(by: .seconds(seconds))
      let answer = try await cache.get("https://a.test/feed", through: stubs.transport)
      #expect(answer.response.source == source)
      #expect(answer.text == "feed")
    }
    #expect(stubs.requests.count == 2)
  }

  @Test("The last matching stub answers, for its number of requests")
  func order() async throws {
    let (stubs, cache) = (HTTPStubs(), try makeCache())
    stubs.on(.get, "/x", .text("always"))
    stubs.on(.get, "/x", times: 2, .status(503))
    for expected in [503, 503, 200, 200] {
      let answer = try await cache.get("https://a.test/x", through: stubs.transport)
      #expect(answer.response.head.status.code == expected)
    }
  }

  @Test(
    "A request without a stub fails and lists the stubs; an unused stub fails verification")
  func unexpected() async throws {
    let (stubs, cache) = (HTTPStubs(), try makeCache())
    stubs.on(.get, "https://a.test/{x}", .text("x"))
    #expect(throws: StubError.unused(["GET https://a.test/{x}"])) { try stubs.verify() }
    let error = await #expect(throws: StubError.self) {
      try await cache.get("https://a.test/x/y", through: stubs.transport)
    }
    #expect(
      error?.description == "no stub for GET https://a.test/x/y; existing stubs: GET https://a.test/{x}")
    #expect(stubs.unexpected.map(\.url) == ["https://a.test/x/y"])
    #expect(throws: StubError.self) { try stubs.verify() }
    stubs.removeAll()
    #expect(stubs.requests.isEmpty)
    try stubs.verify()
  }

  @Test("Stubs produce failures: an error, half a body, a missing file, an invalid status")
  func failures() async throws {
    let (stubs, cache) = (HTTPStubs(), try makeCache())
    stubs.on(.get, "/refused", .failure(URLError(.cannotConnectToHost)))
    stubs.on(.get, "/half", .text("half of it", fields: [.cacheControl: "max-age=60"]).cut(afterBytes: 4))
    stubs.on(.get, "/file", .file("/nowhere/at/all"))
    stubs.on(.get, "/status", .status(99))
    var codes: [URLError.Code?] = []
    for path in ["refused", "half"] {
      let error = await #expect(throws: URLError.self) {
        try await cache.get("https://a.test/\(path)", through: stubs.transport)
      }
      codes.append(error?.code)
    }
    #expect(codes == [.cannotConnectToHost, .networkConnectionLost])
    await #expect(throws: StubError.unreadableFile("/nowhere/at/all")) {
      try await cache.get("https://a.test/file", through: stubs.transport)
    }
    await #expect(throws: StubError.invalidStatus(99)) {
      try await cache.get("https://a.test/status", through: stubs.transport)
    }
    await #expect(throws: HTTPCacheError.self) {
      try await cache.get("https://a.test/half", policy: .returnCacheDataDontLoad)
    }
  }

  @Test("A file stub answers with the current content of the file")
  func file() async throws {
    try await withTemporaryFolder { temporary async throws in
      let directory = temporary.path
      let (stubs, cache) = (HTTPStubs(), try makeCache())
      let path = directory + "/feed.xml"
      stubs.on(.get, "/feed", .file(path, contentType: "application/xml"))
      for text in ["one", "two"] {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        #expect(try await cache.get("https://a.test/feed", through: stubs.transport).text == text)
      }
    }
  }

  @Test("A delay lasts until the clock is advanced, or the request is cancelled")
  func delay() async throws {
    let clock = TestClock()
    let stubs = HTTPStubs(clock: clock)
    let cache = try makeCache(clock: clock)
    stubs.on(.get, "/slow", .text("slow").delayed(by: .seconds(3600)))
    let cancelled = Task { try await cache.get("https://a.test/slow", through: stubs.transport) }
    await clock.sleepers(1)
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    try await cache.fetches.emptied()
    async let slow = cache.get("https://a.test/slow", through: stubs.transport)
    await clock.sleepers(1)
    clock.advance(by: .seconds(3599))
    await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    #expect(try await slow.text == "slow")
  }

  @Test("A sleep cancelled before it begins throws, and a sleep of zero returns at once")
  func shortSleeps() async throws {
    let clock = TestClock(Timestamp(seconds: 5))
    try await clock.sleep(for: .zero)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(for: .seconds(1))
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    clock.advance(by: .milliseconds(1500))
    #expect(clock.now == Timestamp(milliseconds: 6500))
  }

  @Test("A request whose answer never comes can be cancelled")
  func endless() async throws {
    let stubs = HTTPStubs()
    let (asked, signal) = AsyncStream.makeStream(of: Void.self)
    stubs.on(.get, "/never") { _ in
      signal.finish()
      return .text("never").delayed(by: .seconds(Int64.max))
    }
    let cache = try makeCache()
    let waiting = Task { try await cache.get("https://a.test/never", through: stubs.transport) }
    for await _ in asked {}
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
  }

  @Test("The clock can be advanced to the last representable time, and never goes back")
  func farFuture() async throws {
    let clock = TestClock(Timestamp(seconds: 5))
    clock.advance(by: .seconds(-1))
    clock.advance(by: .seconds(Int64.min))
    #expect(clock.now == Timestamp(seconds: 5))
    async let sleep: Void = clock.sleep(for: .seconds(Int64.max))
    await clock.sleepers(1)
    clock.advance(by: .seconds(Int64.max))
    try await sleep
    #expect(clock.now == Timestamp(milliseconds: .max))
    try await clock.sleep(for: .seconds(Int64.max) * 2)
  }
}
