// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Invalidation of groups and origins", .timeLimit(.minutes(10)))
struct GroupTests {
  private let groups: HTTPField.Name
  private let invalidation: HTTPField.Name
  private let clearing: HTTPField.Name

  init() throws {
    groups = try #require(HTTPField.Name("Cache-Groups"))
    invalidation = try #require(HTTPField.Name("Cache-Group-Invalidation"))
    clearing = try #require(HTTPField.Name("Clear-Site-Data"))
  }

  /// `/x?a` is in group `a`; a POST to `/x?a` invalidates group `a`, and `/clear` the origin.
  private func origin() -> MemoryOrigin {
    MemoryOrigin { [groups, invalidation, clearing] request, number in
      let path = request.path ?? ""
      var fields: HTTPFields = [.cacheControl: "max-age=600"]
      let name = path.split(separator: "?").dropFirst().first.map { "\"\($0)\"" }
      if request.method == .post { fields[invalidation] = name } else { fields[groups] = name }
      if path == "/clear" { fields[clearing] = "\"cache\"" }
      return .ok("\(number)", fields)
    }
  }

  private func send(
    _ setting: Setting, _ path: String, _ origin: MemoryOrigin, method: HTTPRequest.Method = .get,
    scheme: String = "https", authority: String = "example.test",
    policy: RequestCachePolicy = .useProtocolCachePolicy
  ) async throws -> CachedResponse.Source {
    let request = HTTPRequest(method: method, scheme: scheme, authority: authority, path: path)
    let response = try await setting.cache.respond(to: request, policy: policy, transport: origin.transport)
    _ = try await response.body.collect(upTo: .max)
    return response.source
  }

