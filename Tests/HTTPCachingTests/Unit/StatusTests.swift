// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Cache-Status of responses", .timeLimit(.minutes(10)))
struct StatusTests {
  private func statuses(_ answer: Answer) throws -> [String] {
    answer.response.head.headerFields[values: try #require(HTTPField.Name("Cache-Status"))]
  }

  @Test("Cache-Status describes misses, hits, revalidations and bypasses")
  func story() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, number in
      .ok(
        "content", [.cacheControl: "max-age=60", .eTag: "\"a\""], status: number == 1 ? .ok : .notModified)
    }
    var seen: [String] = []
    seen += try statuses(await setting.get(from: origin))
    setting.clock.advance(seconds: 20)
    seen += try statuses(await setting.get(from: origin))
    setting.clock.advance(seconds: 50)
    seen += try statuses(await setting.get(from: origin, policy: .returnCacheDataElseLoad))
    seen += try statuses(await setting.get(from: origin))
    seen += try statuses(await setting.get(from: origin, policy: .reloadIgnoringLocalCacheData))
    #expect(
      seen == [
        "HTTPCacheEngine; fwd=uri-miss; fwd-status=200; ttl=60; stored; detail=storedWithLifetime",
        "HTTPCacheEngine; hit; ttl=40; detail=fresh",
        "HTTPCacheEngine; hit; ttl=-10; detail=policyReturnsStored",
        "HTTPCacheEngine; fwd=stale; fwd-status=304; ttl=60; stored; detail=validated",
        "HTTPCacheEngine; fwd=bypass; fwd-status=304; detail=statusNotUnderstood",
      ])
  }

  /// A response as it arrives, and what its head may say of storing it.
  enum Arriving: CaseIterable {
    case complete, completeTooLarge, ofKnownLength, ofUnknownLength, ofKnownLengthTooLarge, withoutRoom

    /// The end of the first `Cache-Status`.
    var status: String {
      switch self {
      case .complete, .ofKnownLength: "; ttl=60; stored; detail=storedWithLifetime"
      case .completeTooLarge, .ofKnownLengthTooLarge: "; detail=tooLargeForMemory"
      case .ofUnknownLength, .withoutRoom: "; ttl=60; detail=fromOrigin"
      }
    }

    /// The end of the final one.
    var finalStatus: String {
      switch self {
      case .ofUnknownLength: "; ttl=60; stored; detail=storedWithLifetime"
      case .withoutRoom: "; detail=transitFull"
      default: status
      }
    }
  }

  @Test(
    "Cache-Status has stored only if the content is complete, or its known length fits a tier (§2.5)",
    arguments: Arriving.allCases)
  func stored(arriving: Arriving) async throws {
    let setting = try Setting { if arriving == .withoutRoom { $0.transitCapacity = 0 } }
    let isTooLarge = arriving == .completeTooLarge || arriving == .ofKnownLengthTooLarge
    let content = [UInt8](repeating: 1, count: isTooLarge ? 5 << 20 : 5)
    let body: MessageBody
    if arriving == .complete || arriving == .completeTooLarge {
      body = MessageBody(content)
    } else {
      let (stream, feed) = AsyncThrowingStream<ArraySlice<UInt8>, any Error>.makeStream()
      feed.yield(content[...])
      feed.finish()
      body = MessageBody(stream, length: arriving == .ofUnknownLength ? nil : content.count)
    }
    let origin = MemoryOrigin { _, _ in
      TransportResponse(
        head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"]), body: body)
    }
    let response = try await setting.cache.respond(to: .get(), transport: origin.transport)
    let start = "HTTPCacheEngine; fwd=uri-miss; fwd-status=200"
    #expect(try statuses(Answer(response: response, text: "")) == [start + arriving.status])
    #expect(try await areEqual(response.body.collect(upTo: .max), content[...]))
    let name = try #require(HTTPField.Name("Cache-Status"))
    #expect(await response.outcome.head.headerFields[values: name] == [start + arriving.finalStatus])
    #expect(setting.log.all.count { $0.action == .stored || $0.action == .notStored } == 1)
    #expect((setting.cache.storedResponse(for: .get()) != nil) == arriving.finalStatus.contains("; stored"))
  }

  @Test(
    "Cache-Status does not have stored while the disk fails, unless memory has room",
    arguments: [300_000, 4 << 20])
  func failingDisk(memory: Int) async throws {
    try await withTemporaryDirectory { directory in
      let store = try CacheStore(.init(memoryCapacity: memory, diskCapacity: 16 << 20, directory: directory))
      let cache = HTTPCache(store: store, configuration: .init())
      defer { cache.close() }
      let restore = try cutOff(directory)
      defer { restore() }
      let content = [UInt8](repeating: 120, count: 600_000)
      var statuses: [CacheStatus] = []
      // The last one is refused at once: by then, the store pauses for longer than a request takes.
      while statuses.last?.reason != .diskFailing, statuses.count < 40 {
        let (stream, feed) = AsyncThrowingStream<ArraySlice<UInt8>, any Error>.makeStream()
        for start in stride(from: 0, to: content.count, by: 100_000) {
          feed.yield(content[start..<start + 100_000])
        }
        feed.finish()
        let response = try await cache.respond(to: .get("/\(statuses.count)")) { _, _ in
          TransportResponse(
            head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"]),
            body: MessageBody(stream, length: content.count))
        }
        statuses.append(response.cacheStatus)
        #expect(try await areEqual(response.body.collect(upTo: .max), content[...]))
        // Until a write has failed, the store cannot know.
        guard statuses.count > 1 else { continue }
        let isStored = memory > content.count
        #expect(response.cacheStatus.isStored == isStored)
        #expect(await response.outcome.storage == (isStored ? .storedWithLifetime : .diskFailing))
        #expect((cache.storedCopy(for: .get("/\(statuses.count - 1)")) != nil) == isStored)
      }
      #expect((statuses.last?.reason == .diskFailing) == (memory < content.count))
    }
  }

  @Test("A coalesced request that reads an arriving response says stored only if its length is known")
  func collapsedWhileArriving() async throws {
    for length in [nil, 2] {
      let setting = try Setting()
      let (stream, feed) = AsyncThrowingStream<ArraySlice<UInt8>, any Error>.makeStream()
      let origin = MemoryOrigin { _, _ in
        TransportResponse(
          head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"]),
          body: MessageBody(stream, length: length))
      }
      feed.yield([1])
      let leader = try await setting.cache.respond(to: .get(), transport: origin.transport)
      let follower = try await setting.cache.respond(to: .get(), transport: origin.transport)
      #expect(follower.cacheStatus.isCollapsed == true && follower.cacheStatus.isStored == (length != nil))
      feed.yield([2])
      feed.finish()
      for response in [leader, follower] { #expect(try await response.body.collect(upTo: 2) == [1, 2]) }
      let hit = try await setting.get(from: origin)
      #expect(hit.source == .hit)
    }
  }

  @Test(
    "A response whose resource was removed before it arrived is not reported as stored",
    arguments: [false, true])
  func removedBefore(byGroup: Bool) async throws {
    let setting = try Setting()
    let target = try #require(TargetURI(.get()))
    let groups = try #require(HTTPField.Name("Cache-Groups"))
    let origin = MemoryOrigin { [cache = setting.cache] request, _ in
      if byGroup { cache.remove(.group("g", of: target)) } else { cache.remove(.target(of: request)) }
      let (stream, feed) = AsyncThrowingStream<ArraySlice<UInt8>, any Error>.makeStream()
      feed.yield([1, 2, 3])
      feed.finish()
      return TransportResponse(
        head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60", groups: "\"g\""]),
        body: MessageBody(stream, length: 3))
    }
    let response = try await setting.cache.respond(to: .get(), transport: origin.transport)
    #expect(!response.cacheStatus.isStored)
    #expect(try await response.body.collect(upTo: .max) == [1, 2, 3])
    let head = await response.outcome.head
    #expect(!head.headerFields[values: try #require(.cacheStatus)].joined().contains("; stored"))
    #expect(setting.cache.storedResponse(for: .get()) == nil)
  }

  @Test("A validation whose update comes too late is not reported as stored")
  func updateTooLate() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { [cache = setting.cache] request, number in
      if number == 2 { cache.remove(.target(of: request)) }
      return .ok(
        "content", [.cacheControl: "max-age=60", .eTag: "\"a\""], status: number == 1 ? .ok : .notModified)
    }
    _ = try await setting.get(from: origin)
    setting.clock.advance(seconds: 70)
    #expect(
      try await statuses(setting.get(from: origin)) == [
        "HTTPCacheEngine; fwd=stale; fwd-status=304; ttl=60; detail=validated"
      ])
  }

  @Test("Cache-Status members of upstream caches are kept in order, also from the store (§2)")
  func upstream() async throws {
    let setting = try Setting()
    let name = try #require(HTTPField.Name("Cache-Status"))
    let origin = MemoryOrigin { _, _ in
      var fields: HTTPFields = [.cacheControl: "max-age=60"]
      fields.append(HTTPField(name: name, value: "Origin; hit; ttl=1100"))
      fields.append(HTTPField(name: name, value: "\"CDN, here\"; fwd=stale"))
      return .ok("content", fields)
    }
    for own in ["HTTPCacheEngine; fwd=uri-miss", "HTTPCacheEngine; hit"] {
      let members = try statuses(await setting.get(from: origin))
      #expect(members.count == 3)
      #expect(members.prefix(2) == ["Origin; hit; ttl=1100", "\"CDN, here\"; fwd=stale"])
      #expect(members.last?.hasPrefix(own) == true)
    }
  }

  @Test("A coalesced request is reported as forwarded and collapsed, not as a hit (§2.6)")
  func collapsed() async throws {
    let setting = try Setting()
    let gate = Gate()
    let origin = MemoryOrigin { _, _ in
      await gate.wait()
      return .ok("content")
    }
    let leader = Task { try await setting.get(from: origin) }
    await gate.arrived(1)
    let follower = Task { try await setting.get(from: origin) }
    try await setting.cache.fetches.followers(1)
    gate.open()
    #expect(try await statuses(leader.value)[0].contains("; collapsed") == false)
    #expect(
      try await statuses(follower.value) == [
        "HTTPCacheEngine; fwd=uri-miss; fwd-status=200; ttl=60; stored; collapsed; detail=fresh"
      ])
    #expect(try await follower.value.source == .hit)
  }

  @Test("A request that waited for an unusable response is reported as not collapsed (§2.6)")
  func notCollapsed() async throws {
    let setting = try Setting()
    let gate = Gate()
    let origin = MemoryOrigin { _, _ in
      await gate.wait()
      return .ok("content", [.cacheControl: "no-store"])
    }
    let leader = Task { try await setting.get(from: origin) }
    await gate.arrived(1)
    let follower = Task { try await setting.get(from: origin) }
    try await setting.cache.fetches.followers(1)
    gate.open()
    _ = try await leader.value
    #expect(
      try await statuses(follower.value) == [
        "HTTPCacheEngine; fwd=uri-miss; fwd-status=200; collapsed=?0; detail=responseNoStore"
      ])
  }

  @Test("Cache-Status has the key only if configured (§2.7, §6)", arguments: [false, true])
  func key(showsKeys: Bool) async throws {
    let setting = try Setting { $0.showsKeys = showsKeys }
    let origin = MemoryOrigin { _, _ in .ok("content") }
    for _ in 0..<2 {
      let status = try statuses(await setting.get("/a", from: origin))[0]
      #expect(status.contains("; key=\"https://example.test/a\"") == showsKeys)
      let long = try statuses(await setting.get("/" + String(repeating: "a", count: 1024), from: origin))[0]
      #expect(!long.contains("; key="))
    }
  }

  @Test(
    "A generated response gives its reason in Cache-Status and in its content",
    arguments: CacheEngine.Configuration.Kind.allCases, [HTTPRequest.Method.get, .head])
  func generated(kind: CacheEngine.Configuration.Kind, method: HTTPRequest.Method) async throws {
    let setting = try Setting(kind: kind)
    let origin = MemoryOrigin { _, _ in .ok("content") }
    var request = HTTPRequest.get(fields: [.cacheControl: "only-if-cached"])
    request.method = method
    let response = try await setting.cache.respond(to: request, transport: origin.transport)
    #expect(response.head.status == .gatewayTimeout)
    #expect(response.cacheStatus.reason == .onlyIfCached)
    let text = String(decoding: try await response.body.collect(upTo: 1000), as: UTF8.self)
    #expect(text == (method == .head ? "" : "504: \(CacheEngine.Reason.onlyIfCached.sentence)\n"))
    #expect(try statuses(Answer(response: response, text: text)) == ["HTTPCacheEngine; detail=onlyIfCached"])
  }
}
