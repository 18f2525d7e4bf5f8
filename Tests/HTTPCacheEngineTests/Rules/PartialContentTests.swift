import HTTPTypes
import Testing

@testable import HTTPCacheEngine

@Suite("Partial and incomplete responses (RFC 9111 §3.3, §3.4)")
struct PartialContentTests {
  private let engine = CacheEngine.privately

  /// What is stored of a 206 to a request of a range; `Cache-Control`, `ETag` and `Date` are given unless others are.
  private func part(
    _ range: String, _ lines: String..., engine: CacheEngine = .privately,
    defaults: [String] = ["Cache-Control: max-age=60", "ETag: \"a\"", "Date: \(arrivalDate)"]
  ) throws -> StoredResponse {
    var head = response(206, "Content-Range: bytes \(range)")
    head.headerFields += HTTPFields(lines: defaults + lines)
    return try #require(engine.stored(head, for: request("Range: bytes=0-")))
  }

  /// What becomes of a 206 that comes where something is stored.
  private func outcome(
    _ range: String, _ lines: String..., meeting stored: [StoredResponse], asked: HTTPRequest? = nil,
    after: Int64 = 1
  ) throws -> Outcome {
    var head = response(
      206, range.isEmpty ? "" : "Content-Range: bytes \(range)", "Cache-Control: max-age=60")
    head.headerFields += HTTPFields(lines: lines)
    let now = arrival.advanced(bySeconds: after)
    return try #require(
      engine.exchange(
        asked ?? request("Range: bytes=0-999", "Cache-Control: no-cache"), stored, .response(head),
        requestTime: now, responseTime: now))
  }

  private func storing(_ outcome: Outcome) -> StoredResponse? {
    if case .store(let stored, _) = outcome.storage { stored } else { nil }
  }

  // MARK: - Storing

  @Test("A 206 is stored as a part of the 200 that it would be")
  func stored() throws {
    let stored = try part("2-4/10", "Content-Length: 3", "X: 1")
    #expect(stored.status == .ok)
    #expect(stored.parts?.ranges == [2..<5])
    #expect(stored.parts?.completeLength == 10)
    #expect(stored.fields[.contentRange] == nil)
    #expect(stored.fields[.contentLength] == "10")
    #expect(stored.fields[HTTPField.Name("X") ?? .age] == "1")
    #expect(!stored.isReusable(at: arrival))
    #expect(StoredResponse(decoding: stored.encoded()[...])?.parts == stored.parts)
    #expect(try part("2-4/*").fields[.contentLength] == nil)
    #expect(try part("0-9/10").parts == nil, "all of it")
  }

  @Test(
    "A 206 that does not say plainly which bytes it has is not stored",
    arguments: [
      ["Content-Range: bytes 4-3/10"], [], ["Content-Range: bytes */10"], ["Content-Range: lines 0-4/10"],
      ["Content-Range: bytes 0-4/10", "Content-Range: bytes 5-9/10"],
      ["Content-Range: bytes 0-4/10", "Content-Length: 6"],
      ["Content-Range: bytes 0-4/10", "Content-Length: x"],
      ["Content-Range: bytes 0-4/10", "Content-Type: Multipart/Byteranges; boundary=b"],
      ["Content-Type: multipart/byteranges; boundary=b"],
      ["Content-Range: bytes 0-4/10", "Content-Encoding: gzip"],
    ])
  func notPlaced(lines: [String]) {
    var head = response(206, "Cache-Control: max-age=60", "ETag: \"a\"")
    head.headerFields += HTTPFields(lines: lines)
    #expect(engine.firstOutcome(request("Range: bytes=0-4"), head).refusal == .partNotPlaced)
  }

  @Test("A 206 is stored only for who asked for a range, and where §3 allows it")
  func storability() {
    let head = response(206, "Content-Range: bytes 0-4/10", "ETag: \"a\"")
    #expect(engine.firstOutcome(request(), head).refusal == .partNotPlaced)
    #expect(engine.firstOutcome(request("Range: lines=0-4"), head).refusal == .partNotPlaced)
    #expect(engine.firstOutcome(request("Range: bytes=0-4"), head).refusal == nil)
    var secret = head
    secret.headerFields[.cacheControl] = "no-store"
    #expect(engine.firstOutcome(request("Range: bytes=0-4"), secret).refusal == .responseNoStore)
    let asked = request("Range: bytes=0-4", "Authorization: x")
    #expect(CacheEngine.shared.firstOutcome(asked, head).refusal == .authorizedInSharedCache)
    var exchange = Exchange(
      forwarding: engine.plan(request("Range: bytes=0-4"), []).forwarding ?? Self.nothing, candidates: [],
      result: .response(head), contentLength: 4, requestTime: arrival, responseTime: arrival)
    #expect(engine.outcome(of: exchange).refusal == .partNotPlaced)
    exchange.contentLength = 5
    #expect(engine.outcome(of: exchange).refusal == nil)
  }

  private static let nothing = Forwarding(
    request: request(), selected: nil, nominated: [], original: request(), policy: .useProtocolCachePolicy,
    reason: .nothingStored)

  // MARK: - Answering

  @Test(
    "A range wholly within what is stored is answered; nothing else is (§3.3)",
    arguments: [
      ("4-9/10", "bytes=6-8", .ranges([6..<9], of: 10)), ("4-9/10", "bytes=6-", .ranges([6..<10], of: 10)),
      ("4-9/10", "bytes=-1", .ranges([9..<10], of: 10)), ("4-9/10", "bytes=4-99", .ranges([4..<10], of: 10)),
      ("4-9/10", "bytes=4-4, 9-9", .ranges([4..<5, 9..<10], of: 10)),
      ("4-9/10", "bytes=10-", .unsatisfiable(length: 10)), ("4-9/10", "bytes=3-5", nil),
      ("4-9/10", "bytes=-7", nil), ("4-9/10", "bytes=0-0, 9-9", nil), ("4-9/10", "bytes=4-, 4-, 4-", nil),
      ("4-8/10", "bytes=6-", nil), ("4-8/10", "bytes=-1", nil), ("4-8/10", "bytes=6-9", nil),
      ("4-9/*", "bytes=6-8", .ranges([6..<9], of: nil)), ("4-9/*", "bytes=6-", nil),
      ("4-9/*", "bytes=-1", nil), ("4-9/*", "bytes=6-10", nil), ("4-9/*", "bytes=10-", nil),
      ("4-9/10", "lines=4-5", nil), ("4-9/10", "bytes=5-4", nil), ("4-9/10", "", nil),
    ] as [(String, String, ContentSelection?)])
  func answers(stored: String, range: String, selection: ContentSelection?) throws {
    let stored = try part(stored)
    let asked = request(range.isEmpty ? "" : "Range: \(range)")
    let plan = engine.plan(asked, [stored], after: 1)
    #expect(plan.service?.content == selection)
    #expect(plan.reason == (selection == nil ? .contentIncomplete : .fresh))
    for policy in [RequestCachePolicy.returnCacheDataElseLoad, .returnCacheDataDontLoad] {
      #expect(engine.plan(asked, [stored], after: 999, policy: policy).service?.content == selection)
    }
    if selection == nil {
      #expect(
        engine.plan(asked, [stored], after: 1, policy: .returnCacheDataDontLoad).reason
          == .policyForbidsNetwork)
      var only = asked
      only.headerFields[.cacheControl] = "only-if-cached"
      #expect(engine.plan(only, [stored], after: 1).reason == .onlyIfCached)
    }
  }

  @Test("The bytes are found in the stored content, and the head tells their place")
  func pieces() throws {
    var stored = try part("4-9/*")
    let single = stored.response(.ranges([6..<9], of: nil), age: 1, boundary: "b")
    #expect(single.status == .partialContent)
    #expect(single.headerFields[.contentRange] == "bytes 6-8/*")
    #expect(single.headerFields[.contentLength] == "3")
    #expect(stored.pieces(of: .ranges([6..<9], of: nil), boundary: "b") == [.stored(2..<5)])
    stored.parts = StoredParts(ranges: [2..<4, 8..<10], completeLength: 10, isCombinable: true)
    let pieces = stored.pieces(of: .ranges([8..<9, 3..<4], of: 10), boundary: "b")
    #expect(
      pieces.filter { if case .stored = $0 { true } else { false } } == [.stored(2..<3), .stored(1..<2)])
  }

  @Test("Conditions of the client's are evaluated where its range is there")
  func conditions() throws {
    let stored = try part("0-4/10")
    func content(_ lines: String...) -> ContentSelection? {
      var asked = request()
      asked.headerFields = HTTPFields(lines: lines)
      return engine.plan(asked, [stored], after: 1).service?.content
    }
    #expect(content("Range: bytes=0-1", "If-None-Match: \"a\"") == .notModified)
    #expect(content("Range: bytes=0-9", "If-None-Match: \"a\"") == nil)
    #expect(content("If-None-Match: \"a\"") == nil)
    #expect(content("Range: bytes=0-1", "If-Range: \"a\"") == .ranges([0..<2], of: 10))
    #expect(content("Range: bytes=0-1", "If-Range: \"b\"") == nil, "the client would get all of it")
    #expect(engine.plan(request(method: .head), [stored], after: 1).reason == .contentIncomplete)
  }

  @Test("What fails does not make a part the answer to a request for the whole")
  func errors() throws {
    let stored = try part("0-4/10", "Cache-Control: stale-if-error=600")
    for (asked, isServed) in [(request(), false), (request("Range: bytes=0-1"), true)] {
      for result in [Exchange.Result.failure, .response(response(503))] {
        let outcome = engine.exchange(
          asked, [stored], result, requestTime: arrival.advanced(bySeconds: 100),
          responseTime: arrival.advanced(bySeconds: 100))
        #expect((outcome?.storedAnswer != nil) == isServed)
      }
    }
  }

  @Test("A part is validated where it answers the request, and named nowhere else (§4.3.2)")
  func validation() throws {
    let stored = try part(
      "0-4/10", defaults: ["Cache-Control: max-age=60, stale-while-revalidate=9", "ETag: \"a\""])
    let asked = request("Range: bytes=1-2")
    let forwarding = try #require(engine.plan(asked, [stored], after: 100).forwarding)
    #expect(forwarding.request.headerFields[.ifNoneMatch] == "\"a\"")
    #expect(forwarding.completion == nil)
    let outcome = try #require(
      engine.exchange(
        asked, [stored], .response(response(304, "ETag: \"a\"", "Cache-Control: max-age=500")),
        requestTime: arrival.advanced(bySeconds: 100), responseTime: arrival.advanced(bySeconds: 100)))
    #expect(outcome.storedAnswer?.content == .ranges([1..<3], of: 10))
    #expect(outcome.updates.first?.response.parts == stored.parts)
    let beyond = try #require(engine.plan(request("Range: bytes=1-7"), [stored], after: 100).forwarding)
    #expect(beyond.request == beyond.original)
    #expect(!beyond.isValidation)
    #expect(engine.plan(asked, [stored], after: 65).service?.revalidation?.isValidation == true)
    let other = try part("0-4/10", "Vary: Accept")
    let variant = try #require(engine.plan(request("Accept: x"), [other], after: 1).forwarding)
    #expect(variant.request.headerFields[.ifNoneMatch] == nil)
  }

  @Test("What else is stored whole, or in the right part, answers in place of a more recent other part")
  func suitable() throws {
    var whole = try #require(
      engine.stored(response(200, "Cache-Control: max-age=60", "Vary: Accept", "Date: \(date(-9))")))
    whole.contentLength = 10
    let part = try part("0-4/10")
    #expect(engine.plan(request(), [part, whole], after: 1).service?.candidate == 1)
    let variant = try self.part("0-4/10", "Vary: Accept")
    #expect(engine.plan(request("Range: bytes=0-1"), [variant, whole], after: 1).service?.candidate == 0)
    #expect(engine.plan(request("Range: bytes=4-5"), [part, whole], after: 1).service?.candidate == 1)
    #expect(
      engine.plan(request("Accept: x"), [part, whole], after: 1).forwarding?.completion?.candidate == 0)
  }

  @Test("A digest of one message's content is not that of another part, nor of the whole (RFC 9530 §2)")
  func digests() throws {
    let digest = "Content-Digest: sha-256=:AA==:"
    func hasDigest(_ fields: HTTPFields?) -> Bool? {
      fields?.contains { $0.name.canonicalName == "content-digest" }
    }
    let part = try part("0-4/10", digest, "Repr-Digest: sha-256=:BB==:")
    #expect(hasDigest(part.fields) == false)
    #expect(part.fields.contains { $0.name.canonicalName == "repr-digest" })
    #expect(
      hasDigest(
        storing(try outcome("5-9/10", "ETag: \"a\"", digest, meeting: [part], asked: request()))?.fields)
        == false)
    let whole = try #require(engine.stored(response(200, "ETag: \"a\"", digest)))
    #expect(hasDigest(whole.response(.whole, age: nil, boundary: "b").headerFields) == true)
    #expect(hasDigest(whole.response(.ranges([0..<1], of: 9), age: nil, boundary: "b").headerFields) == false)
  }

  // MARK: - Completing

  @Test(
    "What is missing is asked for where it is one run, tied to a strong validator (§3.4)",
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

  @Test("A date that was too recent to be strong does not become so by an update")
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

  @Test("What was missing makes it whole: a 200 with updated fields, between what is stored")
  func completes() throws {
    var stored = try part("4-9/10", "X: old", "Vary: Accept")
    stored.parts = StoredParts(ranges: [0..<2, 7..<10], completeLength: 10, isCombinable: true)
    let outcome = try outcome(
      "2-6/10", "ETag: \"a\"", "X: new", "Content-Length: 5", meeting: [stored], asked: request())
    guard case .completed(let answer) = outcome.answer else {
      Issue.record("\(outcome.answer)")
      return
    }
    let head = answer.response.response(age: answer.age)
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
    // A transfer that breaks off leaves what was there, and more.
    #expect(outcome.incomplete(after: 0) == nil)
    #expect(outcome.incomplete(after: 3)?.parts?.ranges == [0..<5, 7..<10])
    #expect(outcome.incomplete(after: 5) == nil)
    #expect(outcome.incomplete(after: 6) == nil)
  }

  @Test(
    "Fields that no-cache keeps out of the store reach the client whose completion brought them (§5.2.2.4)")
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

  @Test("A HEAD response is compared with the length of the whole, not with that of the parts (§4.3.5)")
  func head() throws {
    let head = Exchange.Result.response(response(200, "ETag: \"a\"", "Content-Length: 10"))
    for (range, reason) in [
      ("0-4/*", Reason.freshenedByHead), ("0-4/10", .freshenedByHead), ("0-4/11", .outdatedByHead),
    ] {
      let stored = try part(range)
      let outcome = engine.exchange(request(method: .head), [stored], head)
      #expect(outcome?.updates.map(\.reason) == [reason], "\(range)")
    }
  }

  @Test(
    "An answer that does not complete is none: the request is repeated in full",
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

  @Test("A full answer to a completion replaces what is stored; an error is passed on")
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

  @Test("A completion that may not be stored answers all the same, and ends the storing")
  func completionNotStored() throws {
    let stored = try part("0-4/10")
    let outcome = try outcome(
      "5-9/10", "ETag: \"a\"", "Cache-Control: no-store", meeting: [stored], asked: request())
    guard case .completed = outcome.answer else {
      Issue.record("\(outcome.answer)")
      return
    }
    #expect(outcome.refusal == .responseNoStore)
    #expect(outcome.removals == [0])
    let own = try self.outcome(
      "5-9/10", "ETag: \"a\"", meeting: [stored], asked: request("Cache-Control: no-store"))
    #expect(own.refusal == .requestNoStore)
    #expect(own.removals.isEmpty)
  }

  // MARK: - Combining

  @Test("A part of the same representation is combined with those that are stored")
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
    "A part of another representation takes the place of what is stored, and one of which nobody knows only that of parts",
    arguments: [
      (["ETag: \"b\""], Reason.storedAsPart, Reason.storedAsPart), ([], .storedAsPart, .partNotCombined),
      (["ETag: W/\"a\""], .storedAsPart, .partNotCombined),
      (["Last-Modified: \(date(-9))"], .storedAsPart, .partNotCombined),
      (["ETag: \"a\""], .storedCombined, .partAlreadyStored),
      (["ETag: \"b\"", "Date: \(date(-1000))"], .partNotCombined, .partNotCombined),
    ])
  func others(fields: [String], besidePart: Reason, besideWhole: Reason) throws {
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

  @Test("Contradictory lengths are not combined")
  func lengths() throws {
    let stored = try part("0-4/10")
    #expect(storing(try outcome("7-8/11", "ETag: \"a\"", meeting: [stored]))?.parts?.ranges == [7..<9])
    #expect(storing(try outcome("12-13/*", "ETag: \"a\"", meeting: [stored]))?.parts?.ranges == [12..<14])
    let open = try part("0-4/*")
    #expect(storing(try outcome("1-2/3", "ETag: \"a\"", meeting: [open]))?.parts?.ranges == [1..<3])
  }

  @Test("Combining costs no more than a bounded copy, and the larger stays")
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
    "The beginning of a 200 is kept where it can be completed",
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

  @Test("A beginning takes the place of nothing that is whole, and joins what is stored of the same")
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
