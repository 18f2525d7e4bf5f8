// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

@Suite("Partial and incomplete responses (RFC 9111 §3.3, §3.4)", .timeLimit(.minutes(10)))
struct PartialContentTests {
  private let engine = CacheEngine.privately

  // MARK: - Storing

  @Test("A 206 is stored as a part of the corresponding 200")
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
    "A 206 without one unambiguous range is not stored",
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

  @Test("A 206 is stored only for a range request and where §3 allows it")
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
    var exchange = CacheEngine.Exchange(
      forwarding: engine.plan(request("Range: bytes=0-4"), []).forwarding ?? Self.nothing, candidates: [],
      result: .response(head), contentLength: 4, requestTime: arrival, responseTime: arrival)
    #expect(engine.outcome(of: exchange).refusal == .partNotPlaced)
    exchange.contentLength = 5
    #expect(engine.outcome(of: exchange).refusal == nil)
  }

  private static let nothing = CacheEngine.Forwarding(
    request: request(), selected: nil, isValidation: false, original: request(),
    policy: .useProtocolCachePolicy,
    reason: .nothingStored)

  // MARK: - Answering

  @Test(
    "Only a range wholly within stored content is answered from it (§3.3)",
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
    ] as [(String, String, CacheEngine.ContentSelection?)])
  func answers(stored: String, range: String, selection: CacheEngine.ContentSelection?) throws {
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

  @Test("A range is read at its place in the stored content, and the head states it")
  func pieces() throws {
    var stored = try part("4-9/*")
    let single = stored.response(.ranges([6..<9], of: nil), ageInSeconds: 1, boundary: "b")
    #expect(single.status == .partialContent)
    #expect(single.headerFields[.contentRange] == "bytes 6-8/*")
    #expect(single.headerFields[.contentLength] == "3")
    #expect(stored.pieces(of: .ranges([6..<9], of: nil), boundary: "b") == [.stored(2..<5)])
    stored.parts = StoredParts(ranges: [2..<4, 8..<10], completeLength: 10, isCombinable: true)
    let pieces = stored.pieces(of: .ranges([8..<9, 3..<4], of: 10), boundary: "b")
    #expect(
      pieces.filter { if case .stored = $0 { true } else { false } } == [.stored(2..<3), .stored(1..<2)])
  }

  @Test("The client's conditions are evaluated only if its range is stored")
  func conditions() throws {
    let stored = try part("0-4/10")
    func content(_ lines: String...) -> CacheEngine.ContentSelection? {
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

  @Test("After a failure, a part does not answer a request for the whole")
  func errors() throws {
    let stored = try part("0-4/10", "Cache-Control: stale-if-error=600")
    for (asked, isServed) in [(request(), false), (request("Range: bytes=0-1"), true)] {
      for result in [CacheEngine.Exchange.Result.failure, .response(response(503))] {
        let outcome = engine.exchange(
          asked, [stored], result, requestTime: arrival.advanced(bySeconds: 100),
          responseTime: arrival.advanced(bySeconds: 100))
        #expect((outcome?.storedAnswer != nil) == isServed)
      }
    }
  }

  @Test("A part is revalidated only where it can answer the request (§4.3.2)")
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

  @Test("A stored response that covers the request takes precedence over a more recent part")
  func suitable() throws {
    var whole = try #require(
      engine.stored(response(200, "Cache-Control: max-age=60", "Vary: Accept", "Date: \(date(-9))")))
    whole.contentLength = 10
    let beginning = try part("0-4/10")
    #expect(engine.plan(request(), [beginning, whole], after: 1).service?.candidate == 1)
    let variant = try part("0-4/10", "Vary: Accept")
    #expect(engine.plan(request("Range: bytes=0-1"), [variant, whole], after: 1).service?.candidate == 0)
    #expect(engine.plan(request("Range: bytes=4-5"), [beginning, whole], after: 1).service?.candidate == 1)
    #expect(
      engine.plan(request("Accept: x"), [beginning, whole], after: 1).forwarding?.completion?.candidate == 0)
  }

  @Test("A Content-Digest is not applied to another part or to the whole (RFC 9530 §2)")
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
}
