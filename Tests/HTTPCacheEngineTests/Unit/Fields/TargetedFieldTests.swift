// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

@Suite("Targeted fields (RFC 9213)", .timeLimit(.minutes(10)))
struct TargetedFieldTests {
  private static let targets = ["Example-CDN-Cache-Control", "CDN-Cache-Control"]

  private func fields(_ lines: [String]) -> ResponseFields {
    let configuration = CacheEngine.Configuration(kind: .shared, targets: Self.targets)
    return ResponseFields(HTTPFields(lines: lines), now: arrival, targets: configuration.targets)
  }

  private func engine(_ kind: CacheEngine.Configuration.Kind = .shared) -> CacheEngine {
    CacheEngine(.init(kind: kind, targets: Self.targets))
  }

  @Test(
    "The first valid field of the target list governs, empty or invalid fields do not (§2.1, §2.2)",
    arguments: [
      (["CDN-Cache-Control: max-age=60", "Cache-Control: max-age=1"], "cdn-cache-control", 60),
      (["cdn-cache-control: max-age=60"], "cdn-cache-control", 60),
      (
        ["CDN-Cache-Control: max-age=60", "Example-CDN-Cache-Control: max-age=5"],
        "example-cdn-cache-control", 5
      ),
      (["CDN-Cache-Control: max-age=60", "Example-CDN-Cache-Control: "], "cdn-cache-control", 60),
      (["CDN-Cache-Control: max-age=60", "Example-CDN-Cache-Control: &"], "cdn-cache-control", 60),
      (["CDN-Cache-Control: MaX-aGe=60", "Cache-Control: max-age=1"], nil, 1),
      (["CDN-Cache-Control: max-age =60", "Cache-Control: max-age=1"], nil, 1),
      (["CDN-Cache-Control: max-age=60,", "Cache-Control: max-age=1"], nil, 1),
      (["CDN-Cache-Control:", "Cache-Control: max-age=1"], nil, 1),
      (["CDN-Cache-Control: none", "Cache-Control: max-age=1"], "cdn-cache-control", nil),
      (["CDN-Cache-Control: public", "CDN-Cache-Control: max-age=60"], "cdn-cache-control", 60),
      (["CDN-Cache-Control: max-age=60;x=\"y\";z, unknown=(1 2)"], "cdn-cache-control", 60),
      (["CDN-Cache-Control: max-age=5, max-age=60"], "cdn-cache-control", 60),
      (["Other-Cache-Control: max-age=60", "Cache-Control: max-age=1"], nil, 1),
    ] as [([String], String?, Int64?)])
  func choice(lines: [String], target: String?, maxAge: Int64?) {
    let fields = fields(lines)
    #expect(fields.target == target)
    #expect(fields.cacheControl.maxAge?.seconds == maxAge)
  }

  @Test(
    "A max-age of the wrong type counts as 0 (§2.1)",
    arguments: [
      ("max-age=1.5", 0), ("max-age=\"60\"", 0), ("max-age=x", 0), ("max-age", 0), ("max-age=-5", 0),
      ("max-age=(60)", 0), ("max-age=:YQ==:", 0), ("max-age=60", 60), ("max-age=99999999999", 2_147_483_648),
    ])
  func types(value: String, maxAge: Int64) {
    let directives = fields(["CDN-Cache-Control: \(value)"]).cacheControl
    #expect(directives.maxAge?.seconds == maxAge)
    #expect(directives.contains(.invalidTime) == (maxAge == 0))
  }

  @Test(
    "Targeted fields support every directive of Cache-Control (§2.2)",
    arguments: [
      ("no-store", .noStore), ("no-store=?0", .noStore), ("no-cache", .noCache), ("no-cache=1", .noCache),
      ("private", .isPrivate), ("private=?0", .isPrivate), ("must-revalidate", .mustRevalidate),
      ("proxy-revalidate", .proxyRevalidate), ("public", .isPublic), ("public=1", []),
      ("must-understand", .mustUnderstand), ("must-understand=?0", []), ("immutable", .immutable),
      ("immutable=x", .immutable), ("immutable=?0", []), ("no-transform", .noTransform),
      ("no-cache=\"a/b\"", .noCache),
    ] as [(String, CacheControl.Flags)])
  func directives(value: String, flags: CacheControl.Flags) {
    #expect(fields(["CDN-Cache-Control: \(value)"]).cacheControl.flags == flags)
  }

  @Test("Targeted fields parse times and field names like Cache-Control")
  func arguments() {
    let directives = fields([
      "CDN-Cache-Control: s-maxage=7, stale-while-revalidate=8, stale-if-error=9, no-cache=\"A, b\", private=\"c\""
    ]).cacheControl
    #expect(directives.sharedMaxAge == 7)
    #expect(directives.staleWhileRevalidate == 8)
    #expect(directives.staleIfError == 9)
    #expect(directives.noCacheFields == ["a", "b"])
    #expect(directives.privateFields == ["c"])
    #expect(directives.flags == [])
  }

