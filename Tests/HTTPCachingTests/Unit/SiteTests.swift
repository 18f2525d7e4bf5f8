// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Sites: which requests belong together", .timeLimit(.minutes(10)))
struct SiteTests {
  /// By their positions.
  private static let scopes = [
    SiteScope(hosts: ["a.example", "WWW.A.example"]), SiteScope(hosts: ["a.example"], paths: ["/api"]),
    SiteScope(hosts: ["a.example"], paths: ["/api/v2/"]), SiteScope(hosts: ["*.b.example"]),
    SiteScope(hosts: ["*.c.b.example", "b.example"], paths: ["/x"]), SiteScope(paths: ["/common"]),
    SiteScope(hosts: ["a.example"], paths: ["/.well-known"]),
  ]

  @Test(
    "A request belongs to the site with its host, or with the longest end of it, and there to the longest path",
    arguments: [
      ("a.example", "/", 0), ("A.EXAMPLE", "/", 0), ("a.example.", "/", 0), ("a.example:8080", "/x?y", 0),
      ("www.a.example", "/api", 0), ("b.a.example", "/", nil), ("xa.example", "/", nil),
      // Paths are compared by segments, as origins read them.
      ("a.example", "/api", 1), ("a.example", "/api?x", 1), ("a.example", "/api/", 1),
      ("a.example", "/apis", 0), ("a.example", "/API", 0), ("a.example", "/api/v2", 2),
      ("a.example", "/api/v2/x", 2), ("a.example", "/api/v20", 1), ("a.example", "//api/x", 1),
      ("a.example", "/x/../api/x", 1), ("a.example", "/%61pi/x", 1), ("a.example", "/api%2Fv2", 2),
      ("a.example", "/api/../x", 0), ("a.example", "/api;v=1/v2", 2), ("a.example", "*", 0),
      ("a.example", "/x?/api/", 0), ("a.example", "/api\\x", 1), ("a.example", "/api;x/y", 1),
      ("a.example", "/.well-known/acme", 6), ("a.example", "/.well-known", 6),
      // The longest end with this path decides.
      ("x.b.example", "/x", 3), ("c.b.example", "/x", 3), ("x.c.b.example", "/x", 4),
      ("x.c.b.example", "/y", 3), ("b.example", "/x/y", 4), ("b.example", "/y", nil),
      (".b.example", "/", nil),
      // Others may have a part of all hosts.
      ("else.example", "/common/1", 5), ("b.example", "/common", 5), ("a.example", "/common", 0),
      ("else.example", "/", nil), ("", "/", nil), ("", "/common", 5), ("[::1]:80", "/common", 5),
      ("[::1]", "/", nil), ("192.0.2.1:80", "/", nil),
    ] as [(String, String, Int?)])
  func choice(authority: String, path: String, scope: Int?) {
    let table = SiteTable(Self.scopes)
    #expect(table.candidates(ofAuthority: authority).scope(ofPath: path) == scope)
  }

  @Test("A site for the rest has what no other has, and without sites a request has none")
  func rest() {
    let table = SiteTable([SiteScope(), SiteScope(hosts: ["a.example"])])
    #expect(table.scope(ofAuthority: "a.example", path: "/") == 1)
    #expect(table.scope(ofAuthority: "b.example", path: "/") == 0)
    #expect(table.scope(ofAuthority: "", path: "*") == 0)
    #expect(SiteTable().scope(ofAuthority: "a.example", path: "/") == nil)
  }

