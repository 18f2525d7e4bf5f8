// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

/// RFC 9111 §4.2.4 and §5.2.1, RFC 5861. What is stored in these tests has a lifetime of 60 seconds.
@Suite(.timeLimit(.minutes(10)))
struct StaleUseTests {
  private func plan(
    _ directives: String, request requestFields: String = "", after: Int64,
    kind: CacheEngine.Configuration.Kind
  ) throws -> CacheEngine.Plan {
    let engine = CacheEngine.of(kind)
    let stored = try #require(
      engine.stored(response(200, "Cache-Control: max-age=60, \(directives)", "ETag: \"a\"")))
    return engine.plan(request(requestFields), [stored], after: after)
  }

  @Test(
    "Request directives restrict or extend reuse (§5.2.1)",
    arguments: [
      // request's Cache-Control, age, reason
      ("", 59, .fresh), ("", 60, .stale), ("max-age=30", 30, .fresh), ("max-age=30", 31, .requestMaxAge),
      ("max-age=0", 0, .requestMaxAge), ("max-age=x", 0, .requestMaxAge), ("max-age=999", 60, .stale),
      ("max-age=30, max-stale=5", 66, .stale), ("max-age=30, max-stale=99", 31, .requestMaxAge),
      ("max-age=30, max-stale", 61, .stale), ("max-age=0, max-stale", 5, .requestMaxAge),
      ("max-age=99, max-stale=5", 64, .staleAllowedByRequest), ("max-age=99, max-stale", 100, .stale),
      ("min-fresh=30", 30, .fresh),
      ("min-fresh=30", 31, .requestMinFresh),
      ("min-fresh=x", 59, .requestMinFresh), ("min-fresh=", 5, .requestMinFresh),
      ("min-fresh", 5, .requestMinFresh), ("min-fresh=1, min-fresh=x", 5, .requestMinFresh),
      ("min-fresh=30, max-stale", 31, .requestMinFresh),
      ("min-fresh=30, max-stale", 61, .stale), ("max-stale", 6000, .staleAllowedByRequest),
      ("max-stale=10", 70, .staleAllowedByRequest), ("max-stale=10", 71, .stale),
      ("max-stale=\"10\"", 70, .staleAllowedByRequest),
      ("max-stale=0", 61, .stale), ("max-stale=x", 61, .stale), ("max-stale=10, max-stale", 90, .stale),
      ("no-cache", 0, .requestNoCache), ("no-cache, max-stale", 90, .requestNoCache), ("no-store", 5, .fresh),
      ("no-transform", 5, .fresh), ("max-age=30, no-cache", 5, .requestNoCache),
      ("stale-while-revalidate=99", 61, .stale), ("public, private, immutable", 5, .fresh),
    ] as [(String, Int64, CacheEngine.Reason)])
  func requestDirectives(directives: String, after: Int64, reason: CacheEngine.Reason) throws {
    for kind in CacheEngine.Configuration.Kind.allCases {
      let plan = try plan("", request: "Cache-Control: \(directives)", after: after, kind: kind)
      #expect(plan.reason == reason)
      #expect((plan.service != nil) == [.fresh, .staleAllowedByRequest].contains(reason))
      if let service = plan.service { #expect(service.isStale == (after >= 60)) }
    }
  }

  @Test(
    "only-if-cached gets a stored response or 504, never the network (§5.2.1.7)",
    arguments: [
      ("only-if-cached", 30, true), ("only-if-cached", 61, false), ("only-if-cached, max-stale", 61, true),
      ("only-if-cached, max-age=5", 30, false), ("only-if-cached, no-cache", 30, false),
    ] as [(String, Int64, Bool)])
  func onlyIfCached(directives: String, after: Int64, isServed: Bool) throws {
    let plan = try plan("", request: "Cache-Control: \(directives)", after: after, kind: .private)
    #expect((plan.service != nil) == isServed)
    if !isServed {
      #expect(plan.refusal?.reason == .onlyIfCached)
      #expect(plan.refusal?.response.status.code == 504)
    }
    let nothing = CacheEngine.shared.plan(request("Cache-Control: \(directives)"), [])
    #expect(nothing.refusal?.reason == .onlyIfCached)
  }

  @Test("only-if-cached starts no revalidation in the background")
  func onlyIfCachedWhileRevalidate() throws {
    let plan = try plan(
      "stale-while-revalidate=30", request: "Cache-Control: only-if-cached", after: 61, kind: .private)
    #expect(plan.service?.isStale == true)
    #expect(plan.service?.revalidation == nil)
  }

  @Test(
    "Pragma: no-cache applies only without Cache-Control (§5.4)",
    arguments: [
      (["Pragma: no-cache"], true), (["Pragma: No-Cache"], true), (["Pragma: x, no-cache"], true),
      (["Pragma: x"], false), (["Pragma: no-cache", "Cache-Control: max-age=99"], false),
      (["Cache-Control: x", "Pragma: no-cache"], false),
    ] as [([String], Bool)])
  func pragma(lines: [String], isValidated: Bool) throws {
    let stored = try #require(CacheEngine.privately.stored(response(200, "Cache-Control: max-age=60")))
    var asked = request()
    asked.headerFields += HTTPFields(lines: lines)
    #expect((CacheEngine.privately.plan(asked, [stored]).reason == .requestNoCache) == isValidated)
  }

  @Test(
    "A stale response with must-revalidate or the like is served only after revalidation",
    arguments: [
      // response directive, reason when stale in a private and a shared cache with max-stale in the request
      ("must-revalidate", .staleMustRevalidate, .staleMustRevalidate),
      ("proxy-revalidate", .staleAllowedByRequest, .staleMustRevalidate),
      ("s-maxage=60", .staleAllowedByRequest, .staleMustRevalidate),
      ("no-cache", .storedNoCache, .storedNoCache),
      ("no-cache=\"x\"", .staleAllowedByRequest, .staleAllowedByRequest),
      ("must-revalidate, stale-while-revalidate=99", .staleMustRevalidate, .staleMustRevalidate),
      ("immutable", .staleAllowedByRequest, .staleAllowedByRequest),
    ] as [(String, CacheEngine.Reason, CacheEngine.Reason)])
  func mustRevalidate(directive: String, inPrivate: CacheEngine.Reason, inShared: CacheEngine.Reason) throws {
    for (kind, reason) in [(CacheEngine.Configuration.Kind.private, inPrivate), (.shared, inShared)] {
      let plan = try plan(directive, request: "Cache-Control: max-stale", after: 61, kind: kind)
      #expect(plan.reason == reason)
    }
  }

  @Test("A response with must-revalidate or the like is served while it is fresh")
  func mustRevalidateFresh() throws {
    for directive in ["must-revalidate", "proxy-revalidate", "s-maxage=60"] {
      #expect(try plan(directive, after: 59, kind: .shared).reason == .fresh)
    }
  }

  @Test(
    "stale-while-revalidate serves within its window and revalidates in the background (RFC 5861 §3)",
    arguments: [
      ("stale-while-revalidate=30", "", 59, .fresh),
      ("stale-while-revalidate=30", "", 60, .staleWhileRevalidate),
      ("stale-while-revalidate=30", "", 89, .staleWhileRevalidate),
      ("stale-while-revalidate=30", "", 90, .stale),
      ("stale-while-revalidate=0", "", 60, .stale), ("stale-while-revalidate=x", "", 60, .stale),
      ("stale-while-revalidate", "", 60, .stale), ("stale-while-revalidate=30", "max-age=99", 61, .stale),
      ("stale-while-revalidate=30", "min-fresh=1", 61, .stale),
      ("stale-while-revalidate=30", "no-cache", 61, .requestNoCache),
      ("stale-while-revalidate=30, no-cache", "", 61, .storedNoCache),
    ] as [(String, String, Int64, CacheEngine.Reason)])
  func whileRevalidate(directives: String, request: String, after: Int64, reason: CacheEngine.Reason) throws {
    let plan = try plan(directives, request: "Cache-Control: \(request)", after: after, kind: .private)
    #expect(plan.reason == reason)
    if reason == .staleWhileRevalidate {
      #expect(plan.service?.revalidation?.request.headerFields[.ifNoneMatch] == "\"a\"")
      #expect(plan.service?.revalidation?.nominated == 0)
    } else {
      #expect(plan.service?.revalidation == nil)
    }
  }

  @Test(
    "stale-if-error serves within its window when the origin fails (RFC 5861 §4)",
    arguments: [
      // response directives, request's Cache-Control, age, reason or nil for the failure itself
      ("stale-if-error=30", "", 61, .staleIfError), ("stale-if-error=30", "", 89, .staleIfError),
      ("stale-if-error=30", "", 90, nil), ("", "", 61, nil), ("", "stale-if-error=30", 61, .staleIfError),
      ("stale-if-error=5", "stale-if-error=30", 80, .staleIfError), ("stale-if-error=x", "", 61, nil),
      ("stale-if-error=30, must-revalidate", "", 61, nil), ("stale-if-error=30, no-cache", "", 61, nil),
      ("stale-if-error=30", "no-cache", 61, nil),
    ] as [(String, String, Int64, CacheEngine.Reason?)])
  func ifError(directives: String, asked: String, after: Int64, reason: CacheEngine.Reason?) throws {
    let engine = CacheEngine.privately
    let stored = try #require(
      engine.stored(response(200, "Cache-Control: max-age=60, \(directives)", "ETag: \"a\"")))
    let now = arrival.advanced(bySeconds: after)
    let results: [CacheEngine.Exchange.Result] =
      [.failure] + [500, 502, 503, 504].map { .response(response($0, "Cache-Control: max-age=9")) }
    for result in results {
      let outcome = try #require(
        engine.exchange(
          request("Cache-Control: \(asked)"), [stored], result, requestTime: now, responseTime: now))
      if let reason {
        #expect(outcome.reason == reason)
        #expect(outcome.storedAnswer?.isStale == true)
        #expect(outcome.storedAnswer?.ageInSeconds == after)
        #expect(outcome.updates.isEmpty)
        #expect(outcome.storage == .none)
      } else {
        #expect(outcome.storedAnswer == nil)
        #expect(outcome.answer == (result == .failure ? .failure : .network))
      }
    }
  }

  @Test(
    "stale-if-error applies to no status but 500, 502, 503 and 504 (RFC 5861 §4)",
    arguments: [200, 400, 404, 429, 501, 505, 511])
  func noError(status: Int) throws {
    let engine = CacheEngine.privately
    let stored = try #require(
      engine.stored(response(200, "Cache-Control: max-age=60, stale-if-error=999", "ETag: \"a\"")))
    let now = arrival.advanced(bySeconds: 61)
    let outcome = try #require(
      engine.exchange(
        request(), [stored], .response(response(status)), requestTime: now, responseTime: now))
    #expect(outcome.answer == .network)
  }

  @Test("A disconnected cache serves stale only if configured, and never against a directive (§4.2.4)")
  func disconnected() throws {
    let now = arrival.advanced(bySeconds: 61)
    for (directives, serves, isServed) in [
      ("max-age=60", false, false), ("max-age=60", true, true), ("max-age=60, must-revalidate", true, false),
      ("no-cache", true, false),
    ] {
      let engine = CacheEngine(.init(kind: .private, whenDisconnected: serves ? .unlessForbidden : .nothing))
      let stored = try #require(engine.stored(response(200, "Cache-Control: \(directives)", "ETag: \"a\"")))
      let failed = try #require(
        engine.exchange(request(), [stored], .failure, requestTime: now, responseTime: now))
      #expect((failed.reason == .staleWhileDisconnected) == isServed)
      #expect((failed.reason == .originUnreachable) == !isServed)
      let answered = try #require(
        engine.exchange(
          request(), [stored], .response(response(503)), requestTime: now, responseTime: now))
      #expect(answered.answer == .network, "an answer is no disconnection")
    }
  }

  @Test(
    "The user's override serves against a directive while disconnected, and the reason reports it (§4.2.4)")
  func override() throws {
    for (directives, asked, elapsed, reason) in [
      ("max-age=60", "", Int64(61), CacheEngine.Reason.staleWhileDisconnected),
      ("max-age=60, must-revalidate", "", 61, .forbiddenWhileDisconnected),
      ("max-age=60, no-cache", "", 5, .forbiddenWhileDisconnected),
      ("max-age=60", "", -5, .forbiddenWhileDisconnected),
      ("max-age=60, stale-if-error=9", "", 61, .staleIfError),
      ("max-age=60", "no-cache", 61, .originUnreachable),
    ] {
      var configuration = CacheEngine.Configuration(kind: .private)
      configuration.whenDisconnected = .anyStored
      let engine = CacheEngine(configuration)
      let stored = try #require(engine.stored(response(200, "Cache-Control: \(directives)", "ETag: \"a\"")))
      let now = arrival.advanced(bySeconds: elapsed)
      let question = asked.isEmpty ? request() : request("Cache-Control: \(asked)")
      let failed = try #require(
        engine.exchange(question, [stored], .failure, requestTime: now, responseTime: now))
      #expect(failed.reason == reason, "\(directives) \(asked) \(elapsed)")
      if case .stored(let answer) = failed.answer { #expect(answer.isStale) }
    }
  }

  @Test(
    "An invalid response is an error, but not a disconnection (§4.2.4, RFC 5861 §4)",
    arguments: CacheEngine.DisconnectedUse.allCases)
  func fault(use: CacheEngine.DisconnectedUse) throws {
    var configuration = CacheEngine.Configuration(kind: .private)
    configuration.whenDisconnected = use
    let engine = CacheEngine(configuration)
    let now = arrival.advanced(bySeconds: 61)
    for (directives, reason) in [
      ("max-age=60", CacheEngine.Reason.originUnreachable), ("max-age=60, stale-if-error=9", .staleIfError),
    ] {
      let stored = try #require(engine.stored(response(200, "Cache-Control: \(directives)", "ETag: \"a\"")))
      let failed = try #require(
        engine.exchange(request(), [stored], .fault, requestTime: now, responseTime: now))
      #expect(failed.reason == reason)
    }
  }

  /// What a response says of its lifetime, and whether that counts.
  static let lifetimes: [(lines: [String], counts: Bool)] = [
    ([], false), (["Cache-Control: max-age=0"], false), (["Cache-Control: max-age=0, public"], false),
    (["Expires: \(date(-9))"], false), (["Expires: 0"], false), (["Expires: \(date(0))"], false),
    (["Cache-Control: max-age=x"], false), (["ETag: \"a\""], false), (["Last-Modified: \(date(-9))"], false),
    (["Last-Modified: \(date(-10))"], true), (["Cache-Control: max-age=1"], true),
    (["Cache-Control: max-age=5", "Age: 99"], true), (["Expires: \(date(1))"], true),
  ]

  @Test(
    "In a shared cache, nothing but the origin permits the stale use of what had no lifetime",
    arguments: lifetimes, CacheEngine.Configuration.Kind.allCases)
  func oneVisitor(row: (lines: [String], counts: Bool), kind: CacheEngine.Configuration.Kind) throws {
    var configuration = CacheEngine.Configuration(kind: kind, whenDisconnected: .anyStored)
    let plain = CacheEngine(configuration)
    var rule = CacheEngine.ResponseRule()
    (rule.decision.grace, rule.decision.staleIfError) = (600, 600)
    var ruling = CacheEngine.Ruling()
    ruling.rules = [rule]
    configuration.ruling = ruling
    configuration.whenDisconnected = .nothing
    let ruled = CacheEngine(configuration)
    var answer = response(200, "Date: \(date(0))")
    answer.headerFields += HTTPFields(lines: row.lines)
    var stored = try #require(plain.stored(answer))
    let isOpen = kind == .private || row.counts
    #expect(stored.facts.flags.contains(.hadLifetime) == row.counts)
    // A purge that makes it stale does not make it one visitor's.
    for isPurged in [false, true] {
      if isPurged { stored.facts.expire(at: arrival.advanced(bySeconds: 90)) }
      let now = arrival.advanced(bySeconds: 120)
      for asked in ["max-stale", "max-stale=999", "only-if-cached, max-stale"] {
        #expect(
          (plain.plan(request("Cache-Control: \(asked)"), [stored], after: 120).service != nil) == isOpen)
      }
      for policy in [RequestCachePolicy.returnCacheDataElseLoad, .returnCacheDataDontLoad] {
        #expect((plain.plan(request(), [stored], after: 120, policy: policy).service != nil) == isOpen)
      }
      #expect((ruled.plan(request(), [stored], after: 120).reason == .staleByRule) == isOpen)
      func outcome(_ engine: CacheEngine, _ asked: String, _ result: CacheEngine.Exchange.Result) throws
        -> Bool
      {
        let outcome = try #require(
          engine.exchange(
            request("Cache-Control: \(asked)"), [stored], result, requestTime: now, responseTime: now))
        return outcome.storedAnswer != nil
      }
      #expect(try outcome(plain, "", .failure) == isOpen)
      for result in [.failure, .response(response(503))] as [CacheEngine.Exchange.Result] {
        // With max-age, the grace does not apply, so the origin is asked.
        #expect(try outcome(ruled, "max-age=999", result) == isOpen)
        #expect(try outcome(plain, "stale-if-error=999", result) == isOpen)
      }
      #expect(plain.staleSeconds(of: stored) == (0, 0))
      #expect(ruled.staleSeconds(of: stored) == (isOpen ? (600, 600) : (0, 0)))
      #expect(!stored.isReusable(at: now))
    }
  }

  @Test(
    "The origin's own windows permit what they name, and nothing else, without a lifetime",
    arguments: ["", "max-age=0, "])
  func windows(prefix: String) throws {
    let engine = CacheEngine(.init(kind: .shared, whenDisconnected: .unlessForbidden))
    let stored = try #require(
      engine.stored(
        response(200, "Cache-Control: \(prefix)stale-while-revalidate=30, stale-if-error=60", "ETag: \"a\"")))
    #expect(engine.plan(request(), [stored], after: 29).reason == .staleWhileRevalidate)
    #expect(stored.isReusable(at: arrival.advanced(bySeconds: 29)))
    for asked in ["", "Cache-Control: max-stale", "Cache-Control: stale-if-error=999"] {
      #expect(engine.plan(request(asked), [stored], after: 31).service == nil)
      for (after, isServed) in [(Int64(59), true), (61, false)] {
        let now = arrival.advanced(bySeconds: after)
        let outcome = try #require(
          engine.exchange(request(asked), [stored], .failure, requestTime: now, responseTime: now))
        #expect((outcome.reason == .staleIfError) == isServed && (outcome.storedAnswer != nil) == isServed)
      }
    }
  }

  @Test("A failure with nothing stored is passed on")
  func nothing() throws {
    let outcome = try #require(CacheEngine.privately.exchange(request(), [], .failure))
    #expect(outcome.answer == .failure)
    #expect(outcome.reason == .originUnreachable)
  }
}
