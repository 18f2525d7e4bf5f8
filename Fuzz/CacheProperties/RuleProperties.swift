// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import HTTPTypes

/// What must hold of rules by host and path, whatever their patterns and the request.
enum RuleProperties {
  private static let pieces = [
    "/", "a", "b", "*", ".", "index", "/assets/", "css", "%2F", "%61", ";v=1", "//", "..", "\\", "A",
  ]
  private static let hosts = [
    "a.example", "www.a.example", "*.example", "*.a.example", "x", "A.Example:8080", "example.",
  ]

  private static func path(_ numbers: inout InputNumbers) -> String {
    "/" + (0..<numbers.integer(below: 7)).map { _ in numbers.pick(pieces) }.joined()
  }

  /// The rules that match are those whose patterns are like the host and the path. Those that keep a request out of the cache
  /// match all the more if the path can be read in several ways, and the others all the less.
  static func matching(_ bytes: [UInt8]) throws {
    var numbers = InputNumbers(bytes)
    var list: [CacheRule] = []
    for index in 0..<numbers.integer(below: 80) {
      let hosts = numbers.bool() ? [] : [numbers.pick(Self.hosts)].filter { !$0.contains(":") }
      let isBypass = numbers.bool()
      let rule = CacheRule(name: "\(index)", hosts: hosts, paths: [path(&numbers)]) {
        if isBypass { $0.isBypassed = true } else { $0.lifetime = .seconds(1) }
      }
      list.append(rule)
    }
    guard let rules = try? CacheRules(list) else { return }
    let host = String(numbers.pick(hosts).map { $0 == "*" ? "w" : $0 })
    let path = path(&numbers).filter { $0 != "*" }
    let request = HTTPRequest(method: .get, scheme: "http", authority: host, path: path)
    let found = RuleExplanation(of: request, by: rules, .init(kind: .shared)).rules.map(\.name)
    let hasOneReading =
      !path.utf8.contains { "%;\\".utf8.contains($0) } && !path.contains("//") && !path.contains("/.")
    let name = host.lowercasedASCII.split(separator: ":")[0]
    for rule in list {
      let isOfHost =
        rule.match.hosts.isEmpty
        || rule.match.hosts.contains { isLike(name.hasSuffix(".") ? name.dropLast() : name, $0[...]) }
      // In a pattern, an escape of a letter is the letter.
      let isOfPath = rule.match.paths.contains { isLike(path[...], plain($0)[...]) }
      let isFound = found.contains(rule.name ?? "")
      let text = "\(rule.match.hosts) \(rule.match.paths) and \(host)\(path)"
      if hasOneReading {
        let isLoose = rule.isBypassed == true && rule.match.paths.contains { isLoosely(path, plain($0)) }
        try require(isFound || !(isOfHost && isOfPath), "not found: \(text)")
        try require(!isFound || isOfHost && (isOfPath || isLoose), "found: \(text)")
      } else if rule.isBypassed == true {
        try require(isFound || !(isOfHost && rule.match.paths.contains(plain(path))), "not found: \(text)")
      }
    }
  }

  /// Whatever is written as rules is refused, or read as what it says: what the rules write is read as the same rules.
  static func texts(_ bytes: [UInt8]) throws {
    var numbers = InputNumbers(bytes)
    let names = [
      "match", "path", "host", "cookie", "field", "status", "type", "size", "lifetime", "grace", "bypass",
      "ignore-query",
      "remove-cookies", "status-lifetimes", "errors", "set-response-fields", "partition-cookie", "reload",
      "all-but", "name",
      "heuristic-share", "content-codings", "set-cookie", "tags", "maximum-size",
    ]
    let values = [
      "10s", "1h", "/a/*", "*.example", "404", "5xx", "500-504", "text/html", "1KB-", "true", "no", "all",
      "X-A", "session",
      "10%", "honor", "strip", "failure", "max-age=1", "-1", "9999999999999999999d", "",
    ]
    func node(_ depth: Int) -> RuleNode {
      switch numbers.byte() {
      case 0..<100: RuleNode(.scalar(numbers.pick(values)))
      case 100..<120: RuleNode(.scalar(numbers.text()))
      case 120..<130: RuleNode(.null)
      case 130..<180 where depth > 0:
        RuleNode(.list((0..<numbers.integer(below: 4)).map { _ in node(depth - 1) }))
      case _ where depth > 0:
        RuleNode(
          .map((0..<numbers.integer(below: 5)).map { _ in .init(numbers.pick(names), node(depth - 1)) }))
      default: RuleNode(.scalar(numbers.pick(values)))
      }
    }
    let rules = (0..<numbers.integer(below: 4)).map { _ in
      RuleNode(.map((0..<numbers.integer(below: 5)).map { _ in .init(numbers.pick(names), node(3)) }))
    }
    guard let read = try? CacheRules(reading: RuleNode(.list(rules))) else { return }
    let again = try CacheRules(reading: read.node)
    try require(again == read, "\(read.node) was read as \(again.node)")
    var request = numbers.request()
    (request.scheme, request.authority) = ("http", "a.example")
    let ruled = RuleExplanation(of: request, by: read, .init(kind: .shared))
    _ = ruled.response(numbers.response())
  }

  /// Whether an origin that reads paths loosely may take one for that of a rule.
  private static func isLoosely(_ path: String, _ pattern: String) -> Bool {
    func withoutEnd(_ text: Substring) -> Substring {
      text.count > 1 && (text.hasSuffix("/") || text.hasSuffix(".")) ? withoutEnd(text.dropLast()) : text
    }
    let path = path.lowercasedASCII[...]
    var pattern = pattern.lowercasedASCII[...]
    while true {
      for text in [path, withoutEnd(path)] where isLike(text, pattern) || isLike(text, withoutEnd(pattern)) {
        return true
      }
      guard pattern.hasSuffix("/*") else { return false }
      pattern = pattern.dropLast(2)
    }
  }

  private static func plain(_ pattern: String) -> String {
    pattern.split(separator: "%61", omittingEmptySubsequences: false).joined(separator: "a")
  }

  /// Whether a text is like a pattern in which `*` is any text, by trying all there is.
  private static func isLike(_ text: Substring, _ pattern: Substring) -> Bool {
    var reached = Set([0])
    let (text, pattern) = (Array(text.utf8), Array(pattern.utf8))
    for byte in pattern {
      reached =
        byte == UInt8(ascii: "*")
        ? Set((reached.min() ?? text.count + 1)..<(text.count + 1))
        : Set(reached.filter { $0 < text.count && text[$0] == byte }.map { $0 + 1 })
      if reached.isEmpty { return false }
    }
    return reached.contains(text.count)
  }
}
