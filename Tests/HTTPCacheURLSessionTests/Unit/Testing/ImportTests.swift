// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheTesting
import HTTPTypes
import TestSupport
import Testing

@Suite("Archives in a cache", .timeLimit(.minutes(10)))
struct ImportTests {
  private func archived(
    _ url: String, _ text: String, _ fields: HTTPFields, method: HTTPRequest.Method = .get, status: Int = 200,
    asked: HTTPFields = [:]
  ) throws -> ArchivedResponse {
    ArchivedResponse(
      name: url, request: try #require(request(url, method: method, fields: asked)),
      head: HTTPResponse(status: .init(code: status), headerFields: fields), body: Array(text.utf8))
  }

  private func responses() throws -> [ArchivedResponse] {
    [
      try archived("https://a.test/fresh", "fresh", [.cacheControl: "max-age=3600", .contentLength: "999"]),
      try archived(
        "https://a.test/old", "old", [.cacheControl: "max-age=3600", .date: "Sun, 06 Nov 1994 08:49:37 GMT"]),
      try archived("https://a.test/secret", "secret", [.cacheControl: "no-store"]),
      try archived(
        "https://a.test/vary", "de", [.cacheControl: "max-age=3600", .vary: "Accept"], asked: [.accept: "a/b"]
      ),
      try archived(
        "https://a.test/asked", "asked", [.cacheControl: "max-age=3600", .eTag: "\"a\""],
        asked: [.cacheControl: "no-cache, no-store", .ifNoneMatch: "\"a\""]),
      try archived("https://a.test/moved", "", [.location: "/fresh"], status: 301),
      try archived("https://a.test/post", "post", [:], method: .post),
    ]
  }

  @Test("Archived responses follow the caching rules, are served offline, and are refused with a reason")
  func rules() async throws {
    let cache = try makeCache()
    let report = try await cache.store(responses())
    #expect(report.stored.map { $0.dropFirst(15) } == ["fresh", "old", "vary", "asked", "moved"])
    #expect(
      report.notStored.map { "\($0.url.dropFirst(15)) \($0.reason.rawValue)" } == [
        "secret responseNoStore", "post methodNotStored",
      ])
    for (path, text) in [("fresh", "fresh"), ("old", "old"), ("asked", "asked"), ("moved", "")] {
      #expect(try await cache.get("https://a.test/\(path)", policy: .returnCacheDataDontLoad).text == text)
    }
    #expect(try await cache.get("https://a.test/fresh").response.age == .zero)
    await #expect(throws: HTTPCacheError.self) {
      try await cache.get("https://a.test/vary", policy: .returnCacheDataDontLoad)
    }
    let varied = try await cache.get(
      "https://a.test/vary", policy: .returnCacheDataDontLoad, fields: [.accept: "a/b"])
    #expect(varied.text == "de")
  }

  @Test("With a lifetime, archived responses are stored despite no-store, and fresh for that time")
  func override() async throws {
    let clock = TestClock()
    let cache = try makeCache(clock: clock)
    let report = try await cache.store(responses(), freshFor: .seconds(3600))
    #expect(report.notStored.map(\.reason) == [.methodNotStored])
    clock.advance(by: .seconds(3599))
    for path in ["fresh", "old", "secret", "vary", "asked", "moved"] {
      #expect(try await cache.get("https://a.test/\(path)").response.source == .hit)
    }
    clock.advance(by: .seconds(1))
    let stale = try await cache.get("https://a.test/secret", policy: .returnCacheDataDontLoad)
    #expect(stale.response.reason == .policyReturnsStored)
  }

  @Test("A response too large for the store is reported as not stored")
  func noRoom() async throws {
    let cache = try makeCache()
    let large = try archived(
      "https://a.test/", String(repeating: "x", count: 8 << 20), [.cacheControl: "max-age=3600"])
    #expect(try await cache.store([large]).notStored.count == 1)
  }

  @Test("Stubs replay an archive")
  func replay() async throws {
    let (stubs, cache) = (HTTPStubs(), try makeCache())
    stubs.replay([
      try archived("https://a.test/x?*={y}", "to the letter", [.contentType: "a/b"]),
      try archived("https://a.test/down", "down", [:], status: 503),
    ])
    let answer = try await cache.get("https://a.test/x?*={y}", through: stubs.transport)
    #expect(answer.text == "to the letter")
    #expect(answer.response.head.headerFields[.contentType] == "a/b")
    let down = try await cache.get("https://a.test/down", through: stubs.transport)
    #expect(down.response.head.status.code == 503 && down.text == "down")
    await #expect(throws: StubError.self) {
      try await cache.get("https://a.test/x?z={y}", through: stubs.transport)
    }
  }
}

@Suite("Recording", .timeLimit(.minutes(10)))
struct RecordingTests {
  @Test(
    "Partial, 304 and oversized responses are not recorded, but reach the caller"
  )
  func left() async throws {
    try await withTemporaryFolder { temporary async throws in
      let directory = temporary.path
      var folder = ResponseFolder(directory)
      folder.limits.body = 5
      let stubs = HTTPStubs()
      stubs.on(.get, "/304", .status(304))
      stubs.on(.get, "/206", .text("part", status: 206))
      stubs.on(.get, "/long", .text("123456"))
      stubs.on(.get, "/short", .text("12345"))
      let transport = folder.recording(stubs.transport)
      for path in ["304", "206", "long", "short"] {
        let asked = try #require(request("https://a.test/\(path)"))
        let response = try await transport(asked, .empty)
        if path == "long" { #expect(response.body.bytes?.count == 6) }
      }
      #expect(try folder.responses().map(\.url) == ["https://a.test/short"])
    }
  }

  @Test("A folder that cannot be written fails no request, and its error is reported")
  func unwritable() async throws {
    try await withTemporaryFolder { temporary async throws in
      let directory = temporary.path
      try Data().write(to: URL(fileURLWithPath: directory + "/file"))
      let stubs = HTTPStubs()
      stubs.on(.get, "/", .text("x"))
      let errors = Recorder<String>()
      let transport = ResponseFolder(directory + "/file/folder").recording(stubs.transport) { error in
        errors.add("\(error)")
      }
      let asked = try #require(request("https://a.test/"))
      #expect(try await transport(asked, .empty).body.bytes?.count == 1)
      #expect(errors.all.first?.contains("cannot write to the folder") == true)
    }
  }
}