  @Test("100,000 invalidated groups outdate their own responses, and leave all others fresh")
  func manyGroups() async throws {
    let (setting, origin) = (try Setting(), origin())
    let named = (0..<200).map { "/\($0)?\($0 * 500)" }
    let others = (0..<200).map { "/other/\($0)?other\($0)" } + ["/none/1", "/none/2"]
    for path in named + others { #expect(try await send(setting, path, origin) == .network) }
    let target = try #require(TargetURI(.get()))
    for number in 0..<100_000 { setting.cache.remove(.group("\(number)", of: target)) }
    // They are settled in proportion to what is stored.
    #expect(setting.cache.store.markPressure < .tooHigh)
    setting.cache.responses.settleMarks()
    #expect(setting.cache.store.markPressure == .low)
    for path in others { #expect(try await send(setting, path, origin) == .hit) }
    for path in named {
      #expect(setting.cache.storedResponse(for: .get(path)) == nil)
      #expect(try await send(setting, path, origin) == .network)
      #expect(try await send(setting, path, origin) == .hit)
    }
  }

  @Test("Settled marks removed the invalidated responses only, of any partition and kind")
  func settled() async throws {
    let (setting, origin) = (try Setting(), origin())
    let paths = ["/1?a", "/2?b", "/3"]
    for path in paths { #expect(try await send(setting, path, origin) == .network) }
    for partition in ["p", "q"] {
      let response = try await setting.cache.respond(
        to: .get("/1?a"), partition: partition, transport: origin.transport)
      _ = try await response.body.collect(upTo: 10)
    }
    setting.cache.remove(.group("a", of: try #require(TargetURI(.get()))))
    setting.cache.remove(.partition("p"))
    setting.cache.responses.settleMarks()
    let count = setting.cache.store.usage.memoryEntries
    #expect(count == 3)
    #expect(setting.cache.storedResponse(for: .get("/1?a")) == nil)
    #expect(setting.cache.storedResponse(for: .get("/1?a"), partition: "p") == nil)
    #expect(setting.cache.storedResponse(for: .get("/1?a"), partition: "q") != nil)
    for path in paths.dropFirst() { #expect(setting.cache.storedResponse(for: .get(path)) != nil) }
  }

  @Test("A group invalidation applies at once, to its origin only, and under every policy")
  func group() async throws {
    let (setting, origin) = (try Setting(), origin())
    let stored = ["/1?a", "/2?a", "/3?b", "/4"]
    for path in stored { #expect(try await send(setting, path, origin) == .network) }
    #expect(try await send(setting, "/1?a", origin, authority: "other.test") == .network)
    #expect(try await send(setting, "/post?a", origin, method: .post) == .network)
    #expect(setting.log.reasons(.invalidated) == [.invalidatedByUnsafeMethod, .invalidatedByGroup])
    #expect(setting.cache.storedResponse(for: .get("/1?a")) == nil)
    #expect(try await send(setting, "/2?a", origin, policy: .returnCacheDataElseLoad) == .network)
    await #expect(throws: HTTPCacheError.self) {
      try await send(setting, "/1?a", origin, policy: .returnCacheDataDontLoad)
    }
    for path in stored {
      let expected: CachedResponse.Source = path == "/1?a" ? .network : .hit
      #expect(try await send(setting, path, origin) == expected, "\(path)")
    }
    #expect(try await send(setting, "/1?a", origin, authority: "other.test") == .hit)
    #expect(try await send(setting, "/1?a", origin) == .hit)
  }

  @Test(
    "A group is found by its name, whether a field can carry the name or must encode it",
    arguments: [
      ("news", "news"), (#"a \"b\" \\"#, #"a "b" \"#), ("50%", "50%"), ("a%41 %c3 %zz", "a%41 %c3 %zz"),
      ("%E6%97%A5%E6%9C%AC", "日本"), ("gr%C3%B6%C3%9Fe", "größe"), ("a%0Ab%00%7F", "a\nb\0\u{7F}"),
      ("%25C3", "%C3"), ("%2525", "%25"), ("%%C3%A9", "%é"), ("", ""),
    ])
  func encodedName(inField: String, name: String) async throws {
    let (setting, origin) = (
      try Setting(),
      MemoryOrigin { [groups] _, _ in
        .ok("x", [.cacheControl: "max-age=600", groups: "\"other\", \"\(inField)\""])
      }
    )
    let target = TargetURI(scheme: "https", authority: "example.test", path: "/")
    for (index, purge) in [
      { $0.remove(.group(name, of: target), counting: true).count },
      { $0.expire(.group(name, of: target)).count }, { $0.expire(.group(name)).count },
      { $0.remove(.group(name, of: target)).count ?? 1 },
    ].enumerated() as EnumeratedSequence<[(HTTPCache) -> Int?]> {
      _ = try await send(setting, "/", origin)
      #expect(setting.cache.storedResponse(for: .get()) != nil)
      #expect(purge(setting.cache) == 1, "\(index)")
      #expect(setting.cache.storedResponse(for: .get()) == nil, "\(index)")
    }
  }

  @Test("A response to GET invalidates no group")
  func safeMethod() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { [groups, invalidation] _, _ in
      .ok("x", [.cacheControl: "max-age=600", groups: "\"a\"", invalidation: "\"a\""])
    }
    for path in ["/1", "/2"] { #expect(try await send(setting, path, origin) == .network) }
    for path in ["/1", "/2"] { #expect(try await send(setting, path, origin) == .hit) }
  }

  @Test(
    "A response in flight when its group was invalidated is not stored", arguments: [true, false])
  func underway(isClearing: Bool) async throws {
    let (setting, others) = (try Setting(), origin())
    let gate = Gate()
    let slow = MemoryOrigin(holding: [gate]) { [groups] _, _ in
      .ok("old", [.cacheControl: "max-age=600", groups: "\"a\""])
    }
    let first = Task { try await setting.get("/slow", from: slow) }
    await gate.arrived(1)
    _ =
      isClearing
      ? try await send(setting, "/clear", others) : try await send(setting, "/post?a", others, method: .post)
    gate.open()
    #expect(try await first.value.text == "old")
    #expect(setting.log.reasons(.notStored).contains(.removedMeanwhile))
    #expect(setting.cache.storedResponse(for: .get("/slow")) == nil)
  }

  @Test("A request after a group invalidation does not get a response that was in flight")
  func readMeanwhile() async throws {
    let (setting, others) = (try Setting(), origin())
    let (stream, feed) = ByteStream.makeStream()
    let slow = MemoryOrigin { [groups] _, number in
      let fields: HTTPFields = [.cacheControl: "max-age=600", groups: "\"a\""]
      return number == 1 ? .streamed(stream, fields) : .ok("new", fields)
    }
    let first = try await setting.cache.respond(to: .get("/slow"), transport: slow.transport)
    _ = try await send(setting, "/post?a", others, method: .post)
    let second = Task { try await setting.get("/slow", from: slow).text }
    try await setting.cache.fetches.followers(1)
    feed.yield(Array("old".utf8)[...])
    feed.finish()
    #expect(try await first.body.collect(upTo: .max) == Array("old".utf8)[...])
    #expect(try await second.value == "new")
  }

  @Test("The response to a POST that invalidates its own group is stored")
  func ownGroup() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { [groups, invalidation] request, number in
      var fields: HTTPFields = [.cacheControl: "max-age=600", groups: "\"a\""]
      if request.method == .post {
        fields[invalidation] = "\"a\""
        fields[.contentLocation] = request.path
      }
      return .ok("\(number)", fields)
    }
    #expect(try await send(setting, "/1", origin) == .network)
    #expect(try await send(setting, "/1", origin, method: .post) == .network)
    #expect(setting.log.reasons(.invalidated) == [.invalidatedByUnsafeMethod, .invalidatedByGroup])
    #expect(try await setting.get("/1", from: origin).text == "2")
    #expect(try await setting.get("/1", from: origin).source == .hit)
  }

  @Test("An invalidation extends to the groups of the response and no further")
  func sharedGroup() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { [groups] request, _ in
      let names = ["/1": "\"a\"", "/2": "\"a\", \"b\"", "/3": "\"b\""]
      return .ok("x", [.cacheControl: "max-age=600", groups: names[request.path ?? ""] ?? ""])
    }
    for path in ["/1", "/2", "/3"] { #expect(try await send(setting, path, origin) == .network) }
    #expect(try await send(setting, "/1", origin, method: .post) == .network)
    #expect(try await send(setting, "/3", origin) == .hit)
    #expect(try await send(setting, "/2", origin) == .network)
  }

  @Test(
    "An invalidated group stays invalid after reopening, in its partition only"
  )
  func reopened() async throws {
    try await withTemporaryDirectory { directory async throws in
      let origin = origin()
      func setting(_ partition: String) throws -> Setting {
        try Setting(directory: directory) { $0.partition = partition }
      }
      for partition in ["p", "q"] {
        let setting = try setting(partition)
        #expect(try await send(setting, "/1?a", origin) == .network)
        #expect(try await send(setting, "/2?b", origin) == .network)
        if partition == "q" { #expect(try await send(setting, "/post?a", origin, method: .post) == .network) }
        setting.cache.close()
      }
      for (partition, expected) in [("p", CachedResponse.Source.hit), ("q", .network)] {
        let setting = try setting(partition)
        #expect(try await send(setting, "/1?a", origin) == expected)
        #expect(try await send(setting, "/2?b", origin) == .hit)
        setting.cache.close()
      }
    }
  }

  @Test(
    "A 304 to an invalidated response does not remove it from its group (RFC 9875 §2.2.1)")
  func regroupedMeanwhile() async throws {
    let (setting, gate) = (try Setting(), Gate())
    let origin = MemoryOrigin { [groups, invalidation] request, number in
      if request.method == .post { return .ok("", [invalidation: "\"a\""]) }
      if request.headerFields[.ifNoneMatch] == nil {
        return .ok("\(number)", [.cacheControl: "max-age=60", .eTag: "\"1\"", groups: "\"a\""])
      }
      await gate.wait()
      let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\"", groups: "\"b\""]
      return .ok("", fields, status: .notModified)
    }
    _ = try await setting.get("/1", from: origin)
    setting.clock.advance(seconds: 61)
    async let validated = setting.get("/1", from: origin)
    try await origin.reach(2)
    #expect(try await send(setting, "/post", origin, method: .post) == .network)
    gate.open()
    #expect(try await validated.text == "1")
    #expect(try await setting.get("/1", from: origin).source == .network)
  }

  @Test(
    "Clear-Site-Data clears its origin in a private cache only",
    arguments: CacheEngine.Configuration.Kind.allCases)
  func clearSiteData(kind: CacheEngine.Configuration.Kind) async throws {
    let (setting, origin) = (try Setting(kind: kind), origin())
    let places = [("https", "example.test"), ("http", "example.test"), ("https", "other.test")]
    for (scheme, authority) in places {
      #expect(try await send(setting, "/1", origin, scheme: scheme, authority: authority) == .network)
    }
    #expect(try await send(setting, "/clear", origin, scheme: "http") == .network)
    #expect(try await send(setting, "/clear", origin) == .network)
    let isCleared = kind == .private
    #expect(setting.log.reasons(.invalidated) == (isCleared ? [.clearedByOrigin] : []))
    for (index, (scheme, authority)) in places.enumerated() {
      let expected: CachedResponse.Source = isCleared && index == 0 ? .network : .hit
      #expect(try await send(setting, "/1", origin, scheme: scheme, authority: authority) == expected)
    }
    // The response that clears is not stored itself, and so clears again.
    #expect(try await send(setting, "/clear", origin) == (isCleared ? .network : .hit))
  }
}
