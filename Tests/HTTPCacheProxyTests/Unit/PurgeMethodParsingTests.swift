// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheEngine
import HTTPCaching
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("What a PURGE request selects", .timeLimit(.minutes(10)))
struct PurgeMethodParsingTests {
  private func purge(
    _ path: String, _ lines: [String], host: String = "shop.example"
  ) throws(MessageFault) -> Purge {
    var request = HTTPRequest(
      method: HTTPRequest.Method("PURGE") ?? .get, scheme: "http", authority: host, path: path)
    for line in lines {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard let name = parts.first.flatMap({ HTTPField.Name(String($0)) }) else { continue }
      request.headerFields.append(
        HTTPField(name: name, value: String((parts.count == 2 ? parts[1] : "").drop { $0 == " " })))
    }
    return try Purge(request)
  }

  private static func target(_ path: String, host: String = "shop.example") -> TargetURI {
    TargetURI(scheme: "http", authority: host, path: path)
  }

  @Test(
    "A target is a URL, a beginning or a pattern",
    arguments: [
      ("/a?b", [], .target(target("/a?b"))), ("/a.b", [], .target(target("/a.b"))),
      ("/a?b", ["X-Purge-Method: default"], .target(target("/a?b"))),
      ("/a*b.*", ["X-Purge-Method: exact"], .target(target("/a*b.*"))),
      ("/a", ["X-Purge-Method: EXACT", "X-Purge-Host: b.example"], .target(target("/a", host: "b.example"))),
      ("/blog/*", [], .patterns([.prefix("http://shop.example/blog/")])),
      ("/*", [], .patterns([.prefix("http://shop.example/")])),
      ("/search?q=*", [], .patterns([.prefix("http://shop.example/search?q=")])),
      ("/.*", [], .patterns([.glob("http://shop.example/*")])),
      ("/blog/.*", ["X-Purge-Method: default"], .patterns([.glob("http://shop.example/blog/*")])),
      ("/.*", ["X-Purge-Method: regex"], .patterns([.glob("http://shop.example/*")])),
      ("/a/.*/b.c", ["X-Purge-Method: regex"], .patterns([.glob("http://shop.example/a/*/b?c*")])),
      ("/a$", ["X-Purge-Method: regex"], .patterns([.glob("http://shop.example/a")])),
      ("/a", ["X-Purge-Method: regex"], .patterns([.glob("http://shop.example/a*")])),
      (
        "/.*", ["X-VC-Purge-Method: regex", "X-VC-Purge-Host: b.example:81"],
        .patterns([.glob("http://b.example:81/*")])
      ),
    ] as [(String, [String], HTTPCache.Selection)])
  func targets(path: String, lines: [String], selection: HTTPCache.Selection) throws {
    #expect(try purge(path, lines).selections == [selection])
    #expect(try purge(path, lines + ["User-Agent: x", "Surrogate-Capability: y"]).selections == [selection])
    #expect(try !purge(path, lines).isSoft && purge(path, lines + ["Soft-Purge: 1"]).isSoft)
  }

