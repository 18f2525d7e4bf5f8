// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

/// RFC 9111 §3.
@Suite(.timeLimit(.minutes(10)))
struct StorabilityTests {
  struct Row: CustomTestStringConvertible, Sendable {
    var request: [String] = []
    var method = HTTPRequest.Method.get
    var status = 200
    var fields: [String] = []
    /// The reason against storing in a private and in a shared cache; `nil` where it is stored.
    var inPrivate: CacheEngine.Reason?
    var inShared: CacheEngine.Reason?

    init(
      _ status: Int = 200, _ fields: String..., request: [String] = [], method: HTTPRequest.Method = .get,
      refusal: CacheEngine.Reason? = nil
    ) {
      (self.status, self.fields, self.request, self.method) = (status, fields, request, method)
      (inPrivate, inShared) = (refusal, refusal)
    }

    init(
      _ status: Int = 200, _ fields: String..., request: [String] = [], inPrivate: CacheEngine.Reason?,
      inShared: CacheEngine.Reason?
    ) {
      (self.status, self.fields, self.request) = (status, fields, request)
      (self.inPrivate, self.inShared) = (inPrivate, inShared)
    }

    var testDescription: String { "\(method) \(request) -> \(status) \(fields)" }
  }

  private static let authorized = ["Authorization: Basic x"]

  private static let directives: [Row] = [
    Row(), Row(200, "Cache-Control: max-age=60"), Row(200, "Cache-Control: no-cache"),
    Row(200, "Cache-Control: no-cache=\"a\""), Row(200, "Cache-Control: max-age=0"), Row(200, "Expires: 0"),
    Row(200, "Cache-Control: no-store", refusal: .responseNoStore),
    Row(200, "Cache-Control: max-age=60, No-Store", refusal: .responseNoStore),
    Row(200, "Cache-Control: max-age=60", "Cache-Control: no-store", refusal: .responseNoStore),
    Row(200, "Cache-Control: public, no-store", refusal: .responseNoStore),
    Row(200, "Cache-Control: private, no-store", refusal: .responseNoStore),
    Row(200, "Cache-Control: max-age=60", request: ["Cache-Control: no-store"], refusal: .requestNoStore),
    Row(200, "Cache-Control: private", inPrivate: nil, inShared: .privateInSharedCache),
    Row(200, "Cache-Control: private, max-age=60", inPrivate: nil, inShared: .privateInSharedCache),
    Row(200, "Cache-Control: private, s-maxage=60", inPrivate: nil, inShared: .privateInSharedCache),
    Row(200, "Cache-Control: private, public", inPrivate: nil, inShared: .privateInSharedCache),
    Row(200, "Cache-Control: private=\"a\", private", inPrivate: nil, inShared: .privateInSharedCache),
    Row(200, "Cache-Control: private=\"a\""), Row(200, "Vary: *"),
    Row(200, "Set-Cookie: a=b", inPrivate: nil, inShared: .cookiesNotShared),
    Row(200, "Cache-Control: max-age=60", "Set-Cookie: a=b", inPrivate: nil, inShared: .cookiesNotShared),
    Row(200, "Cache-Control: max-age=60, no-cache=set-cookie", "Set-Cookie: a=b"),
    Row(200, "Cache-Control: s-maxage=60", "Set-Cookie: a=b"),
    Row(200, "Cache-Control: public", "Set-Cookie: a=b"),
    Row(302, "Set-Cookie: a=b", refusal: .notDeclaredCacheable),
    Row(200, "Pragma: no-cache"),
    // What nginx and CDNs read: only these values forbid, and only to a shared cache.
    Row(
      200, "Cache-Control: public, max-age=60", "X-Accel-Expires: 0", inPrivate: nil,
      inShared: .responseNoStore),
    Row(200, "X-Accel-Expires: 60"), Row(200, "X-Accel-Expires: off"), Row(200, "X-Accel-Expires: @0"),
    Row(
      200, "Cache-Control: s-maxage=60", "Surrogate-Control: no-store", inPrivate: nil,
      inShared: .responseNoStore),
    Row(
      200, "Cache-Control: max-age=60", "Surrogate-Control: content=\"ESI/1.0\", No-Store", inPrivate: nil,
      inShared: .responseNoStore),
    Row(200, "Surrogate-Control: max-age=0"), Row(200, "Surrogate-Control: content=\"no-store\""),
    Row(200, "Surrogate-Control: no-store-remote"),
  ]

