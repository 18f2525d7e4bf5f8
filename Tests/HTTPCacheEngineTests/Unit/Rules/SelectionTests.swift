// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

/// RFC 9111 §4 and §4.1.
@Suite(.timeLimit(.minutes(10)))
struct SelectionTests {
  private let engine = CacheEngine.shared

  private func stored(_ asked: HTTPRequest, _ lines: String...) throws -> StoredResponse {
    var answer = response(200, "Cache-Control: max-age=600")
    answer.headerFields += HTTPFields(lines: lines)
    return try #require(engine.stored(answer, for: asked))
  }

  @Test(
    "The matching variant is served, whatever the order of the candidates",
    arguments: [("A: de", 0), ("A: fr", 1), ("A: it", nil), ("", 2)] as [(String, Int?)])
  func variants(line: String, candidate: Int?) throws {
    let candidates = [
      try stored(request("A: de"), "Vary: A"), try stored(request("A: fr"), "Vary: A"),
      try stored(request(), "Vary: A"),
    ]
    let plan = engine.plan(request(line), candidates)
    #expect(plan.service?.candidate == candidate)
    if candidate == nil { #expect(plan.reason == .noVariantMatches) }
    let reversed = engine.plan(request(line), candidates.reversed())
    #expect(reversed.service?.candidate == candidate.map { 2 - $0 })
  }

  @Test(
    "Language preferences select a stored response only if negotiation is enabled",
    arguments: [
      ("Accept-Language: fr;q=0.5, de;q=1.0", 1), ("Accept-Language: DE, *;q=0.1", 1),
      ("Accept-Language: en, de;q=0.9, fr;q=0.8", 0), ("Accept-Language: en, fr", nil),
      ("Accept-Language: *", nil), ("Accept-Language: it", nil), ("Accept-Language: de-CH", nil),
      ("Accept-Language: de;q=0", nil), ("Accept-Language: de;level=1", nil), ("A: x", nil),
    ] as [(String, Int?)])
  func languages(line: String, candidate: Int?) throws {
    var configuration = CacheEngine.Configuration(kind: .shared)
    configuration.negotiatesLanguage = true
    let negotiating = CacheEngine(configuration)
    let asked = request("Accept-Language: en, de")
    let candidates = [
      try stored(asked, "Vary: Accept-Language", "Content-Language: en"),
      try stored(asked, "Vary: Accept-Language", "Content-Language: de"),
      try stored(asked, "Vary: Accept-Language", "Content-Language: it, de"),
      try stored(asked, "Vary: Accept-Language"),
      try stored(
        request("Accept-Language: en, de", "A: 1"), "Vary: Accept-Language, A", "Content-Language: it"),
      try stored(asked, "Vary: *", "Content-Language: it"),
    ]
    #expect(negotiating.plan(request(line), candidates).service?.candidate == candidate)
    #expect(engine.plan(request(line), candidates).reason == .noVariantMatches)
  }

  @Test("A response revalidated by a negotiated request still answers its original request")
  func negotiatedAndValidated() throws {
    let negotiating = CacheEngine(.init(kind: .shared, negotiatesLanguage: true))
    // Danish is not available: the origin answers in English.
    let asked = request("Accept-Language: da")
    let fields = ["ETag: \"a\"", "Vary: Accept-Language", "Content-Language: en"]
    let stored = try stored(asked, fields[0], fields[1], fields[2])
    let later = arrival.advanced(bySeconds: 601)
    let outcome = negotiating.exchange(
      request("Accept-Language: en, da;q=0.5"), [stored],
      .response(response(304, "ETag: \"a\"", "Vary: accept-language", "Cache-Control: max-age=60")),
      requestTime: later, responseTime: later)
    let updated = try #require(outcome?.updates.first?.response)
    #expect(negotiating.plan(asked, [updated], after: 602).reason == .fresh)
    #expect(negotiating.plan(request("Accept-Language: en"), [updated], after: 602).reason == .fresh)
  }

  @Test("The most recent matching response by Date is served (§4)")
  func mostRecent() throws {
    let candidates = [
      try stored(request(), "Date: \(date(-20))", "Vary: A"), try stored(request(), "Date: \(date(-10))"),
      try stored(request(), "Date: \(date(-30))", "Vary: B"),
    ]
    #expect(engine.plan(request(), [candidates[0], candidates[2]]).service?.candidate == 0)
    #expect(engine.plan(request(), [candidates[2], candidates[0]]).service?.candidate == 1)
    // §4.1: before a more recent one that left Vary out, while it is fresh.
    #expect(engine.plan(request(), candidates).service?.candidate == 0)
    #expect(engine.plan(request(), candidates, after: 585).service?.candidate == 1)
    #expect(engine.plan(request(), [candidates[1]]).service?.candidate == 0)
  }

  @Test("A response with Vary: * is stored and never served", arguments: RequestCachePolicy.allCases)
  func any(policy: RequestCachePolicy) throws {
    for line in ["Vary: *", "Vary: A, *"] {
      #expect(engine.plan(request(), [try stored(request(), line)], policy: policy).service == nil)
    }
  }
}