  @Test(
    "Fields name tags, on all hosts or on one",
    arguments: [
      (["Surrogate-Key: a b"], ["a", "b"]), (["xkey: a, b", "xkey: c"], ["a", "b", "c"]),
      (["Cache-Tag: a b,c"], ["a b", "c"]), (["xkey-purge: a"], ["a"]), (["Edge-Cache-Tag: a"], ["a"]),
      (["Surrogate-Key: a", "Cache-Tag: b"], ["a", "b"]), (["X-Pool: blue-2"], ["blue-2"]),
      (["X-Magento-Tags-Pattern: ((^|,)cat_p_1(,|$))"], ["cat_p_1"]),
      (["X-Magento-Tags-Pattern: ((^|,)cat_c(,|$))|((^|,)cms_b_a.b-c(,|$))"], ["cat_c", "cms_b_a.b-c"]),
      (["X-Magento-Tags-Pattern: ((^|,)a(,|$))", "X-Pool: blue"], ["a", "blue"]),
    ])
  func tags(lines: [String], tags: [String]) throws {
    #expect(try purge("/", lines).selections == [.groups(tags)])
    #expect(try purge("/any/*", lines + ["Fastly-Soft-Purge: 1"]).isSoft)
    #expect(
      try purge("/", lines + ["X-Purge-Host: b.example"]).selections
        == tags.map { .group($0, of: Self.target("/", host: "b.example")) })
  }

  @Test("A purge of tags is soft if its field says so, and finds tags in either spelling")
  func otherTags() throws {
    #expect(
      try purge("/", ["xkey-softpurge: a"])
        == Purge(selections: [.groups(["a"])], isSoft: true, description: "tag a"))
    #expect(try purge("/", ["xkey: é"]).selections.count == 1)
    #expect(try purge("/", ["X-Magento-Tags-Pattern: .*"]).selections == [.all])
    #expect(
      try purge("/", ["X-Magento-Tags-Pattern: .*", "X-Purge-Host: b.example"]).selections
        == [.origin(of: Self.target("/", host: "b.example"))])
  }

  @Test(
    "What is not understood is refused with 400, and the answer says what is supported",
    arguments: [
      ("/a*b", [], "X-Purge-Method: exact"), ("/*/b", [], "X-Purge-Method: exact"),
      ("/a**", [], "X-Purge-Method: exact"), ("/(a|b)/.*", [], "other regular expressions"),
      ("/(", ["X-Purge-Method: regex"], "other regular expressions"),
      ("/[a-z]+", ["X-Purge-Method: regex"], "other regular expressions"),
      ("/a?b", ["X-Purge-Method: regex"], "other regular expressions"),
      ("/a*", ["X-Purge-Method: regex"], "other regular expressions"),
      ("/a$b", ["X-Purge-Method: regex"], "other regular expressions"),
      ("/a", ["X-Purge-Method: wildcard"], "exact, default or regex"),
      ("/a", ["X-Purge-Method: exact", "X-Purge-Method: regex"], "exact, default or regex"),
      ("/a", ["X-Purge-Method: "], "exact, default or regex"),
      ("/a", ["X-Purge-Host: "], "a host"), ("/a", ["X-Purge-Host: a/b"], "a host"),
      ("/a", ["X-Purge-Host: u@b.example"], "a host"),
      ("/a", ["X-Purge-Host: a.example", "X-Purge-Host: b.example"], "one host"),
      ("/a", ["X-Purge-Regex: .*"], "X-Purge-Regex of PURGE is not supported"),
      ("/a", ["X-VC-Purge-Key: secret"], "X-VC-Purge-Key of PURGE is not supported"),
      ("/a", ["X-Cache-Tags: a"], "not supported"), ("/a", ["X-Drupal-Cache-Tags: a"], "not supported"),
      ("/a", ["X-Magento-Tags: a"], "not supported"), ("/a", ["Surrogate-Keys: a"], "not supported"),
      ("/a", ["X-Xkey: a"], "not supported"), ("/a", ["Cache-Groups: \"a\""], "not supported"),
      ("/a", ["X-Ban-Url: /a"], "not supported"), ("/a", ["Surrogate-Control: x"], "not supported"),
      ("/a", ["Surrogate-Key: "], "expected a tag"), ("/a", ["Cache-Tag: , "], "expected a tag"),
      ("/a", ["Surrogate-Key: a", "X-Purge-Method: default"], "remove X-Purge-Method"),
      ("/a", ["Soft-Purge: 0"], "expected 1"), ("/a", ["Fastly-Soft-Purge: yes"], "expected 1"),
      ("/a", ["X-Pool: a|b"], "name of a pool"), ("/a", ["X-Pool: .*"], "name of a pool"),
      ("/", ["X-Magento-Tags-Pattern: cat_p_1"], "((^|,)TAG(,|$))"),
      ("/", ["X-Magento-Tags-Pattern: "], "((^|,)TAG(,|$))"),
      ("/", ["X-Magento-Tags-Pattern: ((^|,)a|b(,|$))"], "((^|,)TAG(,|$))"),
      ("/", ["X-Magento-Tags-Pattern: ((^|,)(,|$))"], "((^|,)TAG(,|$))"),
      ("/", ["X-Magento-Tags-Pattern: ((^|,)a(,|$))|"], "((^|,)TAG(,|$))"),
      ("/", ["X-Magento-Tags-Pattern: ((^|,)a(,|$))((^|,)b(,|$))"], "((^|,)TAG(,|$))"),
      ("/", ["X-Magento-Tags-Pattern: ((^|,)a.*(,|$))"], "((^|,)TAG(,|$))"),
      ("/", ["X-Magento-Tags-Pattern: .+"], "((^|,)TAG(,|$))"),
    ])
  func refused(path: String, lines: [String], text: String) {
    do {
      let read = try purge(path, lines)
      Issue.record("\(read)")
    } catch {
      #expect(error.status == 400 && error.reason.contains(text), "\(error)")
    }
  }

  @Test(
    "More tags than a request may have are refused in the same way",
    arguments: [("Surrogate-Key", 1000, []), ("xkey-softpurge", 100, ["X-Purge-Host: b.example"])]
      as [(field: String, limit: Int, others: [String])])
  func tooManyTags(field: String, limit: Int, others: [String]) {
    let tags = (0...limit).map { "t\($0)" }.joined(separator: " ")
    refused(path: "/", lines: ["\(field): \(tags)"] + others, text: "at most \(limit) tags")
  }

  // MARK: - Any text

  @Test("Whatever is read of Magento's pattern is written as the same text again")
  func magento() {
    var numbers = SplitMix64(seed: 5)
    let pieces = ["((^|,)", "(,|$))", "|", "cat_p_1", "a.b", ".*", "(", ")", ",", " ", "\\", "é"]
    var read = 0
    for _ in 0..<usually(20_000, long: 2_000_000) {
      let text = (0..<Int.random(in: 0...7, using: &numbers)).map { _ in
        pieces[Int.random(in: 0..<pieces.count, using: &numbers)]
      }.joined()
      guard case .tags(let tags) = MagentoPattern(text) else { continue }
      read += 1
      #expect(tags.map { "((^|,)\($0)(,|$))" }.joined(separator: "|") == text)
      #expect(tags.allSatisfy { MagentoPattern.isTag($0) })
    }
    #expect(read > 0)
  }

  @Test("The glob of a regular expression matches what that matches from the start of a path")
  func expressions() throws {
    var numbers = SplitMix64(seed: 6)
    let (pieces, letters) = (["/", "a", "b", ".", ".*", "$", "*", "?", "(", "-"], ["/", "a", "b", "-", "x"])
    func text(_ pieces: [String], _ numbers: inout SplitMix64) -> String {
      "/"
        + (0..<Int.random(in: 0...5, using: &numbers)).map { _ in
          pieces[Int.random(in: 0..<pieces.count, using: &numbers)]
        }.joined()
    }
    var (read, matched) = (0, 0)
    for _ in 0..<usually(400, long: 40_000) {
      let expression = text(pieces, &numbers)
      guard let glob = PathPattern.glob(expression) else { continue }
      read += 1
      let regex = try Regex(expression)
      for _ in 0..<20 {
        let path = text(letters, &numbers)
        let isMatch = try regex.prefixMatch(in: path) != nil
        #expect(TargetPattern.glob(glob).matches(path) == isMatch, "\(expression) \(glob) \(path)")
        if isMatch { matched += 1 }
      }
    }
    #expect(read > 50 && matched > 50)
  }

  @Test(
    "The answer to a purge says how far it has reached",
    arguments: [
      (nil, "Removed 2 responses.\n"), (.everywhere, "Removed 2 responses here, and all nodes"),
      (.logged, "Removed 2 responses here; some nodes"),
      (.here, "Removed 2 responses here only: the shared tier, or the process that has the directory,"),
    ] as [(HTTPCache.RemovalReach?, String)])
  func reach(reach: HTTPCache.RemovalReach?, text: String) {
    #expect(Purge(selections: [.all], description: "all").text(2, reach).hasPrefix(text))
  }
}
