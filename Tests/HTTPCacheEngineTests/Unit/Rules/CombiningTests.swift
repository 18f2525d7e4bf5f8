// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

@Suite("Completing and combining partial responses (RFC 9111 §3.3, §3.4)", .timeLimit(.minutes(10)))
struct CombiningTests {
  private let engine = CacheEngine.privately

  // MARK: - Completing

  @Test(
    "A single missing range is requested with a strong validator (§3.4)",
    arguments: [
      ("0-4/10", ["ETag: \"a\""], "bytes=5-", "\"a\""), ("4-9/10", ["ETag: \"a\""], "bytes=0-3", "\"a\""),
      ("0-4/*", ["ETag: \"a\""], "bytes=5-", "\"a\""), ("3-4/10", ["ETag: \"a\""], nil, nil),
      ("4-9/*", ["ETag: \"a\""], nil, nil), ("0-4/10", ["ETag: W/\"a\""], nil, nil), ("0-4/10", [], nil, nil),
      ("0-4/10", ["Last-Modified: \(date(-100))"], "bytes=5-", date(-100)),
      ("0-4/10", ["Last-Modified: \(date(0))"], nil, nil),
      ("0-4/10", ["ETag: W/\"a\"", "Last-Modified: \(date(-100))"], nil, nil),
      ("0-4/10", ["ETag: \"a\"", "Last-Modified: \(date(-100))"], "bytes=5-", "\"a\""),
    ] as [(String, [String], String?, String?)])
  func completion(stored: String, fields: [String], range: String?, ifRange: String?) throws {
    let stored = try part(stored, defaults: fields + ["Cache-Control: max-age=60"])
    for after: Int64 in [1, 100] {
      let forwarding = try #require(engine.plan(request(), [stored], after: after).forwarding)
      #expect(forwarding.reason == (after == 1 ? .contentIncomplete : .stale))
      #expect(forwarding.request.headerFields[.range] == range)
      #expect(forwarding.request.headerFields[.ifRange] == ifRange)
      #expect((forwarding.completion != nil) == (range != nil))
      #expect(!forwarding.isValidation)
    }
    #expect(
      engine.plan(request("Range: bytes=0-9"), [stored], after: 1).forwarding?.completion == nil,
      "the client's own range stays")
    #expect(
      engine.plan(request(), [stored], after: 1, policy: .reloadIgnoringLocalCacheData).forwarding?.completion
        == nil)
  }

  @Test("An update does not make a weak Last-Modified date strong")
  func weakDate() throws {
    let stored = try part(
      "0-4/10", defaults: ["Cache-Control: max-age=60", "Last-Modified: \(date(0))", "Date: \(date(0))"])
    let later = arrival.advanced(bySeconds: 100)
    let updated = try #require(
      engine.exchange(
        request("Range: bytes=0-1"), [stored],
        .response(response(304, "Last-Modified: \(date(0))", "Date: \(date(100))")), requestTime: later,
        responseTime: later)?.updates.first?.response)
    #expect(updated.strongValidator != nil)
    #expect(
      engine.plan(request("Range: bytes=0-1", "If-Range: \(date(0))"), [updated], after: 101).service == nil)
    #expect(
      engine.plan(for: request(), policy: .useProtocolCachePolicy, candidates: [updated], now: later)
        .forwarding?.completion == nil)
  }

  @Test("A completed response is a 200 with updated fields and all bytes")
  func completes() throws {
    var stored = try part("4-9/10", "X: old", "Vary: Accept")
    stored.parts = StoredParts(ranges: [0..<2, 7..<10], completeLength: 10, isCombinable: true)
    let outcome = try outcome(
      "2-6/10", "ETag: \"a\"", "X: new", "Content-Length: 5", meeting: [stored], asked: request())
    guard case .completed(let answer) = outcome.answer else {
      Issue.record("\(outcome.answer)")
      return
    }
    let head = answer.response.response(ageInSeconds: answer.ageInSeconds)
    #expect(head.status == .ok)
    #expect(head.headerFields[.contentLength] == "10")
    #expect(head.headerFields[.contentRange] == nil)
    #expect(head.headerFields[HTTPField.Name("X") ?? .age] == "new")
    #expect(head.headerFields[.vary] == "Accept")
    #expect(outcome.reason == .completedByOrigin)
    #expect(storing(outcome)?.parts == nil)
    #expect(storing(outcome)?.contentLength == 10)
    #expect(outcome.storage.reason == .storedCombined)
    let assembly = try #require(outcome.assembly)
    #expect(assembly.before == 0..<2)
    #expect(assembly.received == 2..<7)
    #expect(assembly.after(5) == 2..<5)
    #expect(assembly.count == 10)
    // A transfer that ends early leaves what was there, and more.
    #expect(outcome.incomplete(after: 0) == nil)
    #expect(outcome.incomplete(after: 3)?.parts?.ranges == [0..<5, 7..<10])
    #expect(outcome.incomplete(after: 5) == nil)
    #expect(outcome.incomplete(after: 6) == nil)
  }

  @Test("Fields that no-cache keeps out of the store reach the client of the completion (§5.2.2.4)")
  func completedWithWithheldFields() throws {
    let lines = ["Cache-Control: max-age=60, no-cache=\"x\"", "ETag: \"a\"", "Date: \(arrivalDate)"]
    let stored = try part("0-4/10", "X: old", defaults: lines)
    let outcome = try outcome("5-9/10", lines[0], lines[1], "X: new", meeting: [stored], asked: request())
    guard case .completed(let answer) = outcome.answer else {
      Issue.record("\(outcome.answer)")
      return
    }
    let name = try #require(HTTPField.Name("X"))
    #expect(answer.response.fields[name] == "new")
    #expect(storing(outcome)?.fields[name] == nil)
  }

  @Test("A HEAD response is compared with the complete length, not with that of the parts (§4.3.5)")
  func head() throws {
    let head = CacheEngine.Exchange.Result.response(response(200, "ETag: \"a\"", "Content-Length: 10"))
    for (range, reason) in [
      ("0-4/*", CacheEngine.Reason.freshenedByHead), ("0-4/10", .freshenedByHead),
      ("0-4/11", .outdatedByHead),
    ] {
      let stored = try part(range)
      let outcome = engine.exchange(request(method: .head), [stored], head)
      #expect(outcome?.updates.map(\.reason) == [reason], "\(range)")
    }
  }

  @Test(
    "After an unusable completion the request is repeated in full",
    arguments: [
      (206, "bytes 5-9/10", "ETag: \"b\""), (206, "bytes 5-9/10", ""), (206, "bytes 5-9/10", "ETag: W/\"a\""),
      (206, "bytes 5-8/10", "ETag: \"a\""), (206, "bytes 4-9/10", "ETag: \"a\""),
      (206, "bytes 5-9/11", "ETag: \"a\""), (206, "bytes 5-10/11", "ETag: \"a\""),
      (206, "bytes 0-9/10", "ETag: \"a\""), (206, "nonsense", "ETag: \"a\""), (416, "bytes */10", ""),
      (206, "bytes 0-4/10", "ETag: \"a\""), (304, "bytes 5-9/10", "ETag: \"a\""),
    ])
  func unusable(status: Int, range: String, field: String) throws {
    let stored = try part("0-4/10")
    let outcome = try #require(
      engine.exchange(request(), [stored], .response(response(status, "Content-Range: \(range)", field))))
    guard case .forwardAgain(let again) = outcome.answer else {
      Issue.record("\(outcome.answer)")
      return
    }
    #expect(again.request == again.original)
    #expect(again.completion == nil)
    #expect(again.reason == .completionUnusable)
    #expect(outcome.storage == .none)
  }

  @Test("A full response to a completion replaces the stored part, and an error is passed on")
  func otherAnswers() throws {
    let stored = try part("0-4/10")
    let full = try #require(
      engine.exchange(request(), [stored], .response(response(200, "ETag: \"b\"", "Content-Length: 9"))))
    #expect(full.answer == .network)
    #expect(storing(full)?.parts == nil)
    #expect(full.incomplete(after: 3)?.parts?.ranges == [0..<3])
    let error = try #require(engine.exchange(request(), [stored], .response(response(503))))
    #expect(error.answer == .network)
    #expect(engine.exchange(request(), [stored], .failure)?.answer == .failure)
    let own = try #require(
      engine.exchange(request("If-None-Match: \"x\""), [stored], .response(response(304))))
    #expect(own.answer == .network, "the client's own condition holds")
  }

  @Test("A completion with no-store answers the request and removes the stored part")
  func completionNotStored() throws {
    let stored = try part("0-4/10")
    let refused = try outcome(
      "5-9/10", "ETag: \"a\"", "Cache-Control: no-store", meeting: [stored], asked: request())
    guard case .completed = refused.answer else {
      Issue.record("\(refused.answer)")
      return
    }
    #expect(refused.refusal == .responseNoStore)
    #expect(refused.removals == [0])
    let own = try outcome(
      "5-9/10", "ETag: \"a\"", meeting: [stored], asked: request("Cache-Control: no-store"))
    #expect(own.refusal == .requestNoStore)
    #expect(own.removals.isEmpty)
  }

  // MARK: - Combining

  @Test("Parts of the same representation are combined")
  func combines() throws {
    let stored = try part("0-4/10", "X: old")
    let more = try outcome("7-8/10", "ETag: \"a\"", "X: new", meeting: [stored])
    #expect(more.answer == .network)
    #expect(storing(more)?.parts?.ranges == [0..<5, 7..<9])
    #expect(storing(more)?.fields[HTTPField.Name("X") ?? .age] == "new")
    #expect(more.storage.reason == .storedCombined)
    #expect(more.incomplete(after: 1)?.parts?.ranges == [0..<5, 7..<8])
    let rest = try outcome("3-9/*", "ETag: \"a\"", meeting: [stored])
    #expect(storing(rest)?.parts == nil)
    #expect(rest.assembly?.before == 0..<3)
    #expect(rest.incomplete(after: 4)?.parts?.ranges == [0..<7])
    #expect(rest.incomplete(after: 1)?.parts?.ranges == [0..<5], "what is stored behind stays")
    let known = try outcome("1-3/10", "ETag: \"a\"", meeting: [stored])
    #expect(known.refusal == .partAlreadyStored)
    #expect(known.updates.first?.reason == .freshenedByPart)
    #expect(known.updates.first?.response.parts == stored.parts)
  }

  @Test(
    "A part of another representation replaces stored content, an unidentified part only parts",
    arguments: [
      (["ETag: \"b\""], CacheEngine.Reason.storedAsPart, CacheEngine.Reason.storedAsPart),
      ([], .storedAsPart, .partNotCombined),
      (["ETag: W/\"a\""], .storedAsPart, .partNotCombined),
      (["Last-Modified: \(date(-9))"], .storedAsPart, .partNotCombined),
      (["ETag: \"a\""], .storedCombined, .partAlreadyStored),
      (["ETag: \"b\"", "Date: \(date(-1000))"], .storedAsPart, .storedAsPart),
    ])
  func others(fields: [String], besidePart: CacheEngine.Reason, besideWhole: CacheEngine.Reason) throws {
    var whole = try #require(
      engine.stored(response(200, "ETag: \"a\"", "Cache-Control: max-age=60", "Date: \(arrivalDate)")))
    whole.contentLength = 10
    for (stored, reason) in [(try part("0-4/10"), besidePart), (whole, besideWhole)] {
      var head = response(206, "Content-Range: bytes 5-8/10")
      head.headerFields += HTTPFields(lines: fields)
      let outcome = try #require(
        engine.exchange(
          request("Range: bytes=5-8", "Cache-Control: no-cache"), [stored], .response(head),
          requestTime: arrival.advanced(bySeconds: 5), responseTime: arrival.advanced(bySeconds: 5)))
      #expect(outcome.answer == .network)
      #expect(outcome.storage.reason == reason, "\(stored.parts == nil)")
      #expect(outcome.removals.isEmpty)
      if stored.parts == nil { #expect(outcome.incomplete(after: 1) == nil) }
    }
  }

  @Test("Parts with contradictory lengths are not combined")
  func lengths() throws {
    let stored = try part("0-4/10")
    #expect(storing(try outcome("7-8/11", "ETag: \"a\"", meeting: [stored]))?.parts?.ranges == [7..<9])
    #expect(storing(try outcome("12-13/*", "ETag: \"a\"", meeting: [stored]))?.parts?.ranges == [12..<14])
    let open = try part("0-4/*")
    #expect(storing(try outcome("1-2/3", "ETag: \"a\"", meeting: [open]))?.parts?.ranges == [1..<3])
  }

  @Test("Combining copies a bounded amount, otherwise the larger part stays")
  func costs() throws {
    let stored = try part("0-99999999/200000000")
    let small = try outcome("150000000-150000009/200000000", "ETag: \"a\"", meeting: [stored])
    #expect(small.refusal == .partNotCombined)
    let large = try outcome("150000000-169999999/200000000", "ETag: \"a\"", meeting: [stored])
    #expect(storing(large)?.parts?.ranges.count == 2)
    var scattered = stored
    scattered.parts = StoredParts(
      ranges: (0..<64).map { $0 * 10..<$0 * 10 + 5 }, completeLength: 10_000, isCombinable: true)
    #expect(try outcome("1007-1008/10000", "ETag: \"a\"", meeting: [scattered]).refusal == .partNotCombined)
    #expect(
      storing(try outcome("2000-2999/10000", "ETag: \"a\"", meeting: [scattered]))?.parts?.ranges.count == 1)
  }

  // MARK: - Incomplete responses

  @Test(
    "The beginning of a 200 is kept if it can be completed",
    arguments: [
      (["ETag: \"a\"", "Content-Length: 10"], true), (["ETag: \"a\""], false),
      (["ETag: W/\"a\"", "Content-Length: 10"], false), (["Content-Length: 10"], false),
      (["Last-Modified: \(date(-100))", "Content-Length: 10"], true),
      (["Last-Modified: \(date(0))", "Date: \(date(0))", "Content-Length: 10"], false),
      (["ETag: \"a\"", "Content-Length: 10", "Content-Encoding: gzip"], false),
      (["ETag: \"a\"", "Content-Length: 10", "Content-Encoding: identity"], true),
      (["ETag: \"a\"", "Content-Length: 10", "Content-Length: 11"], false),
      (["ETag: \"a\"", "Content-Length: ten"], false), (["ETag: \"a\"", "Content-Length: -1"], false),
      (["ETag: \"a\"", "Content-Length: 10", "Cache-Control: no-store"], false),
    ])
  func beginning(fields: [String], isKept: Bool) {
    var head = response()
    head.headerFields = HTTPFields(lines: fields)
    let outcome = engine.firstOutcome(request(), head)
    #expect((outcome.incomplete(after: 4) != nil) == isKept)
    if isKept {
      #expect(outcome.incomplete(after: 4)?.parts?.ranges == [0..<4])
      #expect(outcome.incomplete(after: 4)?.parts?.completeLength == 10)
      #expect(outcome.incomplete(after: 0) == nil)
      #expect(outcome.incomplete(after: 10) == nil)
    }
    #expect(
      engine.firstOutcome(request(), response(404, "ETag: \"a\"", "Content-Length: 10")).incomplete(after: 4)
        == nil)
  }

  @Test("A beginning does not replace a complete response, and joins matching parts")
  func beginningBeside() throws {
    let head = response(200, "ETag: \"a\"", "Content-Length: 10")
    var whole = try #require(engine.stored(head))
    whole.contentLength = 10
    func incomplete(_ stored: StoredResponse) -> StoredResponse? {
      engine.exchange(
        request(), [stored], .response(head), policy: .reloadIgnoringLocalCacheData)?.incomplete(after: 3)
    }
    #expect(incomplete(whole) == nil)
    #expect(incomplete(try part("0-4/10"))?.parts?.ranges == [0..<5])
    #expect(incomplete(try part("7-8/10"))?.parts?.ranges == [0..<3, 7..<9])
    #expect(incomplete(try part("7-8/10", defaults: ["ETag: \"b\""]))?.parts?.ranges == [0..<3])
    #expect(incomplete(try part("7-8/11"))?.parts?.ranges == [0..<3])
  }
}
