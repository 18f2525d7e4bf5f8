// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Foundation
import HTTPCacheEngine
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

/// What each setting does is in the scenarios of `rules.json`.
@Suite("Rules by host and path", .timeLimit(.minutes(10)))
struct RuleTests {
  static func rules(_ json: String) throws -> CacheRules {
    try JSONDecoder().decode(CacheRules.self, from: Data(json.utf8))
  }

  // MARK: - Texts

  @Test(
    "Each setting and each part of a match is read, and written as it is read",
    arguments: [
      #""lifetime": "1h30m""#, #""default-lifetime": 90"#,
      #""status-lifetimes": {"404": "30s", "5xx": "500ms"}"#,
      #""bypass": "yes""#, #""heuristics": false, "heuristic-share": "20%", "heuristic-maximum": "1w""#,
      #""maximum-size": "10MB", "reuse-no-cache": true, "store-no-store": true, "share-private": false"#,
      #""grace": "1d", "stale-if-error": "0s", "errors": ["500-504", "failure"]"#,
      #""stale-despite-must-revalidate": true, "reload": "validate-once""#,
      #""ignore-query": "all", "sort-query": true"#, #""ignore-query": ["utm_*", "fbclid"]"#,
      #""remove-cookies": {"all-but": ["lang", "theme"]}, "remove-request-fields": ["X-A", "X-B"]"#,
      #""remove-response-fields": "Server", "set-response-fields": {"X-A": "a, b"}, "set-cookie": "declared""#,
      #""key-fields": "X-Device", "content-codings": ["gzip", "br"], "partition-cookie": "u""#,
      #""partition-field": "X-Tenant", "share-authorized": true, "tags": ["Surrogate-Key", "xkey"], "show-tags": false"#,
      #""match": {"host": ["a.example", "*.b.example"], "path": "/x/*", "method": "GET"}, "grace": 1"#,
      #""match": {"field": {"X-A": ["1", "2"]}, "cookie": "s*", "parameter": ["preview"]}, "bypass": true"#,
      #""match": {"field": ["X-A", "X-B"]}, "bypass": true"#,
      #""match": {"status": ["404", "5xx"], "type": "image/*", "size": "1KB-10MB"}, "lifetime": 5"#,
      #""name": "big", "match": {"size": "1GB-"}, "bypass": true"#,
    ])
  func reading(members: String) throws {
    let rules = try Self.rules("[{\(members)}]")
    #expect(rules.rules.count == 1)
    let again = try JSONDecoder().decode(CacheRules.self, from: JSONEncoder().encode(rules))
    #expect(again == rules)
    #expect(!rules.rules[0].settings.isEmpty)
  }

