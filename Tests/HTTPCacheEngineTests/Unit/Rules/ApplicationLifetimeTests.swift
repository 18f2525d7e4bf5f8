// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

@Suite("A lifetime that the application sets", .timeLimit(.minutes(10)))
struct ApplicationLifetimeTests {
  private static func storage(
    _ lines: [String], _ kind: CacheEngine.Configuration.Kind, status: Int = 200,
    request head: HTTPRequest = request(), lifetime: Duration? = .seconds(60)
  ) -> CacheEngine.Outcome.Storage? {
    CacheEngine.of(kind).exchange(
      head, [], .response(HTTPResponse(status: .init(code: status), headerFields: HTTPFields(lines: lines))),
      lifetime: lifetime)?.storage
  }

  @Test(
    "It replaces what the origin says about the lifetime, from the arrival on",
    arguments: [
      [], ["Cache-Control: max-age=0"], ["Cache-Control: max-age=9999"], ["Cache-Control: s-maxage=9999"],
      ["Cache-Control: no-cache"], ["Cache-Control: no-store"],
      ["Cache-Control: no-store, no-cache, max-age=0"],
      ["Cache-Control: max-age=x"], ["Cache-Control: public; max-age=3"], ["Expires: 0", "Pragma: no-cache"],
      ["Expires: \(date(9999))"], ["Age: 5000", "Cache-Control: max-age=10"], ["Date: \(date(-5000))"],
      ["Last-Modified: \(date(-1000))"],
    ], [CacheEngine.Configuration.Kind.private, .shared])
  func replaces(lines: [String], kind: CacheEngine.Configuration.Kind) throws {
    let engine = CacheEngine.of(kind)
    guard case .store(let fresh, let reason) = Self.storage(lines, kind) else {
      Issue.record("not stored")
      return
    }
    #expect(reason == .storedByApplication)
    let stored = try #require(StoredResponse(decoding: fresh.encoded()[...]))
    for (after, served) in [(0, true), (59, true), (60, false)] as [(Int64, Bool)] {
      let service = engine.plan(request(), [stored], after: after).service
      #expect((service != nil) == served)
      if served { #expect(service?.reason == .freshByApplication) }
      stored.encoded().withUnsafeBytes { bytes in
        let hit = engine.hit(
          for: request(), policy: .useProtocolCachePolicy, stored: bytes.bytes,
          now: arrival.advanced(bySeconds: after))
        #expect(hit?.reason == (served ? .freshByApplication : nil))
      }
    }
    // The client sees the origin's fields.
    let names = Set(HTTPFields(lines: lines).map(\.name))
    for name in names where name != .age {
      #expect(stored.response(age: nil).headerFields[name] == HTTPFields(lines: lines)[name])
    }
  }

  @Test("It makes a status code cacheable that is not by default, like any explicit lifetime")
  func otherStatus() {
    guard case .store = Self.storage([], .private, status: 503) else {
      Issue.record("not stored")
      return
    }
    #expect(Self.storage([], .private, status: 503, lifetime: nil) == .refuse(.notDeclaredCacheable))
  }

  @Test(
    "All other rules apply",
    arguments: [
      (["Cache-Control: private"], [], 200, .privateInSharedCache),
      ([], ["Authorization: Basic YTpi"], 200, .authorizedInSharedCache),
      (["Set-Cookie: a=b"], [], 200, .cookiesNotShared),
      ([], ["Cache-Control: no-store"], 200, .requestNoStore),
      ([], [], 412, .statusNotUnderstood),
    ] as [([String], [String], Int, CacheEngine.Reason)])
  func otherRules(lines: [String], asked: [String], status: Int, reason: CacheEngine.Reason) {
    var head = request()
    head.headerFields = HTTPFields(lines: asked)
    #expect(Self.storage(lines, .shared, status: status, request: head) == .refuse(reason))
  }

  @Test("A 304 may set it again, and otherwise brings back the origin's", arguments: [true, false])
  func validated(again: Bool) throws {
    let engine = CacheEngine.privately
    guard case .store(let stored, _) = Self.storage(["Cache-Control: no-cache", "ETag: \"1\""], .private)
    else {
      Issue.record("not stored")
      return
    }
    let later = arrival.advanced(bySeconds: 100)
    let outcome = try #require(
      engine.exchange(
        request(), [stored], .response(response(304, "ETag: \"1\"", "Date: \(date(100))")),
        lifetime: again ? .seconds(60) : nil, requestTime: later, responseTime: later))
    #expect(outcome.reason == .validated)
    let updated = try #require(outcome.updates.first?.response)
    #expect((engine.plan(request(), [updated], after: 159).service != nil) == again)
    #expect(engine.plan(request(), [updated], after: 161).service == nil)
  }

  @Test("A negative lifetime counts as 0, and the longest does not overflow", arguments: [-5, 0, Int64.max])
  func extremes(seconds: Int64) {
    guard case .store(let stored, _) = Self.storage(["Age: 100"], .private, lifetime: .seconds(seconds))
    else {
      Issue.record("not stored")
      return
    }
    #expect((CacheEngine.privately.plan(request(), [stored]).service != nil) == (seconds > 0))
  }
}
