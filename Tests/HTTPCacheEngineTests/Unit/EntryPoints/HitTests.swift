// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

@Suite(.timeLimit(.minutes(10)))
struct HitTests {
  /// What was stored, for which request, and the request now: lines of fields.
  struct Case: Sendable, CustomTestStringConvertible {
    var stored: [String]
    var first: [String] = []
    var asked: [String] = []
    var isHit: Bool
    var testDescription: String { "\(stored) for \(first), asked with \(asked)" }
  }

  private static let cases: [Case] = [
    Case(stored: ["Cache-Control: max-age=60"], isHit: true),
    Case(
      stored: ["Cache-Control: max-age=60"], asked: ["Accept: a", "Authorization: b", "Cookie: c"],
      isHit: true),
    Case(
      stored: ["Cache-Control: max-age=60"], asked: ["Prefer: wait=1", "If: (<a>)", "Ranges: 1"], isHit: true),
    Case(stored: ["Cache-Control: max-age=5"], isHit: false),
    Case(stored: ["Cache-Control: max-age=60, no-cache"], isHit: false),
    Case(stored: ["Cache-Control: max-age=60", "Vary: *"], isHit: false),
    Case(stored: ["Cache-Control: max-age=60", "Vary: A"], first: ["A: 1"], asked: ["A: 1"], isHit: true),
    Case(stored: ["Cache-Control: max-age=60", "Vary: A"], first: ["A: 1"], asked: ["a: 1"], isHit: true),
    Case(stored: ["Cache-Control: max-age=60", "Vary: A"], first: ["A: 1"], asked: ["A: 2"], isHit: false),
    Case(stored: ["Cache-Control: max-age=60", "Vary: A"], first: ["A: 1"], isHit: false),
    Case(stored: ["Cache-Control: max-age=60", "Vary: A"], asked: ["A: 1"], isHit: false),
    Case(stored: ["Cache-Control: max-age=60", "Vary: A"], asked: ["B: 1"], isHit: true),
    // What the request says of caching counts, wherever it stands and whatever the response varies on.
    Case(
      stored: ["Cache-Control: max-age=60", "Vary: A"], first: ["A: 1"], asked: ["Range: bytes=0-1", "A: 1"],
      isHit: false),
    Case(
      stored: ["Cache-Control: max-age=60", "Vary: A"], first: ["A: 1"], asked: ["A: 1", "Pragma: no-cache"],
      isHit: false),
    Case(
      stored: ["Cache-Control: max-age=60", "Vary: A, B"], first: ["A: 1"],
      asked: ["A: 1", "If-None-Match: \"x\""], isHit: false),
    Case(
      stored: ["Cache-Control: max-age=60", "Vary: A"], first: ["A: 1"], asked: ["A: 1", "Authorization: b"],
      isHit: true),
    Case(
      stored: ["Cache-Control: max-age=60", "Vary: Accept-Language, X"],
      first: ["Accept-Language: de, en;q=0.5", "X: long enough for words"],
      asked: ["X: long enough for words", "Accept-Language: de, en;q=0.5"], isHit: true),
    Case(
      stored: ["Cache-Control: max-age=60", "Vary: X"], first: ["X: long enough for words"],
      asked: ["X: long enough for wordz"], isHit: false),
    // A condition with the response's own tag, and nothing else about it.
    Case(
      stored: ["Cache-Control: max-age=60", "ETag: \"x\""], asked: ["If-None-Match: \"x\""], isHit: true),
    Case(
      stored: ["Cache-Control: max-age=60", "etag: W/\"longer than words\"", "Server: s"],
      asked: ["If-None-Match: W/\"longer than words\"", "If-Modified-Since: \(arrivalDate)"], isHit: false),
    Case(
      stored: ["Cache-Control: max-age=60", "etag: W/\"longer-than-words\"", "ETAG: \"second\""],
      asked: ["If-None-Match: W/\"longer-than-words\"", "If-Modified-Since: \(arrivalDate)"], isHit: true),
    Case(
      stored: ["Cache-Control: max-age=60", "ETag: \"x\"", "ETag: \"y\""], asked: ["If-None-Match: \"y\""],
      isHit: false),
    Case(
      stored: ["Cache-Control: max-age=60", "Vary: A", "ETag: \"x\""], first: ["A: 1"],
      asked: ["A: 1", "If-None-Match: \"x\""], isHit: true),
    Case(
      stored: ["Cache-Control: max-age=60", "ETag: \"x\""], asked: ["If-None-Match: W/\"x\""], isHit: false),
    Case(
      stored: ["Cache-Control: max-age=60", "ETag: \"x\""], asked: ["If-None-Match: \"x\", \"y\""],
      isHit: false),
    Case(
      stored: ["Cache-Control: max-age=60", "ETag: x"], asked: ["If-None-Match: x"], isHit: false),
    Case(stored: ["Cache-Control: max-age=60", "ETag: *"], asked: ["If-None-Match: *"], isHit: false),
    Case(
      stored: ["Cache-Control: max-age=60", "ETag: \"x\""],
      asked: ["If-None-Match: \"x\"", "If-None-Match: \"x\""], isHit: false),
    Case(
      stored: ["Cache-Control: max-age=60", "ETag: \"x\""],
      asked: ["If-None-Match: \"x\"", "Range: bytes=0-1"], isHit: false),
    Case(
      stored: ["Cache-Control: max-age=60", "ETag: \"x\""],
      asked: ["If-None-Match: \"x\"", "Cache-Control: no-cache"], isHit: false),
    Case(
      stored: ["Cache-Control: max-age=60", "Vary: If-None-Match", "ETag: \"x\""],
      asked: ["If-None-Match: \"x\""], isHit: false),
    // What means the same in another spelling, and several lines, are for the long way.
    Case(
      stored: ["Cache-Control: max-age=60", "Vary: Accept"], first: ["Accept: a,b"], asked: ["Accept: b, a"],
      isHit: false),
    Case(
      stored: ["Cache-Control: max-age=60", "Vary: A"], first: ["A: 1", "A: 2"], asked: ["A: 1, 2"],
      isHit: false),
    Case(
      stored: ["Cache-Control: max-age=60", "Vary: A"], first: ["A: 1"], asked: ["A: 1", "A: 1"], isHit: false
    ),
    Case(
      stored: ["Cache-Control: max-age=60", "Vary: A, B, C, D, E, F, G, H, I"], isHit: false),
  ]

