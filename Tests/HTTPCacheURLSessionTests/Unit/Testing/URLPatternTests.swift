// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheTesting
import Testing

@Suite("URL patterns", .timeLimit(.minutes(10)))
struct URLPatternTests {
  @Test(
    "A pattern matches the expected URLs and returns its named parts",
    arguments: [
      ("https://a.test/", "https://a.test/", [:]), ("https://a.test", "https://a.test/", [:]),
      ("HTTPS://A.test:443/x", "https://a.test/x", [:]), ("https://a.test/x", "https://a.test/y", nil),
      ("https://a.test/x", "http://a.test/x", nil), ("/x", "http://any.test/x", [:]),
      ("https://a.test/users/{id}", "https://a.test/users/7", ["id": "7"]),
      ("https://a.test/users/{id}", "https://a.test/users/a%20b", ["id": "a b"]),
      ("https://a.test/users/{id}", "https://a.test/users/", nil),
      ("https://a.test/users/{id}", "https://a.test/users/7/x", nil),
      ("/{a}/{b}.json", "https://a.test/x/y.z.json", ["a": "x", "b": "y.z"]),
      ("/a/*/c", "https://a.test/a/b/c", [:]), ("/a/*/c", "https://a.test/a/b/b/c", nil),
      ("/a/**", "https://a.test/a/b/b/c", [:]), ("**/c", "https://a.test/a/c", [:]),
      ("https://*.test/**", "https://a.b.test/x", [:]),
      ("https://{host}/", "https://a.test/", ["host": "a.test"]),
      ("/x", "https://a.test/x?any=1", [:]), ("/x?", "https://a.test/x?any=1", nil),
      ("/x?", "https://a.test/x", [:]),
      ("/x?page={page}", "https://a.test/x?sort=a&page=2", ["page": "2"]),
      ("/x?page={page}", "https://a.test/x?page=", nil), ("/x?page=*", "https://a.test/x?page=", [:]),
      ("/x?page=2&sort=a", "https://a.test/x?sort=a&page=2", [:]), ("/x?page=2", "https://a.test/x", nil),
      ("/x?flag", "https://a.test/x?flag", [:]), ("/{", "https://a.test/{", [:]),
      ("/{}", "https://a.test/{}", [:]), ("/{a}{b}", "https://a.test/xyz", ["a": "xy", "b": "z"]),
      ("/{a}-{a}", "https://a.test/x-y-z", ["a": "x-y"]), ("/{a}/*", "https://a.test/x/", ["a": "x"]),
      ("/**/{a}", "https://a.test/x/y/z", ["a": "z"]), ("/**{a}/z", "https://a.test/x/yy/z", ["a": "yy"]),
      ("/*{a}b*", "https://a.test/xxbxb", ["a": "xxbx"]), ("/{a}**", "https://a.test/x/y", ["a": "x"]),
      ("/{a}b", "https://a.test/b", nil), ("/a*", "https://a.test/a", [:]), ("/a*", "https://a.test/", nil),
    ] as [(String, String, [String: String]?)])
  func matching(pattern: String, url: String, found: [String: String]?) throws {
    let asked = try #require(request(url))
    let target = try #require(TargetURI(asked))
    #expect(URLPattern(pattern).match(target) == found)
  }

  @Test("A pattern designed for excessive backtracking still returns its result", arguments: ["*a", "{x}a"])
  func bounded(part: String) {
    let pattern = URLPattern("/" + String(repeating: part, count: 30) + "b")
    func match(_ end: String) -> [String: String]? {
      pattern.match(
        TargetURI(
          scheme: "https", authority: "a.test", path: "/" + String(repeating: "a", count: 4000) + end))
    }
    #expect(match("") == nil)
    #expect(match("b") != nil)
  }
}
