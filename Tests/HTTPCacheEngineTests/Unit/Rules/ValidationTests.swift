// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

/// RFC 9111 §4.3. What is stored in these tests is stale a minute after it arrived.
@Suite(.timeLimit(.minutes(10)))
struct ValidationTests {
  private let engine = CacheEngine.privately
  private let later = arrival.advanced(bySeconds: 61)
  private let lastModified = date(-1000)

  private func stored(
    _ lines: String..., asked: HTTPRequest = request(), at time: Timestamp = arrival
  ) throws -> StoredResponse {
    var answer = response(200, "Cache-Control: max-age=60")
    answer.headerFields += HTTPFields(lines: lines)
    return try #require(engine.stored(answer, for: asked, requestTime: time, responseTime: time))
  }

  private func validate(
    _ candidates: [StoredResponse], _ head: HTTPResponse, _ asked: HTTPRequest = request(),
    engine: CacheEngine = .privately, policy: RequestCachePolicy = .useProtocolCachePolicy
  ) throws -> CacheEngine.Outcome {
    try #require(
      engine.exchange(
        asked, candidates, .response(head), policy: policy, requestTime: later, responseTime: later))
  }

  // MARK: - The conditional request (§4.3.1)

  @Test(
    "A conditional request carries every validator of the stored response",
    arguments: [
      (["ETag: \"a\""], "\"a\"", nil), (["ETag: W/\"a\""], "W/\"a\"", nil),
      (["Last-Modified: \(date(-1000))"], nil, date(-1000)),
      (["ETag: \"a\"", "Last-Modified: \(date(-1000))"], "\"a\"", date(-1000)),
      (["Last-Modified: Sunday, 06-Nov-94 08:00:00 GMT"], nil, "Sunday, 06-Nov-94 08:00:00 GMT"),
      (["Last-Modified: 6 Nov 1994 8:00 UTC"], nil, "6 Nov 1994 8:00 UTC"),
      (["Last-Modified: 1994-11-06T08:00:00+00:00"], nil, "1994-11-06T08:00:00+00:00"),
      (
        ["ETag: \"a\"", "Last-Modified: Sun, 6 Nov 1994 08:00:00 GMT"], "\"a\"",
        "Sun, 6 Nov 1994 08:00:00 GMT"
      ),
      (
        ["Last-Modified: Sun, 6 Nov 1994 08:00:00 GMT", "Last-Modified: Sun, 06 Nov 1994 08:00:00 GMT"], nil,
        nil
      ),
      (["ETag: \"a\"", "Last-Modified: yesterday"], "\"a\"", nil), (["ETag: *"], nil, nil),
      (["ETag: \"a\", *"], nil, nil), ([], nil, nil), (["Last-Modified: yesterday"], nil, nil),
      (["ETag: \"a\"", "ETag: \"b\""], "\"a\"", nil),
    ] as [([String], String?, String?)])
  func conditionalRequest(lines: [String], noneMatch: String?, modifiedSince: String?) throws {
    var answer = response(200, "Cache-Control: max-age=60")
    answer.headerFields += HTTPFields(lines: lines)
    let stored = try #require(engine.stored(answer))
    let forwarding = try #require(engine.plan(request("Accept: a"), [stored], after: 61).forwarding)
    #expect(forwarding.request.headerFields[.ifNoneMatch] == noneMatch)
    #expect(forwarding.request.headerFields[.ifModifiedSince] == modifiedSince)
    #expect(forwarding.request.headerFields[.accept] == "a")
    #expect(forwarding.isValidation == (noneMatch != nil || modifiedSince != nil))
    #expect(forwarding.original == request("Accept: a"))
  }

  @Test(
    "A conditional request names what the request selects, and no other variant (§4.1, §4.3.1)",
    arguments: ["\"x\"", "W/\"x\"", "\"" + String(repeating: "y", count: 3000) + "\""],
    [(coding: nil, own: nil), ("gzip", nil), (nil, "\"own\""), ("gzip", "\"own\"")]
      as [(coding: String?, own: String?)])
  func selectedAlone(tag: String, row: (coding: String?, own: String?)) throws {
    let (coding, own) = row
    let lines = ["ETag: \(tag)", "Vary: Accept-Encoding", "Last-Modified: \(lastModified)"]
    var answer = response(200, "Cache-Control: max-age=60")
    answer.headerFields += HTTPFields(lines: lines + (coding.map { ["Content-Encoding: \($0)"] } ?? []))
    let stored = try #require(engine.stored(answer, for: request("Accept-Encoding: gzip")))
    for (accepting, isSelected) in [
      ("gzip", true), ("br", false), ("br, gzip", false), ("gzip;q=0, *", false),
    ] {
      var asked = request("Accept-Encoding: \(accepting)")
      asked.headerFields[.ifNoneMatch] = own
      let forwarding = try #require(engine.plan(asked, [stored], after: 61).forwarding)
      #expect(forwarding.reason == (isSelected ? .stale : .noVariantMatches))
      #expect(forwarding.isValidation == isSelected && forwarding.nominated == (isSelected ? 0 : nil))
      let sent = (isSelected ? [tag] : []) + (own.map { [$0] } ?? [])
      #expect(
        forwarding.request.headerFields[.ifNoneMatch] == (sent.isEmpty ? nil : sent.joined(separator: ", ")))
      #expect(forwarding.request.headerFields[.ifModifiedSince] == (isSelected ? lastModified : nil))
    }
  }

  @Test("A request that is repeated in full has the reason of the first one, for Cache-Status")
  func firstReason() throws {
    let asked = request("Accept-Encoding: gzip")
    let stored = try stored(
      "ETag: \"x\"", "Vary: Accept-Encoding", "Content-Encoding: gzip", asked: asked)
    func firstReason(_ asked: HTTPRequest, _ head: HTTPResponse) throws -> CacheEngine.Reason? {
      guard case .forwardAgain(let again) = try validate([stored], head, asked).answer else { return nil }
      #expect(again.reason == .validationUnusable)
      return again.firstReason
    }
    #expect(try firstReason(asked, response(304, "ETag: \"y\"")) == .stale)
    var reload = asked
    reload.headerFields[.cacheControl] = "max-age=0"
    #expect(try firstReason(reload, response(304, "ETag: \"y\"")) == .stale)
    reload.headerFields[.cacheControl] = "no-cache"
    #expect(try firstReason(reload, response(304, "ETag: \"y\"")) == .requestNoCache)
  }

  @Test("The client's entity tags are sent along with those of the cache (§4.3.2)")
  func union() throws {
    let stored = try stored("ETag: \"a\"")
    let asked = request("If-None-Match: \"b\", \"a\"", "If-None-Match: W/\"c\"")
    let forwarding = try #require(engine.plan(asked, [stored], after: 61).forwarding)
    #expect(forwarding.request.headerFields[.ifNoneMatch] == "\"a\", \"b\", W/\"c\"")
  }

  @Test("The client's entity tags are sent if the stored response has only a date (§4.3.2)")
  func tagsBesideDate() throws {
    let stored = try stored("Last-Modified: \(lastModified)")
    let asked = request("If-None-Match: \"b\", W/\"c\"", "If-Modified-Since: \(date(-5))")
    let forwarding = try #require(engine.plan(asked, [stored], after: 61).forwarding)
    #expect(forwarding.request.headerFields[.ifNoneMatch] == "\"b\", W/\"c\"")
    #expect(forwarding.request.headerFields[.ifModifiedSince] == lastModified)
    #expect(forwarding.nominated == 0)
    // An origin that has the client's representation says so, and an origin without tags goes by our date.
    let confirmed = try validate([stored], response(304, "ETag: \"b\""), asked)
    #expect(confirmed.answer == .network)
    #expect(confirmed.updates.isEmpty)
    let validated = try validate([stored], response(304, "Last-Modified: \(lastModified)"), asked)
    #expect(validated.storedAnswer?.content == .whole)
    #expect(validated.updates.map(\.candidate) == [0])
  }

  @Test(
    "A 304 or HEAD response matches a stored response by its nonstandard date",
    arguments: ["Last-Modified: \(date(-1000))", "Last-Modified: 6 Nov 1994 08:32:57 GMT", ""])
  func oddDate(line: String) throws {
    let stored = try stored("Last-Modified: 6 Nov 1994 08:32:57 GMT")
    #expect(stored.facts.flags.contains(.hasValidator))
    let outcome = try validate([stored], response(304, line))
    #expect(outcome.storedAnswer != nil)
    #expect(outcome.updates.map(\.candidate) == [0])
    let head = try #require(
      engine.exchange(
        request(method: .head), [stored], .response(response(200, line)), requestTime: later,
        responseTime: later))
    // A HEAD response without the date, or with another, proves nothing or the contrary.
    #expect(
      head.updates.first?.reason
        == (line.contains("1994 08:32:57") ? .freshenedByHead : line.isEmpty ? nil : .outdatedByHead))
    // It makes nothing fresh, and answers no condition of a client.
    #expect(
      engine.stored(response(200, "Last-Modified: 6 Nov 1984 08:32:57 GMT"))?.facts.lifetime.source
        == FreshnessLifetime.Source.none)
    let asked = request("If-Modified-Since: \(date(-999))")
    #expect(engine.plan(asked, [stored]).service?.content == .whole)
  }

  @Test("A 304 gives a request nothing of a variant that it does not select, whatever it names (§4.1)")
  func variants() throws {
    let (german, french) = (
      try stored("Vary: A", "ETag: \"de\"", "Last-Modified: \(lastModified)", asked: request("A: de")),
      try stored("Vary: A", "ETag: \"fr\"", asked: request("A: fr"))
    )
    for own in [nil, "\"fr\"", "*"] {
      var asked = request("A: it")
      asked.headerFields[.ifNoneMatch] = own
      let plan = engine.plan(asked, [german, french])
      #expect(plan.reason == .noVariantMatches && plan.forwarding?.request == asked)
      let outcome = try validate([german, french], response(304, "ETag: \"fr\""), asked)
      #expect(outcome.storedAnswer == nil && outcome.updates.isEmpty && outcome.removals.isEmpty)
    }
  }

  @Test(
    "If-Match and If-Unmodified-Since are forwarded unchanged (§4.3.2)",
    arguments: [
      ("If-Match: \"a\"", .originPrecondition), ("If-Unmodified-Since: \(date(0))", .originPrecondition),
    ] as [(String, CacheEngine.Reason)])
  func passedBy(line: String, reason: CacheEngine.Reason) throws {
    let stored = try stored("ETag: \"a\"")
    let forwarding = try #require(engine.plan(request(line), [stored]).forwarding)
    #expect(forwarding.reason == reason)
    #expect(forwarding.request == request(line))
    #expect(!forwarding.isValidation)
  }

  // MARK: - Requests that are conditional themselves (§4.3.2)

  @Test(
    "A client that has the stored representation gets 304; If-None-Match overrides If-Modified-Since",
    arguments: [
      (["If-None-Match: \"a\""], true), (["If-None-Match: W/\"a\""], true), (["If-None-Match: \"b\""], false),
      (["If-None-Match: \"b\", \"a\""], true), (["If-None-Match: *"], true),
      (["If-Modified-Since: \(date(-1000))"], true), (["If-Modified-Since: \(date(-999))"], true),
      (["If-Modified-Since: \(date(-1001))"], false), (["If-Modified-Since: x"], false),
      (["If-Modified-Since: \(date(0))", "If-Modified-Since: \(date(0))"], false),
      (["If-None-Match: \"b\"", "If-Modified-Since: \(date(0))"], false),
      (["If-None-Match: \"a\"", "If-Modified-Since: \(date(-9999))"], true), ([], false),
    ] as [([String], Bool)])
  func received(lines: [String], isNotModified: Bool) throws {
    let stored = try stored("ETag: \"a\"", "Last-Modified: \(lastModified)")
    var asked = request()
    asked.headerFields += HTTPFields(lines: lines)
    #expect(
      engine.plan(asked, [stored], after: 1).service.map { $0.content == .notModified } == isNotModified)
    let validated = try validate([stored], response(304, "ETag: \"a\""), asked)
    #expect(validated.storedAnswer.map { $0.content == .notModified } == isNotModified)
  }

  @Test(
    "Without Last-Modified, If-Modified-Since is compared with Date", arguments: [(0, true), (-1, false)])
  func modifiedSinceDate(seconds: Int64, isNotModified: Bool) throws {
    let stored = try stored("Date: \(arrivalDate)")
    let asked = request("If-Modified-Since: \(date(seconds))")
    #expect(
      engine.plan(asked, [stored], after: 1).service.map { $0.content == .notModified } == isNotModified)
  }

  @Test("Preconditions apply only to successful responses (RFC 9110 §13.2.1)")
  func unsuccessful() throws {
    let missing = try #require(engine.stored(response(404, "Cache-Control: max-age=60", "ETag: \"a\"")))
    #expect(engine.plan(request("If-None-Match: \"a\""), [missing]).service?.content == .whole)
  }

  @Test("If nothing is stored, the client's conditions and the 304 pass unchanged")
  func nothingStored() throws {
    let asked = request("If-None-Match: \"a\"", "If-Modified-Since: \(date(0))")
    #expect(engine.plan(asked, []).forwarding?.request == asked)
    let outcome = try #require(engine.exchange(asked, [], .response(response(304, "ETag: \"a\""))))
    #expect(outcome.answer == .network)
    #expect(outcome.updates.isEmpty)
    #expect(outcome.refusal == .statusNotUnderstood)
  }

  // MARK: - 304 (§4.3.4)

  @Test("A 304 updates the stored response and makes it fresh")
  func freshening() throws {
    let old = try stored("ETag: \"a\"", "X-Old: 1", "X-Both: 1", "X-Both: 2", "Age: 9", "Content-Length: 3")
    let outcome = try validate(
      [old],
      response(
        304, "ETag: \"a\"", "X-Both: 3", "X-New: 4", "Cache-Control: max-age=120", "Content-Length: 0",
        "Connection: X-Hop", "X-Hop: 1", "Content-Range: bytes 0-1/2"))
    #expect(outcome.reason == .validated)
    let updated = try #require(outcome.updates.first)
    #expect(updated.candidate == 0)
    #expect(updated.reason == .freshened)
    let expected = HTTPFields(
      "X-Old: 1", "X-Both: 3", "X-New: 4", "Cache-Control: max-age=120", "Content-Length: 3", "ETag: \"a\"",
      "Date: \(date(61))")
    #expect(Set(updated.response.fields) == Set(expected))
    #expect(updated.response.status == 200)
    #expect(updated.response.facts.lifetime.seconds == 120)
    #expect(updated.response.facts.currentAge(at: later) == 0)
    #expect(outcome.storedAnswer?.response == updated.response)
    #expect(outcome.storedAnswer?.ageInSeconds == nil)
    #expect(engine.plan(request(), [updated.response], after: 61 + 119).reason == .fresh)
    #expect(engine.plan(request(), [updated.response], after: 61 + 120).reason == .stale)
  }

  @Test(
    "A 304 updates only the responses that its validators identify",
    arguments: [
      // stored validators, the 304's, whether updated
      ("ETag: \"a\"", "ETag: \"a\"", true), ("ETag: \"a\"", "ETag: \"b\"", false),
      ("ETag: W/\"a\"", "ETag: W/\"a\"", true), ("ETag: \"a\"", "ETag: W/\"a\"", true),
      ("ETag: W/\"a\"", "ETag: W/\"b\"", false),
      ("ETag: \"a\"", "", true),
      ("Last-Modified: \(date(-9))", "", true),
      ("Last-Modified: \(date(-9))", "Last-Modified: \(date(-9))", true),
      ("Last-Modified: \(date(-9))", "Last-Modified: \(date(-8))", false),
      ("Last-Modified: \(date(-9))", "ETag: \"b\"", false),
    ])
  func identification(storedLine: String, answerLine: String, isUpdated: Bool) throws {
    let outcome = try validate([try stored(storedLine)], response(304, answerLine))
    #expect(outcome.updates.count == (isUpdated ? 1 : 0))
    if isUpdated {
      #expect(outcome.storedAnswer?.candidate == 0)
    } else {
      guard case .forwardAgain(let again) = outcome.answer else {
        Issue.record("an answer that names nothing stored was used: \(outcome.answer)")
        return
      }
      #expect(again.request == request())
      #expect(!again.isValidation)
      #expect(again.reason == .validationUnusable)
    }
  }

  @Test(
    "A strong tag validates the response whose weak tag alone was sent, unless the letter of §4.3.4 is set")
  func weakTagConfirmedByStrong() throws {
    let line = "ETag: W/\"v\""
    let asked = request("Accept-Encoding: gzip")
    let confirming = response(
      304, "ETag: \"v\"", "Cache-Control: max-age=120", "Last-Modified: \(date(-1))",
      "Content-Location: /file",
      "Content-Type: x/file", "Vary: Cookie", "X-New: 1")
    let stored = try stored(
      line, "Vary: Accept-Encoding", "Last-Modified: \(lastModified)", "Content-Encoding: gzip",
      asked: asked)
    let outcome = try validate([stored], confirming, asked)
    #expect(outcome.reason == .validatedByStrongTag)
    #expect(outcome.storedAnswer?.content == .whole)
    let updated = try #require(outcome.updates.first?.response)
    #expect(updated.entityTag == EntityTag(parsing: "W/\"v\""))
    #expect(updated.values(of: .lastModified) == [lastModified])
    #expect(updated.values(of: .contentLocation).isEmpty && updated.values(of: .contentType).isEmpty)
    #expect(updated.values(of: .contentEncoding) == ["gzip"])
    #expect(updated.selecting.vary == .names(["accept-encoding", "cookie"]))
    #expect(updated.facts.lifetime.milliseconds == 120_000)
    #expect(outcome.storedAnswer?.response.value(of: try #require(.init("X-New"))) == "1")
    // By the letter, the request is repeated in full.
    var configuration = CacheEngine.privately.configuration
    configuration.acceptsStrongTagForWeak = false
    let literal = CacheEngine(configuration)
    #expect(try validate([stored], confirming, asked, engine: literal).isRepeated)
    // For a client that does not accept the coding, the strong tag is that of other content.
    let plain = try self.stored(line, "Content-Encoding: gzip", asked: asked)
    #expect(try validate([plain], confirming).isRepeated)
  }

  @Test(
    "A strong tag validates no weak one if the request did not name a single stored response by that tag alone",
    arguments: [
      // The stored tags of matching responses, the client's tags, the 304's.
      (["W/\"v\""], nil, "\"w\""), (["W/\"v\"", "W/\"v\""], nil, "\"v\""),
      (["W/\"v\"", "W/\"w\""], nil, "\"v\""),
      (["W/\"v\""], "\"w\"", "\"v\""), (["\"x\"", "W/\"v\""], nil, "\"v\""),
    ] as [([String], String?, String)])
  func weakTagNotConfirmed(tags: [String], client: String?, answer: String) throws {
    let candidates = try tags.enumerated().map { index, tag in
      try stored("ETag: \(tag)", "Vary: A", asked: request("A: \(index)"))
    }
    let asked = tags.count == 1 ? request("A: 0") : request("A: other")
    var lines = asked
    if let client { lines.headerFields[.ifNoneMatch] = client }
    let outcome = try validate(candidates, response(304, "ETag: \(answer)"), lines)
    #expect(outcome.updates.isEmpty && outcome.reason != .validatedByStrongTag)
  }

  @Test(
    "A shared cache answers 502 for a 304 to no condition, or the stored response where a failure allows it (RFC 9110 §15.4.5)",
    arguments: ["GET", "HEAD", "QUERY"])
  func unsolicited(method: String) throws {
    let asked = request(method: try #require(HTTPRequest.Method(method)))
    for engine in [CacheEngine.privately, .shared] {
      for head in [response(304), response(304, "ETag: \"a\"", "Cache-Control: max-age=60")] {
        let outcome = try #require(engine.exchange(asked, [], .response(head)))
        guard engine.configuration.kind == .shared else {
          #expect(outcome.answer == .network && outcome.reason == .fromOrigin)
          #expect(outcome.refusal == .statusNotUnderstood && outcome.updates.isEmpty)
          continue
        }
        guard case .generated(let refusal) = outcome.answer else {
          Issue.record("\(outcome.answer)")
          continue
        }
        #expect(refusal.response.status == .badGateway && refusal.reason == .unsolicitedNotModified)
        #expect(String(decoding: refusal.content, as: UTF8.self).hasPrefix("502: "))
        #expect(outcome.refusal == .statusNotUnderstood && outcome.updates.isEmpty)
      }
    }
    // Stored without a validator, so that the request has no condition.
    for (line, isUsed) in [("X: y", false), ("Cache-Control: stale-if-error=600", true)] {
      let outcome = try validate([try stored(line)], response(304), asked)
      #expect((outcome.storedAnswer != nil) == isUsed)
      #expect(outcome.reason == (isUsed ? .staleIfError : .fromOrigin))
    }
  }

  @Test("A 304 goes to a client whose condition the cache cannot read")
  func unreadableCondition() throws {
    for line in [
      "If-Modified-Since: \(lastModified); length=9", "If-Modified-Since: then", "If-None-Match: e",
    ] {
      let outcome = try #require(engine.exchange(request(line), [], .response(response(304, "ETag: \"a\""))))
      #expect(outcome.answer == .network && outcome.updates.isEmpty)
    }
  }

  @Test(
    "A stored response answers if the request that is repeated in full fails",
    arguments: [304, 500, 503, nil] as [Int?])
  func repeatedInVain(status: Int?) throws {
    let stored = try stored("ETag: \"a\"", "Cache-Control: stale-if-error=600")
    guard case .forwardAgain(let again) = try validate([stored], response(304, "ETag: \"b\"")).answer else {
      Issue.record("the 304 was used")
      return
    }
    let exchange = CacheEngine.Exchange(
      forwarding: again, candidates: [stored], result: status.map { .response(response($0)) } ?? .failure,
      requestTime: later, responseTime: later)
    let outcome = engine.outcome(of: exchange)
    #expect(outcome.storedAnswer?.candidate == 0 && outcome.reason == .staleIfError)
  }

  @Test("A strong validator updates every matching response, a weak one only the most recent")
  func severalIdentified() throws {
    let older = try stored("ETag: \"a\"")
    let newer = try stored("ETag: \"a\"", "Vary: B", at: arrival.advanced(bySeconds: 1))
    let elsewhere = try stored("ETag: \"a\"", "Vary: C", asked: request("C: 1"))
    let candidates = [older, elsewhere, newer]
    let strong = try validate(candidates, response(304, "ETag: \"a\""))
    #expect(strong.storedAnswer?.candidate == 2)
    #expect(Set(strong.updates.map(\.candidate)) == [0, 2])
    let weak = try validate(candidates, response(304, "ETag: W/\"a\""))
    #expect(weak.updates.map(\.candidate) == [2])
  }

  @Test("A 304 that confirms the client's own representation is passed on (§4.3.2)")
  func clientConfirmed() throws {
    let outcome = try validate(
      [try stored("ETag: \"a\"")], response(304, "ETag: \"b\""), request("If-None-Match: \"b\""))
    #expect(outcome.answer == .network)
    #expect(outcome.updates.isEmpty)
  }

  @Test("A 304 for the cache's tag gives a client with another tag the full response (§4.3.2)")
  func oursConfirmed() throws {
    let outcome = try validate(
      [try stored("ETag: \"a\"")], response(304, "ETag: \"a\""), request("If-None-Match: \"b\""))
    #expect(outcome.storedAnswer?.content == .whole)
  }

  @Test(
    "A 304 without an entity tag is not used if the client sent other tags",
    arguments: [
      // what is stored, what the client asks with, whether both are the same, what the client gets
      ("ETag: \"a\"", "If-None-Match: \"b\"", false, nil),
      ("ETag: \"a\"", "If-None-Match: \"a\", \"b\"", false, nil),
      ("ETag: \"a\"", "If-None-Match: W/\"a\"", false, nil),
      ("ETag: \"a\"", "If-None-Match: \"a\"", true, .notModified),
      // What is sent in its place, or without it, is ours alone.
      ("ETag: \"a\"", "If-None-Match: *", true, .notModified),
      ("Last-Modified: \(date(-9))", "If-None-Match: *", true, .notModified),
      ("Last-Modified: \(date(-9))", "If-None-Match: \"b\"", false, nil),
    ] as [(String, String, Bool, CacheEngine.ContentSelection?)])
  func ambiguous(storedLine: String, asking: String, isSame: Bool, content: CacheEngine.ContentSelection?)
    throws
  {
    let asked = request(asking)
    let outcome = try validate([try stored(storedLine)], response(304), asked)
    #expect(outcome.updates.count == (isSame ? 1 : 0))
    #expect(outcome.storedAnswer?.content == content)
    if !isSame {
      guard case .forwardAgain(let again) = outcome.answer else {
        Issue.record("\(outcome.answer)")
        return
      }
      #expect(again.request == asked)
    }
  }

  @Test(
    "A 304 to the client's condition updates the response it identifies and reaches the client",
    arguments: [
      // what is stored, what the client sends, what the 304 says
      (["ETag: \"a\""], "If-None-Match: \"a\"", ["ETag: \"a\""], true),
      (["ETag: \"a\""], "If-None-Match: \"b\"", ["ETag: \"b\""], false),
      (["ETag: \"a\""], "If-None-Match: \"a\"", [], false),
      ([], "If-Modified-Since: \(date(0))", [], true), ([], "If-Modified-Since: \(date(-5))", [], true),
      ([], "If-Modified-Since: \(date(1))", [], false), ([], "If-None-Match: *", [], false),
      ([], "If-Modified-Since: \(date(0))", ["ETag: \"a\""], false),
      (["Last-Modified: \(date(-9))"], "If-Modified-Since: \(date(0))", [], false),
      (["Last-Modified: \(date(-9))"], "If-Modified-Since: \(date(0))", ["Last-Modified: \(date(-9))"], true),
    ] as [([String], String, [String], Bool)])
  func othersCondition(storedLines: [String], condition: String, answerLines: [String], isUpdated: Bool)
    throws
  {
    var answer = response(200, "Cache-Control: max-age=60")
    answer.headerFields += HTTPFields(lines: storedLines)
    let kept = try #require(engine.stored(answer))
    var head = response(304, "Cache-Control: max-age=600")
    head.headerFields += HTTPFields(lines: answerLines)
    for method in [HTTPRequest.Method.get, .head] {
      let outcome = try validate(
        [kept], head, request(condition, method: method), policy: .reloadIgnoringLocalCacheData)
      #expect(outcome.answer == .network)
      #expect(outcome.updates.map(\.reason) == (isUpdated ? [.freshened] : []))
    }
    let options = try validate([kept], head, request(condition, method: .options))
    #expect(options.updates.isEmpty)
  }

  @Test("A repeated request keeps the fields that the policy added")
  func repeatedWithPolicy() throws {
    let outcome = try validate(
      [try stored("ETag: \"a\"")], response(304, "ETag: \"b\""), policy: .reloadRevalidatingCacheData)
    guard case .forwardAgain(let again) = outcome.answer else {
      Issue.record("\(outcome.answer)")
      return
    }
    #expect(again.request == request("Cache-Control: max-age=0"))
  }

  @Test("A revalidation that must not be stored removes the stored response (§3, §5.2.2.5, §5.2.2.7)")
  func endOfStoring() throws {
    for (line, engine, removed) in [
      ("Cache-Control: no-store", CacheEngine.privately, true), ("Cache-Control: no-store", .shared, true),
      ("Cache-Control: private, max-age=60", .shared, true),
      ("Cache-Control: private, max-age=60", .privately, false),
    ] {
      let outcome = try validate(
        [try stored("ETag: \"a\"")], response(304, "ETag: \"a\"", line), engine: engine)
      #expect(outcome.storedAnswer != nil)
      #expect(outcome.removals == (removed ? [0] : []))
      #expect(outcome.updates.isEmpty == removed)
    }
  }

  @Test("A revalidation by a request with Authorization or no-store updates nothing (§3.5, §5.2.1.5)")
  func notForAll() throws {
    for (line, engine) in [
      ("Authorization: Basic x", CacheEngine.shared), ("Cache-Control: no-store", .shared),
      ("Cache-Control: no-store", .privately),
    ] {
      let outcome = try validate(
        [try stored("ETag: \"a\"")], response(304, "ETag: \"a\"", "Set-Cookie: user"), request(line),
        engine: engine)
      #expect(outcome.storedAnswer != nil)
      #expect(outcome.updates.isEmpty)
      #expect(outcome.removals.isEmpty)
    }
  }

  @Test("A Vary field in a 304 applies from then on (§4.1)")
  func newVary() throws {
    let outcome = try validate([try stored("ETag: \"a\"")], response(304, "Vary: A"), request("A: 1"))
    let updated = try #require(outcome.updates.first).response
    #expect(engine.plan(request("A: 1"), [updated], after: 62).reason == .fresh)
    #expect(engine.plan(request("A: 2"), [updated], after: 62).reason == .noVariantMatches)
    let any = try validate([try stored("ETag: \"a\"")], response(304, "Vary: *"))
    #expect(engine.plan(request(), [try #require(any.updates.first).response], after: 62).service == nil)
  }

  // MARK: - Other answers (§4.3.3)

  @Test(
    "A full response to a revalidation replaces the stored response",
    arguments: [(200, true), (404, true), (301, true), (500, false), (206, false)])
  func fullAnswer(status: Int, isStored: Bool) throws {
    let outcome = try validate([try stored("ETag: \"a\"")], response(status, "ETag: \"b\""))
    #expect(outcome.answer == .network)
    #expect(outcome.reason == .replacedByOrigin)
    #expect((outcome.refusal == nil) == isStored)
    #expect(outcome.updates.isEmpty)
  }

  @Test(
    "What answers a validation takes the place of all that could have answered it, unless it refuses the request",
    arguments: [
      (200, true), (204, true), (301, true), (302, true), (404, true), (410, true), (401, false),
      (403, false),
      (407, false), (405, false), (412, false), (416, false), (429, false), (500, false), (503, false),
    ],
    ["Cache-Control: no-store", "Cache-Control: max-age=60", "Vary: *", "Date: \(date(-2))", "X: y"])
  func superseded(row: (status: Int, replaces: Bool), line: String) throws {
    let (status, replaces) = row
    let candidates = [
      try stored("ETag: \"a\"", "Vary: A", asked: request("A: 1")),
      try stored("Vary: B", asked: request("B: 1")), try stored("ETag: \"c\""),
      try stored("ETag: \"a\"", "Vary: A", asked: request("A: 2")),
    ]
    let outcome = try validate(candidates, response(status, line), request("A: 1", "B: 1"))
    guard case .network = outcome.answer else { return #expect(outcome.answer == .network) }
    // The one without Vary is replaced by what is stored without.
    var replaced = Set([0, 1, 2])
    if case .store(let new, _) = outcome.storage, new.selecting.variantKey == candidates[2].variantKey {
      replaced.remove(2)
    }
    #expect(
      Set(outcome.removals) == (replaces ? replaced : []), "\(String(describing: outcome.storage.reason))")
  }

  @Test(
    "The answer to a request with no-store, or in a shared cache with Authorization, removes nothing",
    arguments: [
      // the request, the stored validator, the kind of cache, whether it is removed
      ("Cache-Control: no-store", "ETag: \"a\"", .shared, false),
      ("Cache-Control: no-store", "X: y", .private, false),
      ("Authorization: Basic x", "ETag: \"a\"", .shared, false),
      ("Authorization: Basic x", "ETag: \"a\"", .private, true),
    ] as [(String, String, CacheEngine.Configuration.Kind, Bool)],
    // What is not stored for another reason says as little about the responses to others.
    [(404, "max-age=60"), (404, "no-store"), (200, "no-store"), (302, "private, no-store")])
  func supersededForOne(
    row: (line: String, validator: String, kind: CacheEngine.Configuration.Kind, isRemoved: Bool),
    answer: (status: Int, cacheControl: String)
  ) throws {
    let outcome = try validate(
      [try stored(row.validator)], response(answer.status, "Cache-Control: \(answer.cacheControl)"),
      request(row.line), engine: CacheEngine.of(row.kind))
    #expect(outcome.removals == (row.isRemoved ? [0] : []))
  }

  @Test(
    "A response to a range or a precondition removes only what it shows to be another representation",
    arguments: [
      (206, [], false), (412, ["ETag: \"b\""], false), (416, [], false), (206, ["ETag: \"a\""], false),
      (206, ["ETag: \"b\""], true), (416, ["ETag: \"b\""], true), (206, ["ETag: W/\"a\""], false),
      (206, ["ETag: \"b\"", "Content-Type: multipart/byteranges; boundary=x"], true),
      (206, ["ETag: \"b\"", "Content-Encoding: gzip", "Content-Range: bytes 9-9/10"], true),
      (206, ["Content-Range: bytes 9-9/11", "Cache-Control: no-store"], true),
      (206, ["Content-Range: bytes 9-9/10", "Cache-Control: no-store"], false),
      (206, ["Content-Range: bytes 9-9/*", "Cache-Control: no-store"], false),
      (416, ["Content-Range: bytes */10"], false), (416, ["Content-Range: bytes */9"], true),
    ] as [(Int, [String], Bool)])
  func partialAnswers(status: Int, lines: [String], isRemoved: Bool) throws {
    var stored = try stored("ETag: \"a\"")
    stored.contentLength = 10
    var answer = response(status)
    answer.headerFields += HTTPFields(lines: lines)
    let outcome = try validate([stored], answer, request("Range: bytes=9-", "If-Range: \"x\""))
    #expect(outcome.removals == (isRemoved ? [0] : []))
    #expect(outcome.refusal != nil)
  }
}

extension CacheEngine.Outcome {
  /// Whether the request is repeated without the cache's conditions.
  fileprivate var isRepeated: Bool {
    if case .forwardAgain(let again) = answer {
      !again.isValidation && again.reason == .validationUnusable
    } else {
      false
    }
  }
}