  private static let authorization: [Row] = [
    Row(200, request: authorized, inPrivate: nil, inShared: .authorizedInSharedCache),
    Row(
      200, "Cache-Control: max-age=60", request: authorized, inPrivate: nil,
      inShared: .authorizedInSharedCache),
    Row(200, "Expires: \(date(60))", request: authorized, inPrivate: nil, inShared: .authorizedInSharedCache),
    Row(
      200, "Cache-Control: proxy-revalidate, max-age=60", request: authorized, inPrivate: nil,
      inShared: .authorizedInSharedCache),
    Row(
      200, "Cache-Control: no-cache", request: authorized, inPrivate: nil, inShared: .authorizedInSharedCache),
    Row(200, "Cache-Control: public", request: authorized),
    Row(200, "Cache-Control: s-maxage=60", request: authorized),
    Row(200, "Cache-Control: must-revalidate", request: authorized),
    Row(
      200, "Cache-Control: public, private", request: authorized, inPrivate: nil,
      inShared: .privateInSharedCache),
  ]

  /// RFC 9110 §15.1 lists the status codes that need no further word; 206 must say its range besides.
  private static let statuses: [Row] =
    [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 451, 501].map { Row($0) }
    + [
      201, 202, 205, 302, 303, 307, 400, 401, 402, 403, 406, 409, 418, 500, 502, 503, 504, 599, 299,
    ]
    .flatMap { status in
      [
        Row(status, refusal: .notDeclaredCacheable),
        Row(status, "Last-Modified: \(date(-60))", refusal: .notDeclaredCacheable),
        Row(status, "Cache-Control: must-revalidate", refusal: .notDeclaredCacheable),
        Row(status, "Cache-Control: max-age=60"), Row(status, "Cache-Control: public"),
        Row(status, "Expires: \(date(60))"), Row(status, "Expires: 0"),
        Row(status, "Cache-Control: private", inPrivate: nil, inShared: .privateInSharedCache),
        Row(status, "Cache-Control: s-maxage=60", inPrivate: .notDeclaredCacheable, inShared: nil),
      ]
    }
    + [Row(206, "Cache-Control: public, max-age=60", refusal: .partNotPlaced)]
    + [304, 412, 416, 428, 429, 431, 511].flatMap { status in
      [
        Row(status, refusal: .statusNotUnderstood),
        Row(status, "Cache-Control: public, max-age=60", refusal: .statusNotUnderstood),
      ]
    }
    + [100, 102, 103].map { Row($0, "Cache-Control: max-age=60", refusal: .statusNotFinal) }

  private static let others: [Row] =
    [.head, .post, .put, .delete, .options, .trace, .patch, .connect].map {
      Row(200, "Cache-Control: public, max-age=60", method: $0, refusal: .methodNotStored)
    }
    + [
      // §5.2.2.3: no-store is for those that do not understand the status code.
      Row(200, "Cache-Control: must-understand, no-store"),
      Row(200, "Cache-Control: must-understand, no-store, max-age=60"),
      Row(404, "Cache-Control: must-understand, no-store"), Row(200, "Cache-Control: must-understand"),
      Row(299, "Cache-Control: must-understand, max-age=60", refusal: .statusNotUnderstood),
      Row(299, "Cache-Control: must-understand, no-store, max-age=60", refusal: .statusNotUnderstood),
      Row(
        200, "Cache-Control: must-understand, no-store", request: ["Cache-Control: no-store"],
        refusal: .requestNoStore),
    ]

