// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

@Suite("Set-Cookie in a shared cache (§7.3)", .timeLimit(.minutes(10)))
struct SharedCookiesTests {
  private static let modified = "Last-Modified: \(date(-864_000))"

  private static func engine(
    _ use: CacheEngine.SetCookieUse, kind: CacheEngine.Configuration.Kind = .shared, targets: [String] = []
  ) -> CacheEngine {
    var configuration = CacheEngine.Configuration(kind: kind, targets: targets)
    configuration.setCookie = use
    return CacheEngine(configuration)
  }

  private static func answer(_ status: Int, _ lines: [String], cookie: String? = "Set-Cookie: user=a")
    -> HTTPResponse
  {
    HTTPResponse(
      status: .init(code: status),
      headerFields: HTTPFields(lines: ["ETag: \"a\""] + lines + (cookie.map { [$0] } ?? [])))
  }

  /// What a shared cache refuses is `true`.
  private static let declarations: [(lines: [String], isRefused: Bool)] = [
    ([], true), ([modified], true), (["Cache-Control: no-cache"], true),
    (["Cache-Control: immutable", modified], true),
    (["Cache-Control: must-revalidate", modified], true),
    (["Cache-Control: stale-while-revalidate=60, stale-if-error=60", modified], true),
    (["Cache-Control: max-age=0", modified], true), (["Cache-Control: max-age=x", modified], true),
    (["Cache-Control: max-age=60, no-cache"], true), (["Cache-Control: s-maxage=0, max-age=60"], true),
    (["Expires: 0", modified], true), (["Expires: \(date(-1))"], true), (["Expires: \(arrivalDate)"], true),
    (["Cache-Control: no-cache=\"set-cookie\"", modified], true),
    (["Cache-Control: max-age=60"], false), (["Cache-Control: s-maxage=60"], false),
    (["Expires: \(date(60))"], false),
    (["Expires: \(date(60))", "Date: \(date(59))"], false), (["Cache-Control: public"], false),
    (["Cache-Control: public, no-cache"], false), (["Cache-Control: public", modified], false),
    (["Cache-Control: max-age=60, must-revalidate"], false),
    (["Cache-Control: max-age=60, no-cache=\"set-cookie\""], false),
    (["CDN-Cache-Control: max-age=60"], false),
    (["CDN-Cache-Control: max-age=0", "Cache-Control: max-age=60"], true),
    (["CDN-Cache-Control: no-cache", "Cache-Control: public"], true),
  ]

  @Test(
    "A response with Set-Cookie is stored only if declared shareable, and never by a heuristic",
    arguments: declarations, ["Set-Cookie: user=a", "set-cookie2: user=a"])
  func declared(row: (lines: [String], isRefused: Bool), cookie: String) throws {
    let engine = Self.engine(.store, targets: ["CDN-Cache-Control"])
    for status in [200, 301, 404] {
      let outcome = engine.firstOutcome(request(), Self.answer(status, row.lines, cookie: cookie))
      #expect(outcome.refusal == (row.isRefused ? .cookiesNotShared : nil), "\(status)")
      guard case .store(let stored, _) = outcome.storage else { continue }
      #expect(stored.facts.lifetime.source != .heuristic)
      #expect(outcome.answer == .network)
    }
  }

  @Test(
    "By default, a response with Set-Cookie is stored only if declared for shared caches",
    arguments: declarations)
  func declaredForShared(row: (lines: [String], isRefused: Bool)) {
    let engine = CacheEngine(.init(kind: .shared, targets: ["CDN-Cache-Control"]))
    let isForShared = row.lines.contains {
      $0.contains("public") || $0.contains("s-maxage") || $0.hasPrefix("CDN-")
        // The cookie is not stored.
        || $0.contains("max-age=60, no-cache=\"set-cookie\"")
    }
    let outcome = engine.firstOutcome(request(), Self.answer(200, row.lines))
    #expect(outcome.refusal == (row.isRefused || !isForShared ? .cookiesNotShared : nil))
  }

  @Test(
    "A private cache stores a response with Set-Cookie like any other", arguments: declarations,
    CacheEngine.SetCookieUse.allCases)
  func privately(row: (lines: [String], isRefused: Bool), use: CacheEngine.SetCookieUse) throws {
    let response = Self.answer(200, row.lines.filter { !$0.hasPrefix("CDN") })
    let stored = try #require(Self.engine(use, kind: .private).stored(response))
    let plain = try #require(CacheEngine.privately.stored(response))
    #expect(stored == plain)
    #expect(Self.engine(use, kind: .private).headWhileStoring(response) == response)
    let isNamed = row.lines.contains { $0.contains("\"set-cookie\"") }
    #expect(stored.fields[.setCookie] == (isNamed ? nil : "user=a"))
  }

