// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

@Suite("Invalidation of groups and origins (RFC 9875, Clear-Site-Data)", .timeLimit(.minutes(10)))
struct ScopeInvalidationTests {
  private func secure(
    _ method: HTTPRequest.Method = .get, scheme: String = "https", authority: String = "a.example"
  ) -> HTTPRequest {
    HTTPRequest(method: method, scheme: scheme, authority: authority, path: "/r")
  }

  private func scopes(
    _ request: HTTPRequest, _ head: HTTPResponse, candidates: [StoredResponse] = [],
    by engine: CacheEngine = .privately
  ) -> [String] {
    let outcome = engine.exchange(request, candidates, .response(head))
    return (outcome?.invalidatedScopes ?? []).map { "\($0.reason.rawValue) \($0.scope)" }
  }

  @Test(
    "Cache-Groups is a list of strings that is stored with the response (RFC 9875 §2)",
    arguments: [
      (["\"a\""], ["a"]), (["\"a\", \"b c\""], ["a", "b c"]), (["\"a\"", "\"b\""], ["a", "b"]),
      (["\"a\";x=1;y, \"A\""], ["a", "A"]), (["\"q\\\"\\\\\""], ["q\"\\"]), (["a, \"b\", 1"], ["b"]),
      (["\"a\", b c"], []), (["\"a\","], []), ([""], []), (["\"\u{E9}\""], []), ([], []),
    ] as [([String], [String])])
  func groups(lines: [String], groups: [String]) throws {
    let head = response(200, "Cache-Control: max-age=60")
    var fields = head.headerFields
    for line in lines { fields += HTTPFields("Cache-Groups: \(line)") }
    let stored = try #require(CacheEngine.shared.stored(HTTPResponse(status: .ok, headerFields: fields)))
    #expect(stored.groups == groups)
    #expect(StoredResponse(decoding: stored.encoded()[...])?.groups == groups)
    #expect(StoredResponse(decoding: stored.encoded()[...]) == stored)
  }

