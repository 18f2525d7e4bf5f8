// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("QUERY", .timeLimit(.minutes(10)))
struct QueryTests {
  /// Answers a query with its number and its content.
  private static func makeOrigin(_ fields: HTTPFields = [.cacheControl: "max-age=60"]) -> MemoryOrigin {
    MemoryOrigin(reading: { content, request, number in
      .ok("\(number) \(content)", fields).confirmed(by: request)
    })
  }

  private static func request(
    _ path: String = "/search", type: String = "application/sql", method: String = "QUERY"
  ) throws -> HTTPRequest {
    var request = HTTPRequest.get(path, fields: [.contentType: type])
    request.method = try #require(HTTPRequest.Method(rawValue: method))
    return request
  }

  private static func ask(
    _ setting: Setting, _ origin: MemoryOrigin, _ content: String, type: String = "application/sql",
    body: MessageBody? = nil
  ) async throws -> Answer {
    let response = try await setting.cache.respond(
      to: request(type: type), body: body ?? MessageBody(Array(content.utf8)), transport: origin.transport)
    return Answer(response: response, text: try await response.text)
  }

  @Test("A response answers only the same content of the same type (draft, Caching)")
  func contentIsPartOfTheKey() async throws {
    let (setting, origin) = (try Setting(), Self.makeOrigin())
    #expect(try await Self.ask(setting, origin, "select a").text == "1 select a")
    let hit = try await Self.ask(setting, origin, "select a")
    #expect(hit.source == .hit)
    #expect(hit.text == "1 select a")
    #expect(try await Self.ask(setting, origin, "select b").text == "2 select b")
    #expect(try await Self.ask(setting, origin, "select a", type: "text/plain").text == "3 select a")
    #expect(try await Self.ask(setting, origin, "").text == "4 ")
    // Neither does it answer a GET of the URI, nor is it found without its content.
    #expect(setting.cache.storedResponse(for: .get("/search")) == nil)
    #expect(setting.cache.storedResponse(for: try Self.request()) == nil)
  }

  @Test("Content in several chunks is part of the key if its length is known")
  func streamed() async throws {
    let (setting, origin) = (try Setting(), Self.makeOrigin())
    func chunks() -> ByteStream {
      ByteStream { continuation in
        for chunk in ["sel", "ect ", "a"] { continuation.yield(Array(chunk.utf8)[...]) }
        continuation.finish()
      }
    }
    _ = try await Self.ask(setting, origin, "select a")
    let hit = try await Self.ask(setting, origin, "", body: MessageBody(chunks(), length: 8))
    #expect(hit.source == .hit)
    let unknown = try await Self.ask(setting, origin, "", body: MessageBody(chunks()))
    #expect(unknown.source == .network)
    #expect(unknown.reason == .fromOrigin)
    #expect(await unknown.response.outcome.storage == .queryNotKeyed)
    #expect(unknown.response.cacheStatus.forward == .bypass)
    #expect(origin.requestContents == ["select a", "select a"])
  }

  @Test("Content too long for a key is forwarded whole, and the response is not stored")
  func tooLong() async throws {
    let setting = try Setting { $0.maximumQueryContent = 4 }
    let origin = Self.makeOrigin()
    #expect(try await Self.ask(setting, origin, "four").response.outcome.storage == .storedWithLifetime)
    for number in 2...3 {
      let answer = try await Self.ask(setting, origin, "fiver")
      #expect(answer.text == "\(number) fiver")
      #expect(await answer.response.outcome.storage == .queryNotKeyed)
    }
  }

  @Test(
    "A stale response is revalidated with the content of the request",
    arguments: ["", ", stale-while-revalidate=60"])
  func validation(window: String) async throws {
    let setting = try Setting()
    let origin = Self.makeOrigin([.cacheControl: "max-age=60" + window, .eTag: "\"v\""])
    _ = try await Self.ask(setting, origin, "select a")
    setting.clock.advance(seconds: 70)
    let answer = try await Self.ask(setting, origin, "select a")
    try await setting.cache.fetches.emptied()
    #expect(answer.source == (window.isEmpty ? .validated : .stale))
    #expect(answer.text == "1 select a")
    #expect(origin.requestContents == ["select a", "select a"])
    #expect(try await Self.ask(setting, origin, "select a").source == .hit)
  }

  @Test("An unsafe request to the target invalidates the responses to all its queries (RFC 9111 §4.4)")
  func invalidation() async throws {
    try await withTemporaryDirectory { directory in
      let origin = Self.makeOrigin()
      for isReopened in [false, true] {
        var setting = try Setting(directory: directory)
        _ = try await Self.ask(setting, origin, "select a")
        #expect(try await Self.ask(setting, origin, "select a").source == .hit)
        _ = try await setting.cache.respond(
          to: Self.request(method: "PUT"), body: MessageBody(Array("new".utf8)), transport: origin.transport)
        if isReopened {
          setting.cache.close()
          setting = try Setting(directory: directory)
        }
        #expect(try await Self.ask(setting, origin, "select a").source == .network)
        setting.cache.close()
      }
    }
  }

  @Test("Concurrent requests with the same content make one request", arguments: 0..<16)
  func collapsed(round: Int) async throws {
    let (setting, gate) = (try Setting(), Gate())
    let origin = MemoryOrigin(holding: [gate]) { _, _ in .ok("found") }
    let request = try Self.request()
    try await withThrowingTaskGroup(of: CachedResponse.self) { group in
      for _ in 0..<16 {
        group.addTask {
          try await setting.cache.respond(
            to: request, body: MessageBody(Array("select a".utf8)), transport: origin.transport)
        }
      }
      try await setting.cache.fetches.followers(15)
      gate.open()
      try await group.waitForAll()
    }
    #expect(origin.requests.count == 1)
  }
}
