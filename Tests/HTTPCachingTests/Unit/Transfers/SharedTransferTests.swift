// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Reading a response while it arrives", .timeLimit(.minutes(10)))
struct SharedTransferTests {
  private static let request = HTTPRequest(
    method: .get, scheme: "https", authority: "a.example", path: "/large")

  /// Chunks that come when the test says so.
  private static func origin(
    _ chunks: ByteStream, fields: HTTPFields, length: Int? = nil
  ) -> Transport {
    { _, _ in
      .streamed(chunks, fields, length: length)
    }
  }

  @Test(
    "A slow reader gets the rest from the store and does not block others",
    arguments: [1, 40, 200])
  func laggard(count: Int) async throws {
    let cache = try HTTPCache(.init(kind: .shared, memoryCapacity: 64 << 20))
    let (chunks, source) = ByteStream.makeStream()
    let transport = Self.origin(chunks, fields: [.cacheControl: "max-age=86400"])
    let leader = try await cache.respond(to: Self.request, transport: transport)
    // The beginning has come when the others do.
    let first = [UInt8](repeating: 0, count: 16 << 10)
    source.yield(first[...])
    let follower = try await cache.respond(to: Self.request, transport: transport)
    let reader = try await cache.respond(to: Self.request, transport: transport)
    #expect(follower.cacheStatus.isCollapsed == true)
    for number in 1..<count {
      source.yield([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 16 << 10)[...])
    }
    source.finish()
    // Neither the leader nor the follower has read a byte.
    let all = try await reader.body.collect(upTo: 64 << 20)
    #expect(all.count == count * (16 << 10))
    #expect(try await follower.body.collect(upTo: 64 << 20) == all)
    #expect(try await leader.body.collect(upTo: 64 << 20) == all)
    #expect(all.last == UInt8(truncatingIfNeeded: count - 1))
  }

