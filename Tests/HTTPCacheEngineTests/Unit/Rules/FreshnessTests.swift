// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

/// RFC 9111 §4.2.
@Suite(.timeLimit(.minutes(10)))
struct FreshnessTests {
  struct Row: CustomTestStringConvertible, Sendable {
    var fields: [String]
    var status: Int
    var inPrivate: (Int64, FreshnessLifetime.Source)
    var inShared: (Int64, FreshnessLifetime.Source)

    init(
      _ fields: String..., status: Int = 200, lifetime seconds: Int64, _ source: FreshnessLifetime.Source,
      shared: (Int64, FreshnessLifetime.Source)? = nil
    ) {
      (self.fields, self.status) = (fields, status)
      inPrivate = (seconds, source)
      inShared = shared ?? inPrivate
    }
    var testDescription: String { "\(status) \(fields)" }
  }

  private static let explicit: [Row] = [
    Row("Cache-Control: max-age=60", lifetime: 60, .maxAge),
    Row("Cache-Control: max-age=60", "Expires: \(date(999))", lifetime: 60, .maxAge),
    Row("Cache-Control: max-age=60", "Expires: 0", lifetime: 60, .maxAge),
    Row("Cache-Control: max-age=0", "Expires: \(date(999))", lifetime: 0, .maxAge),
    Row("Cache-Control: max-age=x", "Expires: \(date(999))", lifetime: 0, .maxAge),
    Row("Cache-Control: max-age=60, s-maxage=5", lifetime: 60, .maxAge, shared: (5, .sharedMaxAge)),
    Row("Cache-Control: s-maxage=60, max-age=5", lifetime: 5, .maxAge, shared: (60, .sharedMaxAge)),
    Row(
      "Cache-Control: s-maxage=60", "Expires: \(date(9))", lifetime: 9, .expires, shared: (60, .sharedMaxAge)),
    Row("Cache-Control: s-maxage=60", lifetime: 0, .none, shared: (60, .sharedMaxAge)),
    Row("Cache-Control: s-maxage=x, max-age=5", lifetime: 5, .maxAge, shared: (0, .sharedMaxAge)),
    Row("Expires: \(date(60))", lifetime: 60, .expires),
    Row("Expires: \(date(60))", "Date: \(date(0))", lifetime: 60, .expires),
    // Both dates are the origin's: its clock may go wrong as it likes.
    Row("Expires: \(date(1060))", "Date: \(date(1000))", lifetime: 60, .expires),
    Row("Expires: \(date(-940))", "Date: \(date(-1000))", lifetime: 60, .expires),
    Row("Expires: \(date(0))", lifetime: 0, .expires), Row("Expires: \(date(-60))", lifetime: 0, .expires),
    Row("Expires: 0", lifetime: 0, .expires), Row("Expires: -1", lifetime: 0, .expires),
    Row("Expires: ", lifetime: 0, .expires),
    Row("Expires: \(date(60))", "Expires: \(date(600))", lifetime: 0, .expires),
    Row("Expires: \(date(60))", "Date: x", lifetime: 60, .expires),
    Row("Expires: Sunday, 06-Nov-94 08:50:37 GMT", lifetime: 60, .expires),
    Row("Expires: Sun Nov  6 08:50:37 1994", lifetime: 60, .expires),
    Row("Expires: Sun, 06 Nov 1994 08:50:37 PST", lifetime: 0, .expires),
    Row("Expires: 0", "Last-Modified: \(date(-1000))", lifetime: 0, .expires),
    Row("Cache-Control: max-age=0", "Last-Modified: \(date(-1000))", lifetime: 0, .maxAge),
    Row("Cache-Control: max-age=99999999999999999999", lifetime: 2_147_483_648, .maxAge),
  ]

  private static let heuristic: [Row] = [
    Row(lifetime: 0, .none), Row("ETag: \"a\"", lifetime: 0, .none),
    Row("Last-Modified: \(date(-1000))", lifetime: 100, .heuristic),
    Row("Last-Modified: \(date(-2000))", "Date: \(date(-1000))", lifetime: 100, .heuristic),
    Row("Last-Modified: \(date(0))", lifetime: 0, .none),
    Row("Last-Modified: \(date(60))", lifetime: 0, .none),
    Row("Last-Modified: x", lifetime: 0, .none),
    Row("Last-Modified: \(date(-100_000_000))", lifetime: 86_400, .heuristic),
    Row("Last-Modified: Sat, 01 Jan 0000 00:00:00 GMT", lifetime: 86_400, .heuristic),
    Row("Last-Modified: \(date(-1000))", status: 404, lifetime: 100, .heuristic),
    Row("Last-Modified: \(date(-1000))", "Cache-Control: public", status: 302, lifetime: 100, .heuristic),
    Row(
      "Last-Modified: \(date(-1000))", "Cache-Control: s-maxage=7", lifetime: 100, .heuristic,
      shared: (7, .sharedMaxAge)
    ),
  ]