  @Test("An oversized targeted field forbids storing")
  func tooLong() {
    let keys = (0..<100_000).map { "k\($0)" }.joined(separator: ",")
    let fields = fields(["CDN-Cache-Control: \(keys)", "Cache-Control: max-age=60"])
    #expect(fields.target == "cdn-cache-control")
    #expect(fields.cacheControl.contains(.noStore))
  }

  @Test(
    "A targeted field decides on storing instead of Cache-Control and Expires",
    arguments: [
      (["CDN-Cache-Control: max-age=60", "Cache-Control: no-store"], .storedWithLifetime),
      (["CDN-Cache-Control: no-store", "Cache-Control: max-age=60"], .responseNoStore),
      (["CDN-Cache-Control: private", "Cache-Control: public, max-age=60"], .privateInSharedCache),
      (["CDN-Cache-Control: none", "Cache-Control: no-store"], .storedWithoutLifetime),
      (["CDN-Cache-Control: max-age=\"60\"", "Cache-Control: no-store"], .storedWithLifetime),
      (["CDN-Cache-Control: &&", "Cache-Control: no-store"], .responseNoStore),
      (["CDN-Cache-Control: none", "Expires: \(date(60))"], .storedWithoutLifetime),
      (["CDN-Cache-Control: none", "Last-Modified: \(date(-1000))"], .storedWithHeuristic),
      (["CDN-Cache-Control: max-age=60, must-understand, no-store"], .storedWithLifetime),
    ] as [([String], CacheEngine.Reason)])
  func storing(lines: [String], reason: CacheEngine.Reason) {
    let head = HTTPResponse(status: .ok, headerFields: HTTPFields(lines: lines))
    #expect(engine().firstOutcome(request(), head).storage.reason == reason)
  }

  @Test("A targeted field decides on storing responses to requests with Authorization (RFC 9111 §3.5)")
  func authorization() {
    let user = request("Authorization: x")
    let closed = response(200, "CDN-Cache-Control: max-age=60", "Cache-Control: public, max-age=60")
    #expect(engine().firstOutcome(user, closed).refusal == .authorizedInSharedCache)
    let open = response(200, "CDN-Cache-Control: max-age=60, public", "Cache-Control: private")
    #expect(engine().firstOutcome(user, open).storage.reason == .storedWithLifetime)
  }

  @Test("A targeted field decides on reuse, and Age still counts (§2.3)")
  func reuse() throws {
    let head = response(
      200, "Date: \(arrivalDate)", "Age: 30", "Cache-Control: max-age=1, must-revalidate",
      "CDN-Cache-Control: max-age=60, stale-while-revalidate=10", "Expires: 0")
    let stored = try #require(engine().stored(head))
    #expect(engine().plan(request(), [stored], after: 29).service?.reason == .fresh)
    #expect(engine().plan(request(), [stored], after: 29).service?.ageInSeconds == 59)
    #expect(engine().plan(request(), [stored], after: 35).service?.reason == .staleWhileRevalidate)
    #expect(engine().plan(request(), [stored], after: 41).forwarding?.reason == .stale)
    let noCache = try #require(
      engine().stored(response(200, "Cache-Control: max-age=60", "CDN-Cache-Control: max-age=60, no-cache")))
    #expect(engine().plan(request(), [noCache]).forwarding?.reason == .storedNoCache)
  }

  @Test("Only no-cache of the targeted field keeps fields out of the store")
  func withheld() throws {
    let stored = try #require(
      engine().stored(
        response(
          200, "CDN-Cache-Control: max-age=60, no-cache=\"a, cdn-cache-control\"", "A: 1", "B: 2",
          "Cache-Control: no-cache=\"b\"", "Connection: CDN-Cache-Control")))
    #expect(stored.fields.map(\.name.canonicalName).contains("a") == false)
    #expect(stored.fields.map(\.name.canonicalName).contains("b"))
    // Like Cache-Control, it does not vanish because a field names it.
    #expect(stored.fields.map(\.name.canonicalName).contains("cdn-cache-control"))
  }

  @Test("A targeted field governs an update by a 304 response")
  func update() throws {
    let first = response(200, "ETag: \"a\"", "CDN-Cache-Control: max-age=60", "Cache-Control: max-age=1")
    let stored = try #require(engine().stored(first))
    let later = arrival.advanced(bySeconds: 100)
    func outcome(_ head: HTTPResponse) throws -> CacheEngine.Outcome {
      try #require(
        engine().exchange(request(), [stored], .response(head), requestTime: later, responseTime: later))
    }
    let kept = try outcome(response(304, "ETag: \"a\"", "Cache-Control: no-store"))
    #expect(kept.updates.first?.response.facts.lifetime.seconds == 60)
    let ended = try outcome(response(304, "ETag: \"a\"", "CDN-Cache-Control: no-store"))
    #expect(ended.removals == [0])
  }

  @Test("A field that is not on the target list has no effect and is passed through (§2.2)")
  func unlisted() throws {
    let head = response(200, "Cache-Control: max-age=60", "CDN-Cache-Control: no-store")
    let stored = try #require(CacheEngine.shared.stored(head))
    #expect(stored.facts.lifetime.seconds == 60)
    #expect(
      stored.response(ageInSeconds: 0).headerFields[values: HTTPField.Name("CDN-Cache-Control")!] == [
        "no-store"
      ])
  }
}
