// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

/// RFC 9111 §4.3.5.
@Suite(.timeLimit(.minutes(10)))
struct HeadTests {
  private let engine = CacheEngine.privately
  private let later = arrival.advanced(bySeconds: 61)

  private func outcome(
    _ storedLines: [String], _ head: HTTPResponse, _ asked: HTTPRequest = request(method: .head)
  ) throws -> CacheEngine.Outcome {
    var answer = response(200, "Cache-Control: max-age=60")
    answer.headerFields += HTTPFields(lines: storedLines)
    let stored = try #require(engine.stored(answer))
    return try #require(
      engine.exchange(asked, [stored], .response(head), requestTime: later, responseTime: later))
  }

  @Test("HEAD is answered from a fresh stored GET response, otherwise forwarded without conditions")
  func plan() throws {
    let stored = try #require(engine.stored(response(200, "Cache-Control: max-age=60", "ETag: \"a\"")))
    #expect(engine.plan(request(method: .head), [stored], after: 59).service?.ageInSeconds == 59)
    #expect(
      engine.plan(request(method: .head), [stored], after: 60).forwarding?.request == request(method: .head))
  }

  @Test(
    "A HEAD response updates a stored response on evidence, outdates one that differs, and leaves others",
    arguments: [
      // stored, HEAD's, updated; `nil` if it is left
      (["ETag: \"a\""], ["ETag: \"a\""], true), (["ETag: \"a\""], ["ETag: \"b\""], false),
      (["ETag: \"a\""], ["ETag: W/\"a\""], false), ([], ["ETag: \"a\""], false), (["ETag: \"a\""], [], nil),
      (["Last-Modified: \(date(-9))"], ["Last-Modified: \(date(-9))"], true),
      (["Last-Modified: \(date(-9))"], ["Last-Modified: \(date(-8))"], false),
      (["Last-Modified: \(date(-9))"], [], nil),
      (["ETag: \"a\"", "Last-Modified: \(date(-9))"], ["ETag: \"a\""], true),
      (["ETag: \"a\"", "Last-Modified: \(date(-9))"], ["Last-Modified: \(date(-9))"], true),
      (["ETag: \"a\"", "Last-Modified: \(date(-9))"], ["ETag: \"a\"", "Last-Modified: \(date(-8))"], false),
      (["Content-Length: 3"], ["Content-Length: 3"], nil),
      (["Content-Length: 3", "ETag: \"a\""], ["Content-Length: 3"], nil),
      (["Content-Length: 3"], ["Content-Length: 4"], false), ([], ["Content-Length: 4"], nil),
      (["Content-Length: 3", "ETag: \"a\""], ["Content-Length: 4", "ETag: \"a\""], false),
      (["Content-Length: 3", "ETag: \"a\""], ["Content-Length: 3", "ETag: \"a\""], true), ([], [], nil),
    ] as [([String], [String], Bool?)])
  func freshening(storedLines: [String], headLines: [String], isUpdated: Bool?) throws {
    var head = response(200, "X-New: 1")
    head.headerFields += HTTPFields(lines: headLines)
    let outcome = try outcome(storedLines, head)
    #expect(outcome.answer == .network)
    #expect(outcome.refusal == .methodNotStored)
    #expect(outcome.removals.isEmpty && outcome.updates.isEmpty == (isUpdated == nil))
    guard let isUpdated else { return }
    let update = try #require(outcome.updates.first)
    #expect(update.reason == (isUpdated ? .freshenedByHead : .outdatedByHead))
    let plan = engine.plan(request(), [update.response], after: 62)
    #expect(plan.reason == (isUpdated ? .fresh : .storedInvalidated))
    #expect((update.response.fields[HTTPFields("X-New: 1")[0].name] != nil) == isUpdated)
  }

  @Test(
    "Without a stored Content-Length, HEAD is compared with the length of the stored content",
    arguments: [3, 4])
  func lengthOfContent(length: Int64) throws {
    var stored = try #require(engine.stored(response(200, "Cache-Control: max-age=60")))
    stored.contentLength = 3
    let outcome = try #require(
      engine.exchange(
        request(method: .head), [stored], .response(response(200, "Content-Length: \(length)")),
        requestTime: later,
        responseTime: later))
    #expect(outcome.updates.map(\.reason) == (length == 3 ? [] : [.outdatedByHead]))
  }

  @Test("Only a 200 response to HEAD updates stored responses", arguments: [204, 301, 304, 404, 500])
  func otherStatus(status: Int) throws {
    #expect(try outcome(["ETag: \"a\""], response(status, "ETag: \"b\"")).updates.isEmpty)
  }

  @Test("A HEAD exchange with no-store updates no stored response")
  func notStorable() throws {
    let tag = "ETag: \"a\""
    let refused = try outcome([tag], response(200, tag), request("Cache-Control: no-store", method: .head))
    #expect(refused.updates.isEmpty && refused.removals.isEmpty)
    #expect(try outcome([tag], response(200, tag, "Cache-Control: no-store")).removals == [0])
    #expect(try outcome([], response(200, "Cache-Control: no-store")).removals == [])
  }

  @Test("A response outdated by HEAD is not served until it is revalidated")
  func staysOutdated() throws {
    let outcome = try outcome(["ETag: \"a\""], response(200, "ETag: \"b\""))
    let outdated = try #require(outcome.updates.first).response
    #expect(engine.plan(request("Cache-Control: max-stale"), [outdated], after: 1).service == nil)
    let validated = try #require(
      engine.exchange(
        request(), [outdated], .response(response(304, "ETag: \"a\"")), requestTime: later,
        responseTime: later))
    let updated = try #require(validated.updates.first).response
    #expect(engine.plan(request(), [updated], after: 62).reason == .fresh)
  }
}

