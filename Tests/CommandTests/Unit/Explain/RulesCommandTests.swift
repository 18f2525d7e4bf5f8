// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import HTTPCaching
import TestSupport
import Testing

@testable import httpcache

@Suite("httpcache rules", .timeLimit(.minutes(10)))
struct RulesCommandTests {
  /// The examples of the page, by their place.
  static let examples = examples(of: "Documentation/Operating/Rules.md")

  static func examples(of path: String) -> [String] {
    let page = (try? Repository.text(path)) ?? ""
    return page.components(separatedBy: "```yaml\n").dropFirst().map {
      String($0.prefix(upTo: $0.firstRange(of: "```")?.lowerBound ?? $0.endIndex))
    }
  }

  @Test("Each example of the page is a valid configuration file with rules", arguments: examples)
  func pageExamples(text: String) throws {
    let file = try ConfigurationFile(text, options: OptionList(of: ProxyOptions.self))
    #expect(file.rules?.rules.isEmpty == false)
  }

  @Test("The page has its examples")
  func pageHasExamples() { #expect(Self.examples.count == 13) }

  private func output(_ example: Int, _ arguments: [String]) throws -> String {
    let rules = try #require(
      try ConfigurationFile(Self.examples[example], options: OptionList(of: ProxyOptions.self)).rules)
    let command = try RulesCommand.parse(["--config", "none"] + arguments)
    return command.text(by: rules)
  }

  @Test("The command shows the rules that match, what decides, and what the origin gets")
  func command() throws {
    let page = try Repository.text("Documentation/Operating/Rules.md")
    let shown = try output(0, ["--header", "Cookie: lang=de", "http://www.example.com/static/app.js"])
    #expect(page.contains(shown))
    let text = try output(
      3, ["--header", "Cookie: a=1", "www.example.com/p?utm_source=b&id=2", "http://a.example/wp-admin/"])
    #expect(
      text == """
        GET http://www.example.com/p?utm_source=b&id=2
          pages
            lifetime: 600s
            status-lifetimes: 404: 60s
            grace: 3600s
            stale-if-error: 86400s
            remove-cookies: all
            set-cookie: strip
          rule 6
            ignore-query: utm_*, fbclid, gclid
            sort-query: true
          stored as http://www.example.com/p?id=2
          the origin gets Cookie: nothing

        GET http://a.example/wp-admin/
          administration
            bypass: true
          pages
            nothing more
          rule 6
            nothing more
        """)
    let other = try output(2, ["--method", "POST", "http://a.example/x"])
    #expect(other.contains("rule 3"))
  }

  @Test(
    "An invalid argument is an error",
    arguments: [["--header", "a"], ["--header", "a b: c"], ["--method", "G T"], ["http://a b/"]])
  func faults(arguments: [String]) {
    #expect(throws: (any Error).self) { try RulesCommand.parse(["--config", "none"] + arguments) }
  }

  @Test(
    "explain knows that a lifetime needs reuse-no-cache for a response with no-cache",
    arguments: [false, true])
  func explainNoCache(reuses: Bool) throws {
    let rules = try CacheRules([
      CacheRule {
        $0.lifetime = .seconds(3600)
        $0.reusesNoCache = reuses
      }
    ])
    var command = try ExplainCommand.parse(["--cache", "shared", "--url", "http://a.example/"])
    command.rules = "none"
    let head = "HTTP/1.1 200 OK\r\nCache-Control: no-cache\r\n\r\n"
    let text = try command.explanation(
      of: Array(head.utf8), systemTime: .init(seconds: 1_795_000_000), rules: rules)
    #expect(text.contains("Stored, with a freshness lifetime that a rule set.") == reuses, "\(text)")
  }

  @Test("explain follows the rules, and says so")
  func explain() throws {
    let rules = try #require(
      try ConfigurationFile(Self.examples[3], options: OptionList(of: ProxyOptions.self)).rules)
    var command = try ExplainCommand.parse([
      "--cache", "shared", "--url", "http://a.example/", "--after", "700",
    ])
    command.rules = "none"
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=1\r\nDate: Thu, 26 Nov 2026 12:00:00 GMT\r\n\r\n"
    let text = try command.explanation(
      of: Array(head.utf8), systemTime: .init(seconds: 1_795_000_000), rules: rules)
    #expect(text.contains("Rules that match: pages, rule 6."))
    #expect(text.contains("Stored, with a freshness lifetime that a rule set."))
    #expect(text.contains("It is still used for another 1 hour (3600 s)"))
    #expect(text.contains("Used for up to 1 day (86400 s)"))
    let withCookie = head.replacing("max-age=1", with: "public, max-age=60\r\nSet-Cookie: a=1")
    for (rules, warns) in [(CacheRules(), true), (rules, false)] {
      let text = try command.explanation(
        of: Array(withCookie.utf8), systemTime: .init(seconds: 1_795_000_000), rules: rules)
      #expect(text.contains("sends the cookie of this response to all its users") == warns, "\(text)")
    }
  }
}