  @Test("With strip, a response is stored and served without its cookies")
  func strip() throws {
    let engine = Self.engine(.strip)
    let head = Self.answer(200, ["Cache-Control: max-age=60", "Set-Cookie: b=1", "set-cookie2: c=2"])
    let stored = try #require(engine.stored(head))
    #expect(stored.fields.map(\.name.canonicalName) == ["etag", "cache-control", "date"])
    #expect(
      engine.headWhileStoring(head).headerFields.map(\.name.canonicalName) == ["etag", "cache-control"])
    #expect(Self.engine(.store).headWhileStoring(head) == head)
    // A cookie is no reason to take the long way.
    let bytes = stored.encoded()
    let hit = engine.hit(
      for: request(), policy: .useProtocolCachePolicy, stored: bytes.span.bytes, now: arrival)
    #expect(hit?.reason == .fresh)
    // What is not declared shareable is not shared without its cookies either.
    #expect(engine.firstOutcome(request(), Self.answer(200, [Self.modified])).refusal == .cookiesNotShared)
  }

  @Test("With strip, the cookies of a 304 are removed from the shared answer")
  func stripped304() throws {
    let engine = Self.engine(.strip)
    let stored = try #require(engine.stored(Self.answer(200, ["Cache-Control: max-age=60"])))
    let outcome = try #require(Self.validated(engine, stored, "Set-Cookie: user=b"))
    #expect(outcome.storedAnswer?.response.fields[.setCookie] == nil)
    #expect(outcome.updates.first?.response.fields[.setCookie] == nil)
    #expect(outcome.updates.first?.response.facts.lifetime.seconds == 60)
  }

  @Test("With bypass, no response with Set-Cookie is stored", arguments: declarations)
  func bypass(row: (lines: [String], isRefused: Bool)) {
    let response = Self.answer(200, row.lines)
    #expect(Self.engine(.bypass).firstOutcome(request(), response).refusal == .cookiesBypassed)
    #expect(Self.engine(.bypass).stored(Self.answer(200, row.lines, cookie: nil)) != nil)
  }

  @Test(
    "A response stored with cookies is not used after a change to strip or bypass",
    arguments: [CacheEngine.SetCookieUse.strip, .bypass], RequestCachePolicy.allCases)
  func changed(use: CacheEngine.SetCookieUse, policy: RequestCachePolicy) throws {
    let fields = ["Cache-Control: max-age=60", "Vary: A"]
    let before = try #require(Self.engine(.store).stored(Self.answer(200, fields)))
    let engine = Self.engine(use)
    let plan = engine.plan(request(), [before], after: 1, policy: policy)
    #expect(plan.service == nil)
    #expect(plan.forwarding?.request.headerFields[.ifNoneMatch] == nil)
    // Nor by another variant's request, nor by the short way.
    #expect(engine.plan(request("A: 1"), [before]).forwarding?.isValidation == false)
    let bytes = before.encoded()
    let hit = engine.hit(for: request(), policy: policy, stored: bytes.span.bytes, now: arrival)
    #expect(hit == nil)
    // A 304 brings it back no more than a plan does.
    let twin = try #require(engine.stored(Self.answer(200, fields, cookie: nil)))
    let outcome = try #require(
      engine.exchange(
        request(), [before, twin], .response(response(304, "ETag: \"a\"")),
        requestTime: arrival.advanced(bySeconds: 61), responseTime: arrival.advanced(bySeconds: 61)))
    #expect(outcome.storedAnswer?.candidate == 1)
    #expect(outcome.updates.map(\.candidate) == [1])
  }

  // MARK: - Whatever follows

  private static func validated(
    _ engine: CacheEngine, _ stored: StoredResponse, method: HTTPRequest.Method = .get, _ lines: String...
  ) -> CacheEngine.Outcome? {
    let later = arrival.advanced(bySeconds: 1_000_000)
    let head = HTTPResponse(
      status: method == .head ? .ok : .notModified, headerFields: HTTPFields(lines: ["ETag: \"a\""] + lines))
    return engine.exchange(
      request(method: method), [stored], .response(head), requestTime: later, responseTime: later)
  }

  @Test("A cookie in a 304 reaches its client and is not stored")
  func cookieOfAnUpdateOfWhatIsDeclared() throws {
    let engine = Self.engine(.store)
    let stored = try #require(engine.stored(Self.answer(200, ["Cache-Control: max-age=5"], cookie: nil)))
    let outcome = try #require(Self.validated(engine, stored, "Set-Cookie: user=b"))
    #expect(outcome.updates.isEmpty && outcome.removals.isEmpty)
    #expect(outcome.storedAnswer?.response.fields[.setCookie] == "user=b")
  }

  @Test(
    "Without a declaration, a 304 or HEAD response with Set-Cookie updates and removes nothing",
    arguments: [HTTPRequest.Method.get, .head], [CacheEngine.SetCookieUse.store, .bypass])
  func cookieOfAnUpdate(method: HTTPRequest.Method, use: CacheEngine.SetCookieUse) throws {
    let engine = Self.engine(use)
    let stored = try #require(engine.stored(Self.answer(200, [Self.modified], cookie: nil)))
    #expect(stored.facts.lifetime.source == .heuristic)
    let outcome = try #require(Self.validated(engine, stored, method: method, "Set-Cookie: user=b"))
    #expect(outcome.updates.isEmpty)
    #expect(outcome.removals.isEmpty)
    // The client of that request gets its own cookie.
    if method == .get { #expect(outcome.storedAnswer?.response.fields[.setCookie] == "user=b") }
    // Without one it updates as ever; with a declaration too, unless the cache bypasses.
    #expect(Self.validated(engine, stored, method: method)?.updates.count == 1)
    let declared = Self.validated(
      engine, stored, method: method, "Set-Cookie: b=1", "Cache-Control: max-age=9")
    #expect(declared?.updates.first?.response.fields[.setCookie] == (use == .store ? "b=1" : nil))
  }

  @Test(
    "An update that withdraws the declaration removes the response and serves no stored cookies",
    arguments: ["no-cache", "max-age=0", "x", "must-revalidate"], [nil, "Set-Cookie: user=b"])
  func takenBack(directives: String, cookie: String?) throws {
    let engine = Self.engine(.store)
    let stored = try #require(
      engine.stored(Self.answer(200, [Self.modified, "Cache-Control: max-age=60"])))
    #expect(stored.fields[.setCookie] == "user=a")
    let outcome = try #require(
      Self.validated(engine, stored, "Cache-Control: \(directives)", cookie ?? ""))
    #expect(outcome.removals == [0])
    #expect(outcome.updates.isEmpty)
    #expect(outcome.storedAnswer?.response.fields[values: .setCookie] == (cookie == nil ? [] : ["user=b"]))
  }

  @Test("A full response that is not stored for its cookies removes the one it replaces")
  func replaced() throws {
    let engine = Self.engine(.store)
    let stored = try #require(engine.stored(Self.answer(200, [Self.modified], cookie: nil)))
    let later = arrival.advanced(bySeconds: 1_000_000)
    let outcome = try #require(
      engine.exchange(
        request(), [stored], .response(Self.answer(200, [])), requestTime: later, responseTime: later))
    #expect(outcome.refusal == .cookiesNotShared)
    #expect(outcome.removals == [0])
  }

  @Test("A part with an undeclared Set-Cookie is not combined with stored parts")
  func parts() throws {
    let engine = Self.engine(.store)
    let first = response(
      206, "ETag: \"a\"", "Content-Range: bytes 0-1/4", "Content-Length: 2", Self.modified)
    let stored = try #require(engine.stored(first, for: request("Range: bytes=0-1")))
    for (line, isStored) in [("", true), ("Set-Cookie: user=b", false)] {
      let second = response(
        206, "ETag: \"a\"", "Content-Range: bytes 2-3/4", "Content-Length: 2", Self.modified, line)
      let outcome = try #require(
        engine.exchange(request("Range: bytes=2-3"), [stored], .response(second)))
      #expect((outcome.refusal == nil) == isStored)
      #expect(outcome.removals.isEmpty)
    }
  }

  @Test("Permission to serve stale does not make a response with Set-Cookie shareable")
  func failures() {
    var configuration = CacheEngine.Configuration(kind: .shared, whenDisconnected: .unlessForbidden)
    configuration.whenDisconnected = .anyStored
    let engine = CacheEngine(configuration)
    for line in ["stale-if-error=60", "stale-while-revalidate=60", "max-age=0, stale-if-error=60"] {
      let head = Self.answer(200, ["Cache-Control: \(line)", Self.modified])
      #expect(engine.firstOutcome(request(), head).refusal == .cookiesNotShared)
    }
  }
}