/// RFC 9111 §4.4.
@Suite(.timeLimit(.minutes(10)))
struct InvalidationTests {
  private func invalidated(
    _ method: HTTPRequest.Method = .post, _ status: Int = 200, _ lines: String..., path: String = "/r?q"
  ) -> [String] {
    var head = response(status)
    head.headerFields += HTTPFields(lines: lines)
    let outcome = CacheEngine.shared.firstOutcome(request(method: method, path: path), head)
    return outcome.invalidations.map(\.text)
  }

  @Test("Unsafe and unknown methods are forwarded and invalidate their target")
  func unsafeMethods() throws {
    let names = ["POST", "PUT", "DELETE", "PATCH", "MKCOL", "PURGE", "get", "X-UNKNOWN"]
    for method in names.compactMap({ HTTPRequest.Method($0) }) {
      #expect(invalidated(method) == ["http://a.example/r?q"])
      let stored = try #require(CacheEngine.shared.stored(response(200, "Cache-Control: max-age=60")))
      for policy in RequestCachePolicy.allCases {
        let plan = CacheEngine.shared.plan(request(method: method), [stored], policy: policy)
        #expect(plan.reason == (policy == .returnCacheDataDontLoad ? .policyForbidsNetwork : .unsafeMethod))
      }
    }
  }

  @Test(
    "Safe methods invalidate nothing", arguments: [.get, .head, .options, .trace] as [HTTPRequest.Method])
  func safeMethods(method: HTTPRequest.Method) {
    #expect(invalidated(method, 200, "Location: /x").isEmpty)
  }

  @Test(
    "Only a non-error response invalidates",
    arguments: [
      (200, true), (201, true), (204, true), (299, true), (301, true), (303, true), (399, true), (304, true),
      (100, false), (400, false), (404, false), (409, false), (500, false), (503, false),
    ])
  func statuses(status: Int, isInvalidated: Bool) {
    #expect(invalidated(.post, status).isEmpty == !isInvalidated)
  }

  @Test(
    "Location and Content-Location invalidate only URIs of the same origin",
    arguments: [
      ("/x", "http://a.example/x"), ("x", "http://a.example/x"), ("?p", "http://a.example/r?p"),
      ("http://a.example/x", "http://a.example/x"), ("HTTP://A.EXAMPLE:80/x#f", "http://a.example/x"),
      ("//a.example/x", "http://a.example/x"), ("https://a.example/x", nil), ("http://a.example:8080/x", nil),
      ("http://b.example/x", nil), ("//b.example/x", nil), ("http://a.example.b.example/x", nil),
      ("http://a.example@b.example/x", nil), ("", nil), ("mailto:x", nil), ("http://", nil), ("/r?q", nil),
    ] as [(String, String?)])
  func references(reference: String, text: String?) {
    let expected = ["http://a.example/r?q"] + (text.map { [$0] } ?? [])
    #expect(invalidated(.post, 201, "Location: \(reference)") == expected)
    #expect(invalidated(.put, 200, "Content-Location: \(reference)") == expected)
  }

  @Test("Location and Content-Location both invalidate, each URI once")
  func both() {
    #expect(
      invalidated(.post, 201, "Location: /x", "Content-Location: /y")
        == ["http://a.example/r?q", "http://a.example/x", "http://a.example/y"])
    #expect(invalidated(.post, 201, "Location: /x", "Content-Location: /x").count == 2)
  }

  @Test("The response to an unsafe request is passed on and not stored")
  func answer() {
    let outcome = CacheEngine.privately.firstOutcome(
      request(method: .post), response(200, "Cache-Control: max-age=60"))
    #expect(outcome.answer == .network)
    #expect(outcome.reason == .unsafeMethod)
    #expect(outcome.refusal == .methodNotStored)
  }
}