  @Test("The fast path serves fresh responses that match literally, as the plan does", arguments: cases)
  func table(given: Case) throws {
    let first = HTTPRequest(
      method: .get, scheme: "http", authority: "a.example", path: "/r",
      headerFields: HTTPFields(lines: given.first))
    let head = HTTPResponse(status: .ok, headerFields: HTTPFields(lines: given.stored))
    let stored = try #require(CacheEngine.privately.stored(head, for: first))
    var asked = first
    asked.headerFields = HTTPFields(lines: given.asked)
    for method in [HTTPRequest.Method.get, .head] {
      asked.method = method
      try expect(given.isHit, stored, asked)
    }
  }

  @Test(
    "A request with caching directives, other conditions or ranges does not take the fast path",
    arguments: [
      "Cache-Control: max-age=9999", "cache-control: x", "Pragma: x", "If-None-Match: \"a\"",
      "If-Modified-Since: \(arrivalDate)", "Range: bytes=0-1", "If-Range: \"a\"", "If-Match: \"a\"",
      "If-Unmodified-Since: \(arrivalDate)",
    ])
  func fields(line: String) throws {
    let stored = try #require(CacheEngine.privately.stored(response(200, "Cache-Control: max-age=60")))
    try expect(false, stored, request("Accept: a", line))
  }

  @Test("A condition is answered by 304 only if the response would be a success", arguments: [200, 204, 404])
  func statuses(code: Int) throws {
    let stored = try #require(
      CacheEngine.privately.stored(response(code, "Cache-Control: max-age=60", "ETag: \"a\"")))
    let hit = try expect(code != 404, stored, request("If-None-Match: \"a\""))
    #expect(hit?.isNotModified == (code == 404 ? nil : true))
  }

  @Test("Methods other than GET and HEAD, and reloading policies, do not take the fast path")
  func methodsAndPolicies() throws {
    let stored = try #require(CacheEngine.privately.stored(response(200, "Cache-Control: max-age=60")))
    for method in [HTTPRequest.Method("POST"), .init("OPTIONS"), .init("QUERY"), .init("get")] {
      try expect(false, stored, request(method: try #require(method)))
    }
    for policy in RequestCachePolicy.allCases {
      let isHit = !policy.ignoresStored && policy != .reloadRevalidatingCacheData
      try expect(isHit, stored, request(), policy: policy)
    }
  }

  @Test("The fast path serves heuristically fresh responses, but no partial, invalidated or future ones")
  func special() throws {
    var stored = try #require(CacheEngine.privately.stored(response(200, "Last-Modified: \(date(-10_000))")))
    let hit = try #require(try expect(true, stored, request()))
    #expect(hit.reason == .freshByHeuristic)
    #expect(hit.ageInSeconds == 10)
    #expect(hit.remainingSeconds == 990)
    try expect(false, stored, request(), after: -1)
    try expect(false, stored, request(), after: 1000)
    stored.parts = StoredParts(ranges: [0..<3], completeLength: 10, isCombinable: true)
    try expect(false, stored, request())
    stored.parts = nil
    stored.facts.flags.insert(.invalidated)
    try expect(false, stored, request())
  }

  @discardableResult
  private func expect(
    _ isHit: Bool, _ stored: StoredResponse, _ request: HTTPRequest,
    policy: RequestCachePolicy = .useProtocolCachePolicy, after: Int64 = 10,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> CacheEngine.Hit? {
    let engine = CacheEngine.privately
    let now = arrival.advanced(bySeconds: after)
    let hit = stored.encoded().withUnsafeBytes {
      engine.hit(for: request, policy: policy, stored: $0.bytes, now: now)
    }
    #expect((hit != nil) == isHit, sourceLocation: sourceLocation)
    guard let hit else { return nil }
    let plan = engine.plan(for: request, policy: policy, candidates: [stored], now: now)
    #expect(plan == .serve(CacheEngine.Service(hit)), sourceLocation: sourceLocation)
    return hit
  }
}