  @Test(
    "The lifetime is the first match of §4.2.1, otherwise the heuristic of §4.2.2",
    arguments: explicit + heuristic)
  func lifetime(row: Row) throws {
    for (engine, expected) in [(CacheEngine.privately, row.inPrivate), (.shared, row.inShared)] {
      var answer = response(row.status)
      answer.headerFields += HTTPFields(lines: row.fields)
      let lifetime = try #require(engine.stored(answer)).facts.lifetime
      #expect(lifetime.seconds == expected.0)
      #expect(lifetime.source == expected.1)
    }
  }

  @Test("A status code that is not cacheable by default gets no heuristic (§4.2.2)")
  func heuristicStatus() throws {
    let answer = response(302, "Last-Modified: \(date(-1000))", "Cache-Control: private")
    #expect(try #require(CacheEngine.privately.stored(answer)).facts.lifetime.source == .none)
  }

  @Test("Heuristics can be disabled and limited")
  func heuristicOptions() throws {
    let answer = response(200, "Last-Modified: \(date(-1000))")
    let without = CacheEngine(.init(kind: .private, usesHeuristics: false))
    #expect(try #require(without.stored(answer)).facts.lifetime.seconds == 0)
    let capped = CacheEngine(.init(kind: .private, heuristicMaximum: .seconds(7)))
    #expect(try #require(capped.stored(answer)).facts.lifetime.seconds == 7)
  }