  @Test(
    "What is wrong with a rule is said, with its name",
    arguments: [
      (#"{}"#, "expected a list of rules, found a mapping"), (#"[5]"#, "rule 1: expected a rule"),
      (#"[{"lifetime": 1}, {"lifetime": "soon"}]"#, "rule 2: lifetime: expected a time, such as 30s"),
      (#"[{"lifetime": -1}]"#, "expected a time"), (#"[{"lifetime": "1h30"}]"#, "expected a time"),
      (#"[{"lifetime": "99999999999999999999s"}]"#, "expected a time"),
      (#"[{"bypass": "maybe"}]"#, "bypass: expected true or false, found 'maybe'"),
      (#"[{"match": {"path": "/a"}}]"#, "sets nothing"), (#"[{}]"#, "sets nothing"),
      (#"[{"lifetme": 1}]"#, "unknown setting 'lifetme'; there are lifetime, "),
      (#"[{"path": "/a", "lifetime": 1}]"#, "'path' belongs below `match:`"),
      (
        #"[{"match": {"paths": "/a"}, "lifetime": 1}]"#,
        "unknown part of a match 'paths'; there are host, path"
      ),
      (#"[{"match": {"method": "get"}, "lifetime": 1}]"#, "method: names of methods have capital letters"),
      (#"[{"match": {"cookie": "role=admin"}, "bypass": true}]"#, "cookie: expected the name of a cookie"),
      (#"[{"match": {"host": "münchen.de"}, "bypass": true}]"#, "host: expected a name of ASCII"),
      (#"[{"content-codings": ["gzip;q=0"]}]"#, "content-codings: expected the name of a coding"),
      (#"[{"set-response-fields": {"Content-Length": "5"}}]"#, "'Content-Length' describes the message"),
      (#"[{"remove-response-fields": ["transfer-encoding"]}]"#, "describes the message"),
      (#"[{"match": {"path": "a"}, "lifetime": 1}]"#, "path: expected a path from its first slash"),
      (#"[{"match": {"path": "/a?b=1"}, "lifetime": 1}]"#, "a path ends before the query"),
      (#"[{"match": {"host": "http://a.example"}, "lifetime": 1}]"#, "host: expected a host without scheme"),
      (
        #"[{"match": {"host": "a.example:80"}, "lifetime": 1}]"#,
        "host: expected a host without scheme and port"
      ),
      (#"[{"match": {"host": "www.*.example"}, "lifetime": 1}]"#, "`*` may only be the first label"),
      (
        #"[{"match": {"status": 404}, "ignore-query": "all"}]"#,
        "ignore-query is decided before there is a response"
      ),
      (#"[{"match": {"type": "a/b"}, "remove-cookies": "all"}]"#, "remove-cookies is decided before"),
      (#"[{"match": {"size": "1KB-"}, "reload": "ignore"}]"#, "reload is decided before"),
      (
        #"[{"match": {"cookie": "a"}, "ignore-query": "all"}]"#,
        "changes the key, which must follow from host and path"
      ),
      (#"[{"match": {"method": "GET"}, "sort-query": true}]"#, "sort-query changes the key"),
      (#"[{"match": {"status": "9"}, "lifetime": 1}]"#, "status: expected a status code such as 404"),
      (#"[{"match": {"status": "504-500"}, "lifetime": 1}]"#, "status: expected a status code"),
      (#"[{"match": {"size": "2KB-1KB"}, "lifetime": 1}]"#, "size: expected a range of sizes"),
      (#"[{"match": {"type": "html"}, "lifetime": 1}]"#, "type: expected a media type"),
      (#"[{"lifetime": 1, "default-lifetime": 2}]"#, "lifetime leaves nothing to default-lifetime"),
      (#"[{"heuristic-share": "120%"}]"#, "heuristic-share: expected 0 to 100"),
      (#"[{"set-cookie": "keep"}]"#, "set-cookie: expected declared, store, strip, bypass, found 'keep'"),
      (#"[{"reload": "validateOnce"}]"#, "reload: expected honor, validate-once, ignore"),
      (#"[{"set-response-fields": {"X A": "1"}}]"#, "set-response-fields: expected fields"),
      (#"[{"remove-response-fields": ["a b"]}]"#, "remove-response-fields: expected the name of a field"),
      (#"[{"errors": ["timeout"]}]"#, "errors: expected status codes such as 500 or 5xx, and `failure`"),
      (
        #"[{"ignore-query": {"but": ["a"]}}]"#, "ignore-query: expected `all`, a list of names, or `all-but:`"
      ),
      (#"[{"name": "x", "grace": "1y"}]"#, "grace: expected a time"),
      (#"[{"maximum-size": "1XB"}]"#, "maximum-size: expected a size"),
      (#"[{"lifetime": null}]"#, "found nothing"),
      (#"[{"match": {"status": ["404", "4x"]}, "lifetime": 1}]"#, "or a list of them, found '4x'"),
      (#"[{"errors": ["500", "timeout", "5"]}]"#, "for connections that fail, found 'timeout'"),
      (#"[{"status-lifetimes": {"404": "30s", "5xx": "1y"}}]"#, "found '5xx: 1y'"),
      (#"[{"set-response-fields": {"A": "1", "X A": "1"}}]"#, "found 'X A: 1'"),
      (#"[{"set-response-fields": {"Link": "a", "link": "b"}}]"#, "is set twice"),
      (#"[{"lifetime": ["30s"]}]"#, "found a list"),
      (#"[{"status-lifetimes": [{"404": "30s"}]}]"#, "found a list"),
      (#"[{"match": 5, "lifetime": 1}]"#, "expected the parts of a match"),
    ])
  func faults(json: String, text: String) {
    #expect {
      _ = try Self.rules(json)
    } throws: { error in
      guard case .dataCorrupted(let context)? = error as? DecodingError else { return false }
      return context.debugDescription.contains(text)
    }
  }

  @Test("Rules made in Swift are checked like those that are read")
  func madeInSwift() throws {
    let rules = try CacheRules([
      CacheRule(name: "static", hosts: ["a.example"], paths: ["/static/*"]) { $0.lifetime = .seconds(60) }
    ])
    #expect(
      rules
        == (try Self.rules(
          #"[{"name": "static", "match": {"host": "a.example", "path": "/static/*"}, "lifetime": 60}]"#)))
    #expect(throws: CacheRules.Fault.self) { try CacheRules([CacheRule(paths: ["/a"])]) }
    #expect(throws: CacheRules.Fault.self) { try CacheRules([CacheRule { $0.grace = .seconds(-1) }]) }
    // A field with several lines, and one that is present beside one with a value.
    var match = CacheRule {
      $0.setResponseFields = [.init("Link", "a"), .init("B", "c"), .init("Link", "b")]
    }
    match.match.fields = [.init("A"), .init("B", values: ["1"])]
    let own = try CacheRules([match])
    let read = try JSONDecoder().decode(CacheRules.self, from: JSONEncoder().encode(own))
    #expect(read.rules.first?.match.fields.map(\.name).sorted() == ["A", "B"])
    let fields = read.rules.first?.setResponseFields?.map { "\($0.name) \($0.value)" }.sorted()
    #expect(fields == ["B c", "Link a", "Link b"])
  }

  @Test("The page for operators lists all parts of a match and all settings, with their phase")
  func page() throws {
    let lines = try Repository.text("Documentation/Operating/Rules.md").split(separator: "\n")
    func names(after heading: String) -> [[String]] {
      lines.drop { $0 != heading }.dropFirst().prefix { !$0.hasPrefix("## ") }.filter { $0.hasPrefix("| `") }
        .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " `")) } }
    }
    #expect(names(after: "## Match").map { $0[0] } == RuleSetting.matches.map(\.name))
    #expect(
      names(after: "## Settings").map { "\($0[0]) \($0[1])" }
        == RuleSetting.all.map { "\($0.name) \($0.phase)" })
  }

  // MARK: - Matching

  @Test(
    "A rule matches by host, path, method, field, cookie and parameter",
    arguments: [
      (#"{"path": "/a"}"#, "http://h.example/a", true), (#"{"path": "/a"}"#, "http://h.example/a?b", true),
      (#"{"path": "/a"}"#, "http://h.example/a/b", false), (#"{"path": "/a"}"#, "http://h.example/ab", false),
      (#"{"path": "/a*"}"#, "http://h.example/ab/c", true),
      (#"{"path": "/a/*"}"#, "http://h.example/ab", false),
      (#"{"path": "/long/prefix/*"}"#, "http://h.example/long/prefiy/a", false),
      (#"{"path": "/long/prefix/*"}"#, "http://h.example/long/prefix/", true),
      (#"{"path": "*.css"}"#, "http://h.example/x/y.css?v=1", true),
      (#"{"path": "*.css"}"#, "http://h.example/a.csss", false),
      (#"{"path": "/*/feed/*"}"#, "http://h.example/a/b/feed/c", true),
      (#"{"path": "/*/feed"}"#, "http://h.example/feed", false),
      (#"{"path": ["/a", "/b"]}"#, "http://h.example/b", true),
      (#"{"path": "*"}"#, "http://h.example/", true),
      // As origins read them.
      (#"{"path": "/admin/*"}"#, "http://h.example/%61dmin/x", true),
      (#"{"path": "/admin/*"}"#, "http://h.example//admin/x", true),
      (#"{"path": "/admin/*"}"#, "http://h.example/./admin/x", true),
      (#"{"path": "/admin/*"}"#, "http://h.example/a/../admin/x", true),
      (#"{"path": "/admin/*"}"#, "http://h.example/a/%2e%2E/admin/x", true),
      (#"{"path": "/admin/"}"#, "http://h.example/admin/x/..", true),
      (#"{"path": "/admin"}"#, "http://h.example/%61dmin?a=%2F", true),
      (#"{"path": "/a b"}"#, "http://h.example/a%20b", true),
      (#"{"path": "/%"}"#, "http://h.example/%2", false),
      (#"{"host": "h.example"}"#, "http://h.example/", true),
      (#"{"host": "H.Example"}"#, "http://h.EXAMPLE:8080/", true),
      (#"{"host": "h.example"}"#, "http://xh.example/", false), (#"{"host": "h"}"#, "http://h/", true),
      (#"{"host": "*.example"}"#, "http://h.example/", true),
      (#"{"host": "*.h.example"}"#, "http://h.example/", false),
      (#"{"host": "*.h.example"}"#, "http://a.b.h.example/", true),
      (#"{"host": ["a", "b.example"]}"#, "http://b.example:80/", true),
      (#"{"host": "a.example", "path": "/b"}"#, "http://a.example/c", false),
      (#"{"method": ["GET", "HEAD"]}"#, "http://h.example/", true),
      (#"{"method": "HEAD"}"#, "http://h.example/", false),
      (#"{"field": "X-A"}"#, "http://h.example/", true),
      (#"{"field": {"X-A": "2"}}"#, "http://h.example/", false),
      (#"{"field": {"x-a": ["2", "1"]}}"#, "http://h.example/", true),
      (#"{"field": ["X-B", "X-A"]}"#, "http://h.example/", true),
      (#"{"cookie": "session"}"#, "http://h.example/", true),
      (#"{"cookie": "sess*"}"#, "http://h.example/", true),
      (#"{"cookie": "ession"}"#, "http://h.example/", false),
      (#"{"cookie": ["x", "lang"]}"#, "http://h.example/", true),
      (#"{"parameter": "preview"}"#, "http://h.example/?a=1&preview", true),
      (#"{"parameter": "p*"}"#, "http://h.example/?pq=2", true),
      (#"{"parameter": "preview"}"#, "http://h.example/preview", false),
      (#"{"parameter": "preview"}"#, "http://h.example/?a&%70review=1", true),
      (#"{"parameter": "preview"}"#, "http://h.example/?+preview[]=1", true),
      (#"{"path": "/caf%C3%A9/*"}"#, "http://h.example/caf%c3%a9/x", true),
      (#"{"path": "/admin/*"}"#, "http://h.example/admin;x=1/y", true),
      (#"{"path": "/admin/*"}"#, "http://h.example/admin%5Cy", true),
      (#"{"path": "/wiki/*/edit"}"#, "http://h.example/wiki/What%3F/edit", true),
      (#"{"path": "/account/*"}"#, "http://h.example/account/..%2fstatic/a", true),
      (#"{"host": "h.example"}"#, "http://h.example.:80/", true),
    ])
  func matching(match: String, url: String, isMatched: Bool) throws {
    let rules = try Self.rules(#"[{"match": \#(match), "bypass": true}]"#)
    let table = try #require(RuleTable(rules, .init(kind: .shared)))
    #expect((table.ruled(try Self.request(url)) != nil) == isMatched)
    #expect(table.counts.all.map(\.requests) == [isMatched ? 1 : 0])
  }

  /// Paths that some origins take for another, and patterns that restrict it.
  private static let spellings: [(pattern: String, paths: [String])] = [
    (
      "/private",
      [
        "/private", "/private/", "/private//", "/private/.", "/private.", "/private/..;/private",
        "/private%2f", "/private%2F",
        "/private%2e", "/private%00", "/private%00.css", "/private/%00/../x", "/private%2500",
        "/private%252f", "/%2570rivate",
        "/Private", "/PRIVATE/", "/private?a", "/Private/?a", "/%50rivate", "/pRIVATE;a=1",
        "/a/..%2fPrivate%2f",
        "/private%0a", "/Private%0D%0A", "/private%20", "/private%09%00x", "/private%7f", "/private%3fx",
        "/private%23x",
        "/private%253fx", "/private/%3f/../x",
      ]
    ),
    ("/private/", ["/private", "/private/", "/PRIVATE", "/private.", "/private%00"]),
    ("/Private", ["/private", "/Private", "/private/", "/Private;a"]),
    ("/my%20account", ["/my%20account", "/My%20Account", "/MY%2520ACCOUNT/", "/My%20account%20"]),
    ("/", ["/", "//", "/.", "/%00", "/..", "/?a"]),
    (
      "/account/*",
      [
        "/%2561ccount/x", "/account/x", "/account", "/account/", "/Account/x", "/account%252fx", "/ACCOUNT",
        "/account.", "/account%2Fx",
      ]
    ),
    ("/Wiki/*/edit", ["/wiki/a/edit", "/Wiki/a/edit/", "/Wiki/A%2Fb/EDIT", "/wiki/a/edit%00"]),
    ("*/admin/*", ["/a/admin", "/a/Admin/b", "/a/admin/", "/admin", "/a/admin%2500x"]),
    ("*.php", ["/a.php", "/a.PHP", "/a.php/", "/a.php%00.css", "/a.php.", "/a%252ephp"]),
    ("/wp-login.php*", ["/wp-login.php", "/WP-Login.php/", "/wp-login.php%00"]),
  ]

  /// Settings that keep responses from others.
  private static let restrictions = [
    #""bypass": true"#, #""key-fields": "X-A""#, #""partition-cookie": "session""#,
    #""partition-field": "X-A""#,
  ]

  @Test(
    "A rule that restricts matches each path that some origin takes for its own", arguments: spellings,
    restrictions)
  func restricting(spelling: (pattern: String, paths: [String]), setting: String) throws {
    let rules = try Self.rules(#"[{"match": {"path": "\#(spelling.pattern)"}, \#(setting)}]"#)
    let table = try #require(RuleTable(rules, .init(kind: .shared)))
    for path in spelling.paths {
      #expect(table.ruled(try Self.request("http://h.example" + path)) != nil, "\(path)")
      #expect(table.matchingRules(try Self.request("http://h.example" + path)).map(\.rule) == rules.rules)
    }
    #expect(table.counts.all.map(\.requests) == [spelling.paths.count])
    for path in ["/x", "/privat", "/privatex", "/accountx/y", "/x%00/private", "/x/a/editor", "/a.phpx"] {
      let isOther = table.ruled(try Self.request("http://h.example" + path)) == nil
      #expect(isOther, "\(path)")
    }
  }

  @Test(
    "A rule that keeps nothing from others matches no such path",
    arguments: [
      #""lifetime": "1d""#, #""default-lifetime": "1d""#, #""bypass": false"#, #""share-private": true"#,
      #""ignore-query": "all""#,
    ])
  func strict(setting: String) throws {
    let rules = try Self.rules(#"[{"match": {"path": "/static"}, \#(setting)}]"#)
    let table = try #require(RuleTable(rules, .init(kind: .shared)))
    for path in [
      "/static/", "/static/.", "/static.", "/static%2f", "/static%00", "/Static", "/%2573tatic", "//static",
    ] {
      #expect(table.ruled(try Self.request("http://h.example" + path)) == nil, "\(path)")
    }
    #expect(table.ruled(try Self.request("http://h.example/%73tatic")) != nil)
  }

  @Test(
    "A rule that separates responses, and decides other things, decides these only for paths of all origins")
  func parts() throws {
    let rules = try Self.rules(
      #"[{"match": {"path": "/a/*"}, "key-fields": "X-A", "lifetime": "1d", "remove-cookies": "all"}]"#)
    let table = try #require(RuleTable(rules, .init(kind: .shared)))
    for (path, isStrict) in [("/a/b", true), ("/A/b", false), ("/x/..%2fa/b", false), ("/a", false)] {
      let request = try Self.request("http://h.example" + path)
      let ruled = try #require(table.ruled(request))
      #expect(!ruled.allowsPlainHits)
      #expect((ruled.rewritten(request).headerFields[.cookie] == nil) == isStrict)
      #expect(ruled.engine.configuration.ruling?.rules.isEmpty == !isStrict)
      let settings = RuleExplanation(of: request, by: rules, .init(kind: .shared)).rules.map {
        $0.settings.map(\.name)
      }
      #expect(settings == [isStrict ? ["lifetime", "remove-cookies", "key-fields"] : ["key-fields"]])
    }
    #expect(table.counts.all.map(\.requests) == [4])
  }

  @Test("No capital letter of a plain path is missed, eight bytes at a time", arguments: 0..<4)
  func capitals(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<2000 {
      let count = Int.random(in: 0..<40, using: &random)
      let path = (0..<count).map { _ in
        Int.random(in: 0..<20, using: &random) > 0
          ? UInt8(ascii: "a") : UInt8.random(in: .min ... .max, using: &random)
      }
      guard let (end, mayHaveCapitals) = path.span.plainPath else { continue }
      #expect(mayHaveCapitals || !path[..<end].contains { (0x41...0x5A).contains($0) }, "\(path)")
    }
  }

  @Test(
    "A rule that gives a lifetime matches a path only if all origins take it for that path",
    arguments: [
      ("/static/a", true), ("/%73tatic/a", true), ("/static/%C3%A9", true), ("/static/a?b=/../c", true),
      ("/account/..%2fstatic/a", false), ("/account/x%2F..%2F..%2Fstatic%2Fa", false),
      ("/account/../static/a", false),
      ("/account%3f/../static/a", false), ("/account;/..%2fstatic/a", false),
      ("/account%00/../static/a", false),
      ("//static/a", false), ("/static/../account", false), ("/static/..%2faccount", false),
      ("/static;x/a", false),
    ])
  func granting(path: String, isMatched: Bool) throws {
    let rules = try Self.rules(
      #"[{"match": {"path": "/static/*"}, "lifetime": "30d", "store-no-store": true}]"#)
    let table = try #require(RuleTable(rules, .init(kind: .shared)))
    #expect((table.ruled(try Self.request("http://h.example" + path)) != nil) == isMatched)
  }

  @Test(
    "Cookies and parameters are told apart by octets, whatever follows a separator",
    arguments: ["session=\u{301}x", "a=1;session=2", "a=\u{37E}; session", "session\t =1"])
  func octets(cookies: String) throws {
    let rules = try Self.rules(
      #"[{"match": {"cookie": "session"}, "bypass": true}, {"match": {"parameter": "preview"}, "bypass": true}]"#
    )
    let table = try #require(RuleTable(rules, .init(kind: .shared)))
    var request = HTTPRequest.get("/?a&preview=\u{301}")
    #expect(table.ruled(request)?.isBypassed == true)
    request = HTTPRequest.get("/", fields: [.cookie: cookies])
    #expect(table.ruled(request)?.isBypassed == true)
    request = HTTPRequest.get("/", fields: [.cookie: "a=1\u{37E}session=2"])
    #expect(table.ruled(request) == nil)
  }

  @Test("What was stored before a rule nominates a field answers no request that the rule concerns")
  func keyFieldsLater() async throws {
    let setting = try Setting(kind: .shared)
    let name = try #require(HTTPField.Name("X-Tenant"))
    let origin = MemoryOrigin { request, _ in .ok(request.headerFields[name] ?? "none") }
    #expect(try await setting.get(from: origin, fields: [name: "a"]).text == "a")
    #expect(try await setting.get(from: origin, fields: [name: "b"]).text == "a")
    setting.cache.cacheRules = try Self.rules(#"[{"key-fields": "X-Tenant"}]"#)
    #expect(try await setting.get(from: origin, fields: [name: "b"]).text == "b")
    #expect(try await setting.get(from: origin, fields: [name: "b"]).source == .hit)
    #expect(try await setting.get(from: origin, fields: [name: "a"]).text == "a")
  }

  @Test("A 304 has its fields removed by the rule of the response that it confirms")
  func validatedFields() async throws {
    let setting = try Setting(kind: .shared) {
      let json = #"[{"match": {"type": "text/html"}, "remove-response-fields": "Set-Cookie", "lifetime": 1}]"#
      $0.cacheRules = (try? Self.rules(json)) ?? CacheRules()
    }
    let origin = MemoryOrigin { _, number in
      .ok(
        "a",
        number == 1
          ? [.contentType: "text/html", .eTag: "\"a\""]
          : [.eTag: "\"a\"", .setCookie: "user=\(number)", .cacheControl: "public"],
        status: number == 1 ? .ok : .notModified)
    }
    _ = try await setting.get(from: origin)
    for _ in 0..<2 {
      setting.clock.advance(seconds: 2)
      let answer = try await setting.get(from: origin)
      #expect(answer.source == .validated && answer.response.head.headerFields[.setCookie] == nil)
    }
  }

  @Test("A rule gives the response of a handler its lifetime")
  func localLifetime() async throws {
    let setting = try Setting(kind: .shared) {
      $0.cacheRules = (try? Self.rules(#"[{"default-lifetime": "1m"}]"#)) ?? CacheRules()
    }
    let origin = MemoryOrigin { _, number in .ok("\(number)", [:]) }
    for _ in 0..<2 {
      let answer = try await setting.cache.respond(
        to: .get(), body: .empty, partition: nil, from: LocalOrigin(), handler: origin.transport)
      #expect(try await answer.text == "1")
    }
  }

  static func request(_ url: String) throws -> HTTPRequest {
    let target = try #require(TargetURI(absolute: url))
    // The authority as the client wrote it.
    let authority = url.dropFirst(7).prefix { $0 != "/" }
    var request = HTTPRequest(
      method: .get, scheme: target.scheme, authority: String(authority), path: target.path)
    request.headerFields[try #require(HTTPField.Name("X-A"))] = "1"
    request.headerFields[.cookie] = "lang=de; session=1"
    return request
  }

  /// Whether a text is like a pattern in which `*` stands for any text, in the plainest way.
  static func isLike(_ text: Substring, _ pattern: Substring) -> Bool {
    guard let first = pattern.first else { return text.isEmpty }
    if first != "*" { return text.first == first && isLike(text.dropFirst(), pattern.dropFirst()) }
    return text.indices.contains { isLike(text[$0...], pattern.dropFirst()) }
      || isLike("", pattern.dropFirst())
  }

  /// What `endOfPlainPath` says, byte by byte.
  static func endOfPlainPath(_ path: [UInt8]) -> Int? {
    for (position, byte) in path.enumerated() {
      if byte == UInt8(ascii: "?") { return position }
      if "%\\;".utf8.contains(byte) { return nil }
      let isAfterSlash = position > 0 && path[position - 1] == UInt8(ascii: "/")
      if isAfterSlash, "/.".utf8.contains(byte) { return nil }
    }
    return path.count
  }

  @Test("Where a plain path ends is found eight bytes at a time as byte by byte", arguments: 0..<4)
  func plainPaths(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<2000 {
      // Long runs of what ends no path, so that the rest is at each place of a word.
      let count = Int.random(in: 0..<40, using: &random)
      let path = (0..<count).map { _ in
        Int.random(in: 0..<12, using: &random) > 0
          ? UInt8(ascii: "a") : Array("/.?%\\;\u{0}\u{FE}>/".utf8).randomElement(using: &random) ?? 0
      }
      #expect(path.span.endOfPlainPath == Self.endOfPlainPath(path), "\(path)")
    }
  }

  @Test("A hundred rules match like a plain comparison of each", arguments: 0..<8)
  func manyRules(seed: Int) throws {
    var random = SplitMix64(seed: UInt64(seed))
    func pick(_ texts: [String]) -> String { texts.randomElement(using: &random) ?? "" }
    let pieces = [
      "/", "/a", "/ab", "/abcdefgh", "/abcdefghi", "/*", "*", "/a*", "/abcdefgh*", "*b", "/a*b*c", "/s/*",
    ]
    let hosts = ["a.example", "b.example", "*.example", "www.long-name.example", "*.long-name.example", "x"]
    var list: [CacheRule] = []
    for _ in 0..<100 {
      let host = Bool.random(using: &random) ? [] : [pick(hosts)]
      list.append(CacheRule(hosts: host, paths: [pick(pieces), pick(pieces)]) { $0.reload = .ignore })
    }
    let table = try #require(RuleTable(CacheRules(list), .init(kind: .shared)))
    for _ in 0..<50 {
      let host = pick(["a.example", "www.long-name.example", "x", "long-name.example"])
      let path = pick(["/", "/a", "/ab", "/abcdefgh", "/abcdefghi/j", "/a/b/c", "/s/a.b", "/xb"])
      let set = table.matching(try Self.request("http://\(host)\(path)"))
      let expected = list.indices.filter { index in
        (list[index].match.hosts.isEmpty
          || list[index].match.hosts.contains { Self.isLike(host[...], $0[...]) })
          && list[index].match.paths.contains { Self.isLike(path[...], $0[...]) }
      }
      #expect(list.indices.filter { set.contains($0) } == expected, "\(host)\(path)")
    }
  }

  // MARK: - In a cache

  @Test("The rules of a cache may be exchanged: what is decided for a hit changes at once")
  func exchange() async throws {
    let setting = try Setting(kind: .shared) {
      $0.cacheRules = (try? Self.rules(#"[{"name": "a", "lifetime": "10s"}]"#)) ?? CacheRules()
    }
    let origin = MemoryOrigin { _, number in .ok("\(number)", [:]) }
    #expect(try await setting.get(from: origin).text == "1")
    #expect(try await setting.get(from: origin).reason == .freshByRule)
    #expect(setting.cache.ruleCounts.map(\.requests) == [2])
    setting.clock.advance(seconds: 11)
    setting.cache.cacheRules = try Self.rules(#"[{"name": "a", "grace": "1h"}]"#)
    #expect(try await setting.get(from: origin).reason == .staleByRule)
    setting.cache.cacheRules = try Self.rules(#"[{"name": "b", "bypass": true}]"#)
    #expect(try await setting.get(from: origin).response.reason == .fromOrigin)
    #expect(setting.cache.ruleCounts.map(\.name) == ["b"])
    setting.cache.cacheRules = CacheRules()
    #expect(setting.cache.ruleCounts.isEmpty)
  }

  @Test("A purge of a URL finds what a rule stored under a shorter one")
  func purge() async throws {
    let setting = try Setting(kind: .shared) {
      $0.cacheRules =
        (try? Self.rules(#"[{"match": {"path": "/a"}, "ignore-query": "all"}]"#)) ?? CacheRules()
    }
    let origin = MemoryOrigin { _, number in .ok("\(number)") }
    #expect(try await setting.get("/a?b=1", from: origin).text == "1")
    #expect(try await setting.get("/a?c=2", from: origin).text == "1")
    setting.cache.remove(.target(of: .get("/a?d=3")))
    #expect(try await setting.get("/a?b=1", from: origin).text == "2")
    #expect(
      try await setting.get("/b?b=1", from: origin).text
        != (try await setting.get("/b?b=2", from: origin).text))
  }

  @Test("A rule names the fields of tags: a purge by tag removes the response, and no client sees the field")
  func tags() async throws {
    let setting = try Setting(kind: .shared) {
      $0.cacheRules =
        (try? Self.rules(#"[{"match": {"path": "/a"}, "tags": "Surrogate-Key"}]"#)) ?? CacheRules()
    }
    let name = try #require(HTTPField.Name("Surrogate-Key"))
    let origin = MemoryOrigin { _, number in .ok("\(number)", [.cacheControl: "max-age=60", name: "x y"]) }
    for _ in 0..<2 {
      let answer = try await setting.get("/a", from: origin)
      #expect(answer.text == "1" && answer.response.head.headerFields[name] == nil)
    }
    #expect(try await setting.get("/b", from: origin).response.head.headerFields[name] == "x y")
    setting.cache.remove(.group("y"))
    #expect(try await setting.get("/a", from: origin).text == "3")
    #expect(try await setting.get("/b", from: origin).text == "2")
  }

  @Test(
    "Reloads that arrive during a validation wait for its result, as configured",
    arguments: CacheEngine.ReloadUse.allCases, ["no-cache", "max-age=0", "min-fresh=1000"])
  func reloads(use: CacheEngine.ReloadUse, directive: String) async throws {
    let setting = try Setting(kind: .shared) { $0.rules.reload = use }
    let (first, gate) = (Gate(), Gate())
    first.open()
    let origin = MemoryOrigin(holding: [first, gate], each: 1) { request, number in
      request.headerFields[.ifNoneMatch] == nil
        ? .ok("\(number)", [.cacheControl: "max-age=60", .eTag: "\"a\""])
        : .ok("", [.eTag: "\"a\"", .cacheControl: "max-age=60"], status: .notModified)
    }
    _ = try await setting.get(from: origin)
    let reloads = (0..<20).map { _ in
      Task { try await setting.get(from: origin, fields: [.cacheControl: directive]) }
    }
    switch use {
    case .validateOnce: try await setting.cache.fetches.followers(19)
    case .honor: try await origin.reach(21)
    case .ignore: break
    }
    gate.open()
    for reload in reloads { #expect(try await reload.value.text == "1") }
    #expect(origin.requests.count == (use == .honor ? 21 : use == .validateOnce ? 2 : 1))
  }

  @Test("Content of unknown length is not stored beyond a rule's maximum, and reaches the client")
  func maximumSize() async throws {
    let setting = try Setting(kind: .shared) {
      $0.cacheRules = (try? Self.rules(#"[{"maximum-size": 3}]"#)) ?? CacheRules()
    }
    let origin = MemoryOrigin { _, number in
      TransportResponse(
        head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"]),
        body: MessageBody(inPieces: String(repeating: "\(number)", count: number < 3 ? 4 : 3).utf8))
    }
    #expect(try await setting.get(from: origin).text == "1111")
    #expect(try await setting.get(from: origin).text == "2222")
    #expect(try await setting.get(from: origin).text == "333")
    #expect(try await setting.get(from: origin).text == "333")
    #expect(setting.log.reasons(.notStored) == [.tooLarge, .tooLarge])
  }

  @Test("A handler's response begins to age when it is made, and a reload does not run the handler")
  func localOrigin() async throws {
    let setting = try Setting(kind: .shared)
    let clock = setting.clock
    let origin = MemoryOrigin { _, number in
      clock.advance(seconds: 5)
      return .ok("\(number)", [.cacheControl: "max-age=3"])
    }
    func get(_ fields: HTTPFields = [:]) async throws -> String {
      try await setting.cache.respond(
        to: .get(fields: fields), body: .empty, partition: nil, from: LocalOrigin(),
        handler: origin.transport
      ).text
    }
    #expect(try await get() == "1")
    #expect(try await get() == "1")
    #expect(try await get([.cacheControl: "no-cache"]) == "1")
  }
}