  @Test("Many groups with long names are all stored (RFC 9875 §2)")
  func manyGroups() throws {
    let names = (0..<1000).map { "\($0) " + String(repeating: "x", count: 100) }
    let list = names.map { "\"\($0)\"" }.joined(separator: ", ")
    let stored = try #require(
      CacheEngine.shared.stored(response(200, "Cache-Control: max-age=60", "Cache-Groups: \(list)")))
    #expect(stored.groups == names)
    // What would keep the parser busy for long is not read.
    let keys = (0..<100_000).map { ";k\($0)" }.joined()
    let hostile = try #require(
      CacheEngine.shared.stored(response(200, "Cache-Control: max-age=60", "Cache-Groups: \"a\"\(keys)")))
    #expect(hostile.groups == [])
  }

  @Test("A Cache-Groups field in a 304 replaces the stored groups")
  func update() throws {
    let stored = try #require(
      CacheEngine.privately.stored(
        response(200, "ETag: \"a\"", "Cache-Control: max-age=0", "Cache-Groups: \"a\"")))
    func updated(_ line: String) -> [String]? {
      CacheEngine.privately.exchange(request(), [stored], .response(response(304, "ETag: \"a\"", line)))?
        .updates.first?.response.groups
    }
    #expect(updated("") == ["a"])
    #expect(updated("Cache-Groups: \"b\"") == ["b"])
    #expect(updated("Cache-Groups: ") == [])
  }

  @Test(
    "Cache-Group-Invalidation applies only to responses to unsafe methods (RFC 9875 §3)",
    arguments: [
      (.post, 200, true), (.put, 204, true), (.delete, 404, true), (.patch, 500, true),
      (.init("FOO")!, 200, true), (.get, 200, false), (.head, 200, false), (.options, 200, false),
      (.init("QUERY")!, 200, false),
    ] as [(HTTPRequest.Method, Int, Bool)])
  func unsafeOnly(method: HTTPRequest.Method, status: Int, counts: Bool) {
    let head = response(status, "Cache-Group-Invalidation: \"a\", \"b\";x", "Cache-Group-Invalidation: \"a\"")
    #expect(
      scopes(secure(method), head)
        == (counts
          ? [
            "invalidatedByGroup \"a\" of https://a.example", "invalidatedByGroup \"b\" of https://a.example",
          ] : []))
  }

  @Test(
    "A malformed Cache-Group-Invalidation field invalidates nothing",
    arguments: ["a, b", "\"a", "\"a\",", "", "(\"a\")"])
  func malformed(value: String) {
    #expect(scopes(secure(.post), response(200, "Cache-Group-Invalidation: \(value)")) == [])
  }

  @Test("More than 64 groups invalidate the whole origin")
  func tooMany() {
    func list(_ count: Int) -> String { (0..<count).map { "\"\($0)\"" }.joined(separator: ", ") }
    #expect(scopes(secure(.post), response(200, "Cache-Group-Invalidation: \(list(64))")).count == 64)
    #expect(
      scopes(secure(.post), response(200, "Cache-Group-Invalidation: \(list(65))"))
        == ["invalidatedByGroup https://a.example"])
  }

  @Test("Invalidating a response invalidates its groups too (RFC 9875 §2.2.1)")
  func sharedGroups() throws {
    let head = response(200, "Cache-Control: max-age=60", "Cache-Groups: \"a\", \"b\"")
    let stored = try #require(CacheEngine.privately.stored(head, for: secure()))
    #expect(
      scopes(secure(.post), response(200, "Cache-Group-Invalidation: \"b\""), candidates: [stored]) == [
        "invalidatedByGroup \"b\" of https://a.example", "invalidatedWithGroup \"a\" of https://a.example",
      ])
    // An error invalidates nothing (RFC 9111 §4.4), and so nothing with it.
    #expect(scopes(secure(.post), response(500), candidates: [stored]) == [])
  }

  @Test(
    "Clear-Site-Data clears its origin if it names the cache and arrives over HTTPS",
    arguments: [
      ("\"cache\"", true), ("\"cookies\", \"cache\"", true), ("\"*\"", true), ("\"cookies\"", false),
      ("cache", false), ("*", false), ("\"Cache\"", false), ("\"cookies, cache\"", false), ("", false),
    ])
  func clearing(value: String, clears: Bool) {
    let head = response(200, "Cache-Control: max-age=60", "Clear-Site-Data: \(value)")
    for method in [HTTPRequest.Method.get, .post, .head, .options] {
      #expect(scopes(secure(method), head) == (clears ? ["clearedByOrigin https://a.example"] : []))
      #expect(scopes(secure(method, scheme: "http"), head) == [])
    }
    let outcome = CacheEngine.privately.firstOutcome(secure(), head)
    #expect(outcome.storage.reason == (clears ? .clearedByOrigin : .storedWithLifetime))
  }

  @Test("Clear-Site-Data applies to private caches, and to shared caches only if configured")
  func clearingByKind() {
    let head = response(200, "Clear-Site-Data: \"cache\"")
    #expect(scopes(secure(), head, by: .shared) == [])
    for kind in CacheEngine.Configuration.Kind.allCases {
      for listens in [true, false] {
        let engine = CacheEngine(.init(kind: kind, clearsSiteData: listens))
        #expect(scopes(secure(), head, by: engine).isEmpty != listens)
      }
    }
  }

  @Test("stale-if-error does not replace a server error that clears its origin")
  func clearingError() throws {
    let stored = try #require(
      CacheEngine.privately.stored(
        response(200, "Cache-Control: max-age=0, stale-if-error=600", "ETag: \"a\""), for: secure()))
    func outcome(_ head: HTTPResponse) -> CacheEngine.Outcome? {
      CacheEngine.privately.exchange(secure(), [stored], .response(head))
    }
    #expect(outcome(response(500))?.reason == .staleIfError)
    #expect(outcome(response(500, "Clear-Site-Data: \"cache\""))?.answer == .network)
  }

  @Test("A 304 that clears its origin serves the revalidated response and updates nothing")
  func clearingValidation() throws {
    let stored = try #require(
      CacheEngine.privately.stored(response(200, "Cache-Control: max-age=0", "ETag: \"a\""), for: secure()))
    let head = response(304, "Cache-Control: max-age=60", "ETag: \"a\"", "Clear-Site-Data: \"cache\"")
    let outcome = CacheEngine.privately.exchange(secure(), [stored], .response(head))
    #expect(outcome?.storedAnswer?.candidate == 0)
    #expect(outcome?.invalidatedScopes.count == 1)
    #expect(outcome?.updates.isEmpty == true)
  }

  @Test("All URIs of an origin share a scope, and other origins and partitions do not")
  func scopeBytes() throws {
    func key(_ text: String, _ partition: String = "") throws -> CacheKey {
      let uri = try #require(TargetURI(scheme: "https", authority: "x", path: "/").resolving(text))
      return CacheKey(uri, partition: partition)
    }
    let same = try key("https://a.example/x/y?z=/")
    for text in [
      "https://a.example", "https://A.example:443/other", "https://user:p@a.example/", "https://a.example/?@",
    ] {
      #expect(try key(text).scope() == same.scope(), "\(text)")
      #expect(try key(text).scope(group: "g") == same.scope(group: "g"), "\(text)")
    }
    #expect(same.scope() == Array("https://a.example".utf8))
    // What is found by more or less than the URI is of its origin all the same.
    let uri = TargetURI(scheme: "https", authority: "a.example", path: "/x?y=z")
    let rule = try #require(NoVarySearch(parsing: ["params=(\"y\")"]))
    for partition in ["", "p", "q\0p"] {
      let scope = CacheKey(uri, partition: partition).scope(group: "g")
      let query = CacheKey.query(
        secure(), content: [0, 1, UInt8(ascii: "/")], nonce: 0x2F40_2F00, partition: partition)
      #expect(query?.scope(group: "g") == scope)
      #expect(CacheKey(uri, by: rule, nonce: 7, partition: partition).scope(group: "g") == scope)
    }
    var others = [same.scope(), same.scope(group: ""), same.scope(group: "g")]
    for (text, partition) in [
      ("http://a.example/", ""), ("https://a.example:444/", ""), ("https://b.a.example/", ""),
      ("https://a.example/", "p"), ("https://a.example/", "p/q@r"), ("https://g", "https://a.example"),
    ] {
      others += [try key(text, partition).scope(), try key(text, partition).scope(group: "g")]
    }
    #expect(Set(others).count == others.count)
    let target = try #require(TargetURI(secure()))
    #expect(
      CacheScope(target: target, group: "g").bytes(partition: "p")
        == (try key("https://a.example/q", "p").scope(group: "g")))
  }
}