  @Test(
    "A late reader gets the stored bytes first, then the arriving ones",
    // Were there nothing to read before the end, it would wait forever.
    .timeLimit(.minutes(5)), arguments: [false, true])
  func growing(isOnDisk: Bool) async throws {
    try await withTemporaryDirectory { directory in
      let cache = try HTTPCache(
        .init(
          kind: .shared, memoryCapacity: isOnDisk ? 0 : 64 << 20, diskCapacity: 64 << 20,
          directory: isOnDisk ? directory : nil))
      let (chunks, source) = ByteStream.makeStream()
      // Of no multiple of any chunk that is written.
      let (count, size) = (40, 100_000)
      let transport = Self.origin(
        chunks, fields: [.cacheControl: "max-age=86400"], length: (count + 1) * size)
      func chunk(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: size) }
      let leader = try await cache.respond(to: Self.request, transport: transport)
      var leaders = leader.body.makeAsyncIterator()
      for number in 0..<count {
        source.yield(chunk(number)[...])
        _ = try await leaders.next()
      }
      let late = try await cache.respond(to: Self.request, transport: transport)
      #expect(late.cacheStatus.isCollapsed == true)
      var bytes: [UInt8] = []
      var rest = late.body.makeAsyncIterator()
      // The last chunk has not come yet: all others are read, and more than that would not return.
      while bytes.count < count * size, let some = try await rest.next() { bytes += some }
      source.yield(chunk(count)[...])
      source.finish()
      while try await leaders.next() != nil {}
      while let some = try await rest.next() { bytes += some }
      #expect(bytes == (0...count).flatMap(chunk))
      cache.close()
    }
  }

  @Test(
    "A slow reader gets all of a response whose target is removed, before or after its end",
    .timeLimit(.minutes(5)), arguments: [false, true], [false, true])
  func removed(isOnDisk: Bool, atEnd: Bool) async throws {
    try await withTemporaryDirectory { directory in
      let cache = try HTTPCache(
        .init(
          kind: .shared, memoryCapacity: isOnDisk ? 0 : 64 << 20, diskCapacity: 64 << 20,
          directory: isOnDisk ? directory : nil))
      let (chunks, source) = ByteStream.makeStream()
      let content = contentBytes(4_000_001)
      let transport = Self.origin(
        chunks, fields: [.cacheControl: "max-age=86400"], length: content.count)
      let leader = try await cache.respond(to: Self.request, transport: transport)
      var leaders = leader.body.makeAsyncIterator()
      source.yield(content[..<1_000_000])
      _ = try await leaders.next()
      let slow = try await cache.respond(to: Self.request, transport: transport)
      #expect(slow.cacheStatus.isCollapsed == true)
      if !atEnd { cache.remove(.target(of: Self.request)) }
      source.yield(content[1_000_000...])
      source.finish()
      while try await leaders.next() != nil {}
      try await cache.fetches.emptied()
      if atEnd { cache.remove(.target(of: Self.request)) }
      #expect(try await slow.body.collect(upTo: .max).elementsEqual(content))
      #expect(cache.transit.used == 0)
      cache.close()
    }
  }

  @Test(
    "A late reader gets the same error as the others when the transfer ends early", .timeLimit(.minutes(5)))
  func growingBroken() async throws {
    struct Broken: Error {}
    let cache = try HTTPCache(.init(kind: .shared, memoryCapacity: 64 << 20))
    let (chunks, source) = ByteStream.makeStream()
    let transport = Self.origin(chunks, fields: [.cacheControl: "max-age=86400"], length: 1 << 20)
    var leaders = try await cache.respond(to: Self.request, transport: transport).body.makeAsyncIterator()
    for _ in 0..<10 {
      source.yield([UInt8](repeating: 1, count: 32 << 10)[...])
      _ = try await leaders.next()
    }
    let late = try await cache.respond(to: Self.request, transport: transport)
    source.finish(throwing: Broken())
    await #expect(throws: Broken.self) { try await late.body.collect(upTo: 64 << 20) }
    await #expect(throws: Broken.self) { while try await leaders.next() != nil {} }
  }

  @Test("A late reader of a response of unknown length waits for the store")
  func late() async throws {
    let cache = try HTTPCache(.init(kind: .shared, memoryCapacity: 64 << 20))
    let (chunks, source) = ByteStream.makeStream()
    let transport = Self.origin(chunks, fields: [.cacheControl: "max-age=86400"])
    let leader = try await cache.respond(to: Self.request, transport: transport)
    for _ in 0..<20 { source.yield([UInt8](repeating: 1, count: 32 << 10)[...]) }
    async let read = leader.body.collect(upTo: 64 << 20)
    async let late = cache.respond(to: Self.request, transport: transport)
    try await cache.fetches.followers(1)
    source.finish()
    #expect(try await late.body.collect(upTo: 64 << 20) == read)
  }

  @Test(
    "A response overtaken by a more recent one does not replace it (§4)",
    .timeLimit(.minutes(5)), arguments: ["max-age=0", "", "reload", "reload within a second"])
  func overtaken(how: String) async throws {
    let setting = try Setting()
    let (chunks, source) = ByteStream.makeStream()
    let clock = setting.clock
    let origin = MemoryOrigin { _, number in
      let fields: HTTPFields = [
        .cacheControl: "max-age=60", .eTag: "\"\(number)\"", .date: HTTPDate(clock.now).fieldValue,
      ]
      return number == 1 ? .streamed(chunks, fields) : .ok("new", fields)
    }
    let leader = try await setting.cache.respond(to: .get(), transport: origin.transport)
    source.yield(Array("old".utf8)[...])
    // Without anything in the request, the first is no longer fresh by then.
    clock.advance(by: how.isEmpty ? .seconds(61) : how.hasSuffix("second") ? .milliseconds(1) : .seconds(10))
    let other = try await setting.get(
      from: origin, policy: how.hasPrefix("reload") ? .reloadIgnoringLocalCacheData : .useProtocolCachePolicy,
      fields: how.hasPrefix("max") ? [.cacheControl: how] : [:])
    #expect(other.text == "new" && origin.requests.count == 2)
    source.finish()
    #expect(try await leader.body.collect(upTo: .max) == Array("old".utf8)[...])
    try await setting.cache.fetches.emptied()
    let after = try await setting.get(from: origin)
    #expect(after.text == "new" && after.source == .hit && origin.requests.count == 2)
    #expect(setting.log.reasons(.notStored) == [.overtaken])
  }

  @Test(
    "A background revalidation does not wait for a response fetched before an invalidation",
    .timeLimit(.minutes(5)))
  func behind() async throws {
    let setting = try Setting()
    let (chunks, source) = ByteStream.makeStream()
    let fields: HTTPFields = [.cacheControl: "max-age=10, stale-while-revalidate=1000"]
    let origin = MemoryOrigin { _, number in
      number == 1 ? .streamed(chunks, fields) : .ok("\(number)", fields)
    }
    let leader = try await setting.cache.respond(to: .get(), transport: origin.transport)
    setting.cache.remove(.target(of: .get()))
    let byHand = HTTPResponse(status: .ok, headerFields: fields)
    setting.cache.store(byHand, content: Array("by hand".utf8), for: .get())
    setting.clock.advance(seconds: 20)
    #expect(try await setting.get(from: origin).text == "by hand")
    source.finish()
    #expect(try await leader.body.collect(upTo: .max).isEmpty)
    try await setting.cache.fetches.emptied()
    #expect(origin.requests.count == 2)
  }

  @Test(
    "A request that cannot share the response in flight is forwarded; a matching condition gets 304",
    .timeLimit(.minutes(5)),
    arguments: [
      ("Accept", "b", 200), ("Cache-Control", "max-age=0", 200), ("Cache-Control", "min-fresh=90", 200),
      ("If-None-Match", "\"1\"", 304), ("If-None-Match", "\"2\"", nil),
    ] as [(String, String, Int?)])
  func notForAll(name: String, value: String, status: Int?) async throws {
    let setting = try Setting()
    let (chunks, source) = ByteStream.makeStream()
    let origin = MemoryOrigin { _, number in
      let fields: HTTPFields = [.cacheControl: "max-age=60", .vary: "Accept", .eTag: "\"\(number)\""]
      return number == 1 ? .streamed(chunks, fields) : .ok("\(number)", fields)
    }
    let leader = try await setting.cache.respond(
      to: .get(fields: [.accept: "a"]), transport: origin.transport)
    source.yield(Array("1".utf8)[...])
    var fields: HTTPFields = [.accept: "a"]
    fields[try #require(HTTPField.Name(name))] = value
    let other = try await setting.cache.respond(to: .get(fields: fields), transport: origin.transport)
    #expect(other.head.status.code == status ?? 200)
    #expect(origin.requests.count == (status == 200 ? 2 : 1))
    if status != nil {
      // Its end has not come.
      let text = try await other.body.collect(upTo: .max)
      #expect(text == Array((status == 200 ? "2" : "").utf8)[...])
    }
    source.finish()
    #expect(try await leader.body.collect(upTo: .max) == Array("1".utf8)[...])
    if status == nil { #expect(try await other.body.collect(upTo: .max) == Array("1".utf8)[...]) }
    try await setting.cache.fetches.emptied()
  }

  @Test("A transfer error reaches all readers")
  func broken() async throws {
    struct Broken: Error {}
    let cache = try HTTPCache(.init(kind: .shared, memoryCapacity: 64 << 20))
    let (chunks, source) = ByteStream.makeStream()
    let transport = Self.origin(chunks, fields: [.cacheControl: "max-age=86400"])
    let leader = try await cache.respond(to: Self.request, transport: transport)
    let follower = try await cache.respond(to: Self.request, transport: transport)
    source.yield([1, 2, 3])
    source.finish(throwing: Broken())
    await #expect(throws: Broken.self) { try await leader.body.collect(upTo: 10) }
    await #expect(throws: Broken.self) { try await follower.body.collect(upTo: 10) }
  }

  @Test("A transfer ends when its last reader leaves")
  func abandoned() async throws {
    let cache = try HTTPCache(.init(kind: .shared, memoryCapacity: 64 << 20))
    let (chunks, source) = ByteStream.makeStream()
    let transport = Self.origin(chunks, fields: [.cacheControl: "max-age=86400"])
    var leader: CachedResponse? = try await cache.respond(to: Self.request, transport: transport)
    var follower: CachedResponse? = try await cache.respond(to: Self.request, transport: transport)
    #expect(leader != nil && follower != nil)
    (leader, follower) = (nil, nil)
    // Ends because the task is cancelled, though the origin goes on.
    try await cache.fetches.emptied()
    source.finish()
  }
}