  @Test(
    "The age on arrival is the greater of the apparent and the corrected age (§4.2.3)",
    arguments: [
      // fields, seconds between request and response, age
      ([], 0, 0), (["Date: \(date(0))"], 0, 0), (["Date: \(date(-30))"], 0, 30),
      (["Date: \(date(30))"], 0, 0),
      (["Age: 40"], 0, 40), (["Age: 40", "Date: \(date(-30))"], 0, 40),
      (["Age: 10", "Date: \(date(-30))"], 0, 30),
      (["Age: 40"], 5, 45), ([], 5, 5), (["Age: -40"], 0, 0), (["Age: x"], 0, 0), (["Age: 40, 9"], 0, 40),
      (["Age: 99999999999999999999"], 0, 2_147_483_648), (["Date: x"], 0, 0), ([], -5, 0),
      (["Age: 40"], -5, 40),
      (["Date: Fri, 31 Dec 9999 23:59:59 GMT"], 0, 0),
      (["Date: Sat, 01 Jan 0000 00:00:00 GMT"], 0, 784_111_777 + 62_167_219_200),
    ] as [([String], Int64, Int64)])
  func age(lines: [String], delay: Int64, seconds: Int64) throws {
    var answer = response()
    answer.headerFields += HTTPFields(lines: lines)
    let stored = try #require(
      CacheEngine.privately.stored(answer, requestTime: arrival.advanced(bySeconds: -delay)))
    #expect(stored.facts.currentAge(at: arrival) / 1000 == seconds)
    #expect(stored.facts.currentAge(at: arrival.advanced(bySeconds: 100)) / 1000 == seconds + 100)
  }

  @Test(
    "Dates are compared with the wall clock, and times with the monotonic clock (§4.2.3)",
    arguments: [
      // how far the wall clock is ahead; fields; age on arrival and lifetime, in seconds
      (3600, ["Cache-Control: max-age=60"], 5, 60), (-3600, ["Cache-Control: max-age=60"], 5, 60),
      (3600, ["Date: \(date(0))", "Cache-Control: max-age=60"], 3600, 60),
      (-3600, ["Date: \(date(0))", "Cache-Control: max-age=60"], 5, 60),
      (-3600, ["Date: \(date(-3630))", "Cache-Control: max-age=60"], 30, 60),
      (3600, ["Expires: \(date(3700))"], 5, 100), (-3600, ["Expires: \(date(100))"], 5, 3700),
      (3600, ["Last-Modified: \(date(0))"], 5, 360),
    ] as [(Int64, [String], Int64, Int64)])
  func twoClocks(lead: Int64, lines: [String], age: Int64, lifetime: Int64) throws {
    var answer = response()
    answer.headerFields += HTTPFields(lines: lines)
    let engine = CacheEngine.privately
    guard case .forward(let forwarding) = engine.plan(request(), []) else { return }
    let outcome = engine.outcome(
      of: .init(
        forwarding: forwarding, candidates: [], result: .response(answer),
        requestTime: arrival.advanced(bySeconds: -5), responseTime: arrival,
        arrival: arrival.advanced(bySeconds: lead)))
    guard case .store(let stored, _) = outcome.storage else {
      Issue.record("not stored")
      return
    }
    #expect(stored.facts.initialAge == age * 1000 && stored.facts.lifetime.seconds == lifetime)
    #expect(stored.facts.responseTime == arrival)
    let date = lines.contains { $0.hasPrefix("Date") }
    #expect(
      date || stored.fields[.date] == HTTPDate(arrival.advanced(bySeconds: lead)).fieldValue)
  }

  @Test(
    "A response is fresh while its lifetime exceeds its age",
    arguments: [
      (0, true, 0), (59, true, 59), (60, false, 60), (61, false, 61), (1 << 40, false, 1 << 40),
    ] as [(Int64, Bool, Int64)])
  func edge(after: Int64, isFresh: Bool, age: Int64) throws {
    let stored = try #require(CacheEngine.privately.stored(response(200, "Cache-Control: max-age=60")))
    let plan = CacheEngine.privately.plan(request(), [stored], after: after)
    if isFresh {
      #expect(plan.service?.ageInSeconds == age)
      #expect(plan.service?.remainingSeconds == 60 - age)
      #expect(plan.service?.isStale == false)
      #expect(plan.reason == .fresh)
    } else {
      #expect(plan.forwarding?.reason == .stale)
      #expect(plan.forwarding?.selected == 0)
    }
  }

  @Test("A response that arrives older than its lifetime is stale at once")
  func arrivesStale() throws {
    let stored = try #require(
      CacheEngine.shared.stored(response(200, "Cache-Control: max-age=60", "Age: 60")))
    #expect(CacheEngine.shared.plan(request(), [stored]).reason == .stale)
  }

  @Test("Freshness is calculated in milliseconds")
  func milliseconds() throws {
    let stored = try #require(CacheEngine.privately.stored(response(200, "Cache-Control: max-age=1")))
    for (milliseconds, isFresh) in [(Int64(0), true), (999, true), (1000, false)] {
      let now = Timestamp(milliseconds: arrival.milliseconds + milliseconds)
      let plan = CacheEngine.privately.plan(
        for: request(), policy: .useProtocolCachePolicy, candidates: [stored], now: now)
      #expect((plan.service != nil) == isFresh)
    }
  }

  @Test(
    "A clock that goes back makes nothing fresh, and no age negative", arguments: [-1, -3600, -784_111_777])
  func clockGoesBack(after: Int64) throws {
    for fields in ["Cache-Control: max-age=60", "Cache-Control: max-age=60, stale-while-revalidate=999"] {
      let stored = try #require(CacheEngine.privately.stored(response(200, fields, "ETag: \"a\"", "Age: 5")))
      let plan = CacheEngine.privately.plan(request(), [stored], after: after)
      #expect(plan.reason == .storedInTheFuture)
      #expect(plan.forwarding?.isValidation == true)
      #expect(
        CacheEngine.privately.plan(request("Cache-Control: max-stale"), [stored], after: after).service == nil
      )
      let any = CacheEngine.privately.plan(
        request(), [stored], after: after, policy: .returnCacheDataElseLoad)
      #expect(any.service?.ageInSeconds == 5)
      #expect(any.service?.isStale == true)
    }
  }

  @Test("A clock that stands still leaves age and freshness unchanged")
  func clockStandsStill() throws {
    let stored = try #require(
      CacheEngine.privately.stored(response(200, "Cache-Control: max-age=60", "Age: 5")))
    for _ in 0..<3 { #expect(CacheEngine.privately.plan(request(), [stored]).service?.ageInSeconds == 5) }
  }

  @Test("A stored response is served with one Age field, the calculated one (§4, §5.1)")
  func ageField() throws {
    let stored = try #require(
      CacheEngine.privately.stored(response(200, "Cache-Control: max-age=60", "Age: 5", "Age: 7")))
    #expect(stored.response(ageInSeconds: 9).headerFields[values: .age] == ["9"])
    #expect(stored.response(age: nil).headerFields[.age] == nil)
    #expect(stored.notModifiedResponse(ageInSeconds: 9).headerFields[values: .age] == ["9"])
  }
}