  @Test(
    "A response is stored exactly where §3 allows it",
    arguments: directives + authorization + statuses + others)
  func table(row: Row) {
    for (kind, expected) in [
      (CacheEngine.Configuration.Kind.private, row.inPrivate), (.shared, row.inShared),
    ] {
      var asked = request(method: row.method)
      asked.headerFields += HTTPFields(lines: row.request)
      var answer = response(row.status)
      answer.headerFields += HTTPFields(lines: row.fields)
      let outcome = CacheEngine.of(kind).firstOutcome(asked, answer)
      #expect(outcome.refusal == expected, "\(kind)")
      if case .store = outcome.storage {
        #expect(expected == nil)
      } else {
        #expect(expected != nil)
      }
      if row.status != 304 { #expect(outcome.answer == .network) }
    }
  }

  @Test("A complete response to a range request is stored")
  func rangeIgnored() {
    let outcome = CacheEngine.privately.firstOutcome(request("Range: bytes=0-1"), response())
    #expect(outcome.storage.reason == .storedWithoutLifetime)
  }

  @Test("The reason for storing states the source of the lifetime")
  func reasons() {
    func reason(_ lines: String...) -> CacheEngine.Reason? {
      var answer = response()
      answer.headerFields += HTTPFields(lines: lines)
      return CacheEngine.privately.firstOutcome(request(), answer).storage.reason
    }
    #expect(reason("Cache-Control: max-age=1") == .storedWithLifetime)
    #expect(reason("Expires: 0") == .storedWithLifetime)
    #expect(reason("Last-Modified: \(date(-100))") == .storedWithHeuristic)
    #expect(reason() == .storedWithoutLifetime)
  }

  @Test(
    "Connection and proxy fields are not stored; all others are, even unknown ones (§3.1)",
    arguments: [
      ("Connection: close", false), ("Keep-Alive: timeout=5", false), ("Proxy-Connection: close", false),
      ("TE: trailers", false), ("Transfer-Encoding: chunked", false), ("Upgrade: h2c", false),
      ("Proxy-Authenticate: Basic", false), ("Proxy-Authentication-Info: a", false),
      ("Proxy-Authorization: a", false), ("X-Hop: 1", false), ("X-Other-Hop: 1", false), ("X-End: 1", true),
      ("Set-Cookie: a=b", true), ("ETag: \"a\"", true), ("Server: x", true), ("Trailer: x", true),
    ])
  func connectionFields(line: String, isKept: Bool) throws {
    let answer = response(
      200, "Connection: x-hop, X-Other-Hop, cache-control, vary",
      "Cache-Control: public, max-age=60, no-cache",
      "Vary: A", line)
    let stored = try #require(CacheEngine.shared.stored(answer))
    let name = try #require(HTTPFields(line).first?.name)
    #expect((stored.fields[name] != nil) == isKept)
    #expect(stored.fields[.cacheControl] == "public, max-age=60, no-cache")
    #expect(stored.fields[.vary] == "A")
  }

  @Test("Lines of one field stay separate and in order")
  func lines() throws {
    let stored = try #require(
      CacheEngine.privately.stored(response(200, "Set-Cookie: a", "X: 1", "Set-Cookie: b")))
    #expect(stored.fields[values: .setCookie] == ["a", "b"])
  }

  @Test("Fields named by no-cache or private are kept out of the store (§5.2.2.4, §5.2.2.7)")
  func withheld() throws {
    let answer = response(
      200, "Cache-Control: max-age=60, no-cache=\"set-cookie\", private=\"X-User\"", "Set-Cookie: a",
      "X-User: u", "X-All: all")
    let (own, shared) = (
      try #require(CacheEngine.privately.stored(answer)), try #require(CacheEngine.shared.stored(answer))
    )
    #expect(own.fields[.setCookie] == nil)
    #expect(shared.fields[.setCookie] == nil)
    #expect(own.fields[HTTPFields("X-User: u")[0].name] == "u")
    #expect(shared.fields[HTTPFields("X-User: u")[0].name] == nil)
    #expect(CacheEngine.shared.plan(request(), [shared], after: 1).reason == .fresh)
  }

  @Test("A response without Date gets the time of its arrival (RFC 9110 §6.6.1)")
  func date_() throws {
    #expect(try #require(CacheEngine.privately.stored(response())).fields[.date] == arrivalDate)
  }

  @Test(
    "A POST response with a matching Content-Location and an explicit lifetime is stored for GET",
    arguments: [
      (["Cache-Control: max-age=60", "Content-Location: /r"], 200, true),
      (["Cache-Control: max-age=60", "Content-Location: http://A.example:80/r"], 200, true),
      (["Expires: \(date(60))", "Content-Location: r"], 200, true),
      (["Cache-Control: max-age=60"], 200, false),
      (["Cache-Control: max-age=60", "Content-Location: /other"], 200, false),
      (["Cache-Control: max-age=60", "Content-Location: http://b.example/r"], 200, false),
      (["Content-Location: /r", "Last-Modified: \(date(-1000))"], 200, false),
      (["Cache-Control: no-store, max-age=60", "Content-Location: /r"], 200, false),
      (["Cache-Control: max-age=60", "Content-Location: /r"], 201, false),
      (["Cache-Control: max-age=60", "Content-Location: /r"], 500, false),
    ])
  func post(lines: [String], status: Int, isStored: Bool) {
    var head = response(status)
    head.headerFields = HTTPFields(lines: lines)
    for method in [HTTPRequest.Method.post, .put] {
      let outcome = CacheEngine.privately.firstOutcome(request(method: method), head)
      if case .store = outcome.storage {
        #expect(isStored && method == .post)
      } else {
        #expect(!isStored || method == .put)
      }
      #expect(outcome.invalidations.isEmpty == (status == 500))
    }
  }
}
