// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

/// RFC 9111 §4.3.3: what answers a request takes the place of what could have answered it, where it is stored.
@Suite("What the origin has replaced", .timeLimit(.minutes(10)))
struct SupersededTests {
  /// How the content of the answer arrives.
  enum Arrival: CaseIterable, Sendable {
    case atOnce, inChunks, brokenOff
  }

  private static func arriving(_ arrival: Arrival, _ response: TransportResponse) -> TransportResponse {
    guard arrival != .atOnce, let bytes = response.body.bytes else { return response }
    var streamed = response
    streamed.body = MessageBody(
      AsyncThrowingStream { stream in
        let size = max(1, bytes.count / 3)
        for start in stride(from: bytes.startIndex, to: bytes.endIndex, by: size) {
          stream.yield(bytes[start..<min(start + size, bytes.endIndex)])
        }
        stream.finish(throwing: arrival == .brokenOff ? HTTPCacheError.incompleteContent : nil)
      }, length: nil)
    return streamed
  }

  struct Answered: Sendable {
    var status: HTTPResponse.Status
    var fields: HTTPFields
    /// The content; `nil` for more than the store takes.
    var text: String? = "new"
  }

  static let answers = [
    Answered(status: .notFound, fields: [.cacheControl: "max-age=60"]),
    Answered(status: .gone, fields: [.cacheControl: "no-store"]),
    Answered(status: .ok, fields: [.cacheControl: "max-age=60", .vary: "Accept-Language", .eTag: "\"2\""]),
    Answered(status: .ok, fields: [.cacheControl: "max-age=60", .vary: "*"]),
    Answered(status: .ok, fields: [.cacheControl: "max-age=60", .vary: "Accept-Encoding"], text: nil),
    Answered(status: .movedPermanently, fields: [.cacheControl: "max-age=60", .location: "/x"]),
  ]

  @Test(
    "The old response answers no request any more, in memory and on disk, after a restart, among few or many variants",
    arguments: answers, [(Arrival.atOnce, false), (.inChunks, false), (.atOnce, true), (.inChunks, true)])
  func replaced(answered: Answered, way: (arrival: Arrival, onDisk: Bool)) async throws {
    for variants in [1, 12] {
      try await with(way.onDisk) { setting, reopen in
        let origin = MemoryOrigin { request, number in
          if number <= variants {
            return .ok("old", [.cacheControl: "max-age=3600", .vary: "Accept-Encoding", .eTag: "\"1\""])
          }
          let text = answered.text ?? String(repeating: "x", count: 5 << 20)
          var response = TransportResponse.ok(text, answered.fields)
          response.head.status = answered.status
          return Self.arriving(way.arrival, response)
        }
        for number in 0..<variants {
          _ = try await setting.get(from: origin, fields: [.acceptEncoding: "x\(number)"])
        }
        let reload: HTTPFields = [.acceptEncoding: "x0", .cacheControl: "no-cache"]
        let answer = try await setting.get(from: origin, fields: reload)
        #expect(answer.text != "old")
        let setting = try reopen(setting)
        for fields in [[.acceptEncoding: "x0"], [:], [.acceptEncoding: "x0"]] as [HTTPFields] {
          let next = try await setting.get(from: origin, fields: fields)
          #expect(next.text != "old", "\(next.reason)")
        }
        // Those that could not have answered stay, and answer where the new one does not.
        if variants > 1, answered.fields[.vary] != "Accept-Language" {
          #expect(try await setting.get(from: origin, fields: [.acceptEncoding: "x1"]).text == "old")
        }
        setting.cache.close()
      }
    }
  }