  @Test(
    "Sites between which a request could not choose, and hosts and paths that no request has, are faults",
    arguments: [
      (
        [SiteScope(hosts: ["a.example"]), SiteScope(hosts: ["A.example"])],
        "two: 'a.example' belongs to one already"
      ),
      ([SiteScope(), SiteScope()], "two: '*' belongs to one already"),
      (
        [SiteScope(hosts: ["a"], paths: ["/x"]), SiteScope(hosts: ["a"], paths: ["/x/"])],
        "two: 'a/x' belongs to one already"
      ),
      ([SiteScope(hosts: ["a", "a"])], "one: 'a' is there twice; remove one"),
      (
        [SiteScope(hosts: ["a"]), SiteScope(hosts: ["a:80"])],
        "two: host: expected a host without scheme and port"
      ),
      ([SiteScope(hosts: ["a.*.example"])], "one: host: `*` may only be the first label"),
      ([SiteScope(hosts: ["münchen.example"])], "one: host: expected a name of ASCII"),
      ([SiteScope(hosts: [".a.example"])], "one: host: expected a.example, *.a.example, or a list of both"),
      ([SiteScope(hosts: ["a.example."])], "one: host: expected letters, digits, - and single dots"),
      ([SiteScope(hosts: ["*."])], "one: host: expected letters"),
      ([SiteScope(hosts: ["a b"])], "found 'a b'"),
      ([SiteScope(hosts: ["~^www$"])], "found '~^www$'"), ([SiteScope(hosts: ["a,b"])], "found 'a,b'"),
      ([SiteScope(paths: ["x"])], "one: path: expected the first segments of paths"),
      ([SiteScope(paths: ["/x*"])], "found '/x*'"), ([SiteScope(paths: ["/x?y"])], "found '/x?y'"),
      ([SiteScope(paths: ["/a//b"])], "found '/a//b'"), ([SiteScope(paths: ["/a/../b"])], "found '/a/../b'"),
      ([SiteScope(paths: ["/%61"])], "found '/%61'"), ([SiteScope(paths: [""])], "found ''"),
    ] as [([SiteScope], String)])
  func faults(scopes: [SiteScope], text: String) throws {
    let fault = try #require(SiteTable(scopes).fault(["one", "two"]))
    #expect(fault.text.contains(text), "\(fault)")
    #expect(["one", "two"][fault.scope] == fault.text.prefix(3))
    #expect(
      SiteTable([SiteScope(hosts: ["a"]), SiteScope(hosts: ["a"], paths: ["/x"])]).fault(["", ""]) == nil)
  }

  // MARK: - Rules

  private static func rules() throws -> CacheRules {
    CacheRules(
      sites: [
        (
          "shop", SiteScope(hosts: ["shop.test"]),
          try RuleTests.rules(
            #"[{"match": {"path": "/s/*"}, "lifetime": "1h"}, {"name": "g", "grace": "1m"}]"#)
        ),
        (
          "api", SiteScope(hosts: ["shop.test"], paths: ["/api"]), try RuleTests.rules(#"[{"bypass": true}]"#)
        ),
        ("rest", SiteScope(), CacheRules()),
      ], others: try RuleTests.rules(#"[{"lifetime": "5s", "grace": "9s"}]"#))
  }

  @Test(
    "The rules of a site are for its requests only, and come before those for all",
    arguments: [
      ("shop.test", "/s/1", ["shop: rule 1", "shop: g", "rule 1"], "shop"),
      ("shop.test", "/", ["shop: g", "rule 1"], "shop"),
      ("shop.test", "/api/1", ["api: rule 1", "rule 1"], "api"),
      ("shop.test", "//api/1", ["api: rule 1", "rule 1"], "api"),
      ("else.test", "/s/1", ["rule 1"], "rest"),
    ])
  func siteRules(authority: String, path: String, names: [String], site: String) throws {
    let rules = try Self.rules()
    let request = HTTPRequest(method: .get, scheme: "https", authority: authority, path: path)
    let explanation = RuleExplanation(of: request, by: rules, .init(kind: .shared))
    #expect(explanation.rules.map(\.name) == names)
    #expect(rules.site(of: request) == site)
    if names.count == 3 {
      // The first rule that names a setting decides.
      #expect(explanation.rules.last?.settings.isEmpty == true)
    }
  }

  @Test("Rules with other sites are other rules")
  func equality() throws {
    let rules = try Self.rules()
    #expect(try rules == Self.rules())
    let sites = [("shop", SiteScope(hosts: ["a.test"]), CacheRules())]
    let same = [("shop", SiteScope(hosts: ["b.test"]), CacheRules())]
    #expect(CacheRules(sites: sites, others: rules) != CacheRules(sites: same, others: rules))
    #expect(rules.site(of: HTTPRequest(method: .get, scheme: "https", authority: nil, path: "/")) == "rest")
  }

  // MARK: - Purging

  private static let table = SiteTable([
    SiteScope(hosts: ["a.test"]), SiteScope(hosts: ["a.test"], paths: ["/api"]), SiteScope(),
  ])
  private static let urls = [
    "https://a.test/", "http://a.test/1?x", "https://a.test:8443/1", "https://a.test/api/1",
    "https://b.test/",
    "https://b.test/api",
  ]

  @Test(
    "A purge of a site removes or expires its responses and no others",
    arguments: [(0, [0, 1, 2]), (1, [3]), (2, [4, 5])], [false, true])
  func purge(purged: (site: Int, urls: [Int]), isSoft: Bool) async throws {
    let cache = try HTTPCache(.init(kind: .shared, memoryCapacity: 1 << 20))
    let origin = MemoryOrigin { _, number in .ok("\(number)", [.cacheControl: "max-age=600"]) }
    func get(_ url: String) async throws -> CachedResponse.Source {
      let target = try #require(TargetURI(absolute: url))
      let request = HTTPRequest(
        method: .get, scheme: target.scheme, authority: target.authority, path: target.path)
      let response = try await cache.respond(to: request, transport: origin.transport)
      for try await _ in response.body {}
      return response.source
    }
    for url in Self.urls { _ = try await get(url) }
    let selection = HTTPCache.Selection.site(purged.site, in: Self.table)
    let result = isSoft ? cache.expire(selection) : cache.remove(selection)
    #expect(result.count == purged.urls.count)
    for (index, url) in Self.urls.enumerated() {
      let source = try await get(url)
      #expect((source == .hit) == !purged.urls.contains(index), "\(url) \(source)")
    }
  }
}