  @Test(
    "A transfer that ends early replaces nothing, whether its response is to be stored or not",
    arguments: [false, true],
    [(404, "max-age=60"), (404, "no-store"), (200, "no-store"), (200, "max-age=60")])
  func brokenOff(onDisk: Bool, row: (status: Int, cacheControl: String)) async throws {
    try await with(onDisk) { setting, _ in
      let origin = MemoryOrigin { _, number in
        guard number > 1 else {
          return .ok("old", [.cacheControl: "max-age=3600", .vary: "Accept-Encoding", .eTag: "\"1\""])
        }
        var response = TransportResponse.ok("new", [.cacheControl: row.cacheControl])
        response.head.status = HTTPResponse.Status(code: row.status)
        return Self.arriving(.brokenOff, response)
      }
      _ = try await setting.get(from: origin)
      await #expect(throws: (any Error).self) {
        try await setting.get(from: origin, fields: [.cacheControl: "no-cache"])
      }
      #expect(try await setting.get(from: origin).text == "old")
      setting.cache.close()
    }
  }

  @Test(
    "What is validated in the background gives way to an answer that is not stored", arguments: [false, true])
  func inBackground(onDisk: Bool) async throws {
    try await with(onDisk) { setting, _ in
      let origin = MemoryOrigin { _, number in
        if number == 1 {
          return .ok("old", [.cacheControl: "max-age=1, stale-while-revalidate=60", .eTag: "\"1\""])
        }
        var response = TransportResponse.ok("new", [.cacheControl: "no-store"])
        response.head.status = .notFound
        return Self.arriving(.inChunks, response)
      }
      _ = try await setting.get(from: origin)
      setting.clock.advance(seconds: 2)
      #expect(try await setting.get(from: origin).text == "old")
      try await setting.cache.fetches.emptied()
      #expect(try await setting.get(from: origin).text == "new")
      setting.cache.close()
    }
  }

  @Test(
    "After a 304 with another Vary, the next full response leaves no second one", arguments: [false, true])
  func anotherVary(onDisk: Bool) async throws {
    try await with(onDisk) { setting, reopen in
      let origin = MemoryOrigin { request, number in
        switch number {
        case 1: return .ok("old", [.cacheControl: "max-age=10", .eTag: "\"1\""])
        case 2:
          let fields: HTTPFields = [.cacheControl: "max-age=10", .eTag: "\"1\"", .vary: "Accept-Encoding"]
          return .ok("old", fields).confirmed(by: request)
        default:
          return .ok("new", [.cacheControl: "max-age=10", .eTag: "\"2\"", .vary: "Accept-Encoding"])
        }
      }
      _ = try await setting.get(from: origin)
      setting.clock.advance(seconds: 20)
      #expect(try await setting.get(from: origin).source == .validated)
      setting.clock.advance(seconds: 20)
      #expect(try await setting.get(from: origin).text == "new")
      if !onDisk { #expect(setting.cache.store.usage.memoryEntries == 1) }
      let setting = try reopen(setting)
      setting.clock.advance(seconds: 3600)
      #expect(try await setting.get(from: origin, fields: [.cacheControl: "max-stale"]).text == "new")
      setting.cache.close()
    }
  }

  @Test("A content that version 5 shared among variants is a miss, and is loaded again and pinned")
  func sharedByVersion5() async throws {
    try await with(true) { setting, reopen in
      let origin = MemoryOrigin { request, number in
        .ok("\(number)", [.cacheControl: "max-age=3600", .vary: "Accept-Language"])
      }
      func get(_ language: String, _ setting: Setting) async throws -> Answer {
        try await setting.get(from: origin, fields: [.acceptLanguage: language])
      }
      #expect(try await get("de", setting).text == "1")
      try setting.cache.pin(.get())
      let key = try #require(CacheKey(.get()))
      let entry = try #require(setting.cache.store.lookup(StoreKey(key.bytes)).first)
      let isChanged = setting.cache.store.updateMetadata(
        of: entry, key: entry.storeKey, storedAt: entry.storedAt
      ) { metadata in
        var form = metadata.withUnsafeBytes { Array($0) }
        let other = form
        form[0] = 5
        form[6] |= 4
        let count = UInt32(other.count)
        return form + [1, 0, 0, 0]
          + stride(from: 0, to: 32, by: 8).map { UInt8(truncatingIfNeeded: count >> UInt32($0)) } + other
      }
      #expect(isChanged)
      let reopened = try reopen(setting)
      #expect(reopened.cache.storedResponse(for: .get(fields: [.acceptLanguage: "de"])) == nil)
      let again = try await get("de", reopened)
      #expect(again.source == .network && again.text == "2")
      #expect(try await get("de", reopened).source == .hit)
      #expect(reopened.cache.isPinned(.get()))
      #expect(reopened.cache.pinned.map(\.responseCount) == [1])
      reopened.cache.close()
    }
  }

  @Test("A response that is stored by hand replaces what it answers instead of")
  func byHand() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in .ok("old", [.cacheControl: "max-age=60", .vary: "Accept-Encoding"]) }
    _ = try await setting.get(from: origin)
    let head = HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"])
    #expect(setting.cache.store(head, content: Array("new".utf8), for: .get()) == .storedWithLifetime)
    #expect(try await setting.get(from: origin).text == "new")
    #expect(setting.cache.store.usage.memoryEntries == 1)
  }

  private func with(
    _ onDisk: Bool, _ body: (Setting, _ reopen: (Setting) throws -> Setting) async throws -> Void
  ) async throws {
    guard onDisk else { return try await body(try Setting()) { $0 } }
    try await withTemporaryDirectory { directory in
      try await body(try Setting(directory: directory)) { old in
        old.cache.close()
        return try Setting(directory: directory)
      }
    }
  }
}
