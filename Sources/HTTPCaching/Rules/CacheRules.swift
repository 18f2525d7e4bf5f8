// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Rules by host and path: what an origin did not say about caching, said by an operator.
///
/// All rules that match apply. For each setting, the first rule that names it decides. The rules are data: the proxy reads
/// them from its configuration file, and an application may keep them in JSON.
///
/// ```swift
/// configuration.cacheRules = try CacheRules([
///   CacheRule(paths: ["/static/*"]) { $0.lifetime = .seconds(86_400) },
///   CacheRule { $0.match.cookies = ["session"]; $0.isBypassed = true },
///   CacheRule { $0.grace = .seconds(600) },
/// ])
/// ```
///
/// A rule with a setting for requests is decided before there is a response, so its match cannot name one. See
/// <doc:CachingRules> for all settings.
public struct CacheRules: Hashable, Sendable {
  /// The rules, in order.
  public let rules: [CacheRule]
  /// The sites that some of the rules are for.
  let sites: SiteTable
  /// For each rule the position of its site; `nil` if it is for all requests.
  let siteOfRule: [Int?]
  /// The names of the sites.
  private let siteNames: [String]

  /// No rules.
  public init() { (rules, sites, siteOfRule, siteNames) = ([], SiteTable(), [], []) }

  /// Makes a list of rules.
  ///
  /// - Throws: ``Fault`` for a rule that says nothing, contradicts itself, or could never apply.
  public init(_ rules: [CacheRule]) throws(Fault) {
    self.rules = rules
    (sites, siteNames) = (SiteTable(), [])
    siteOfRule = Array(repeating: nil, count: rules.count)
    for (index, rule) in rules.enumerated() {
      if let text = rule.fault { throw Fault("\(name(of: index)): \(text)", line: nil) }
    }
  }

  /// Rules that are for one site each, before those for all requests. Their encoded form has no sites.
  package init(sites: [(name: String, scope: SiteScope, rules: CacheRules)], others: CacheRules) {
    rules = sites.flatMap(\.rules.rules) + others.rules
    siteOfRule =
      sites.enumerated().flatMap { index, site in site.rules.rules.map { _ in index } }
      + others.rules.map { _ in nil }
    self.sites = SiteTable(sites.map(\.scope))
    siteNames = sites.map(\.name)
  }

  /// Returns the name of a rule: that of its site comes first.
  func name(of index: Int) -> String {
    let site = siteOfRule[index]
    let place = siteOfRule[..<index].count { $0 == site }
    let name = rules[index].name ?? "rule \(place + 1)"
    return site.map { "\(siteNames[$0]): \(name)" } ?? name
  }

  package var hasSites: Bool { !siteNames.isEmpty }

  /// The name of the site that a request belongs to; `nil` without sites, or if none has it.
  package func site(of request: HTTPRequest) -> String? {
    sites.scope(ofAuthority: request.authority ?? "", path: request.path ?? "/").map { siteNames[$0] }
  }

  /// An error in rules.
  public struct Fault: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, and what is expected.
    public let text: String
    /// The line, counted from 1, if the format has lines.
    public let line: Int?

    init(_ text: String, line: Int?) {
      (self.text, self.line) = (text, line)
    }

    public var description: String { (line.map { "line \($0): " } ?? "") + text }
  }
}

extension CacheRules: Codable {
  /// Reads the rules from a list: see <doc:CachingRules> for its form.
  public init(from decoder: any Decoder) throws {
    do {
      try self.init(reading: RuleNode(from: decoder))
    } catch let fault as Fault {
      throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: fault.text))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    try node.encode(to: encoder)
  }

  /// The rules as they are written.
  package var node: RuleNode { RuleNode(.list(rules.map(\.node))) }
}

extension CacheRule {
  /// Fields that must agree with the content as it is sent, or that concern one connection.
  private static let framing: Set = [
    "content-length", "transfer-encoding", "content-range", "content-encoding", "connection", "keep-alive",
    "trailer", "upgrade", "te", "date",
  ]

  /// What is wrong with a host of a rule or a site; `nil` if nothing is.
  static func fault(ofHost host: String) -> String? {
    if host.isEmpty || host.contains("/") || host.contains(":") {
      return
        "host: expected a host without scheme and port, such as www.example.com or *.example.com, found '\(host)'"
    }
    if host.dropFirst(host.hasPrefix("*.") ? 2 : 0).contains("*") {
      return "host: `*` may only be the first label, as in *.example.com, found '\(host)'"
    }
    if !host.utf8.allSatisfy({ $0 < 0x80 }) {
      return "host: expected a name of ASCII, as in xn--mnchen-3ya.de, found '\(host)'"
    }
    if host.utf8.first == UInt8(ascii: ".") {
      return "host: expected \(host.dropFirst()), *\(host), or a list of both, found '\(host)'"
    }
    let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard labels.allSatisfy({ !$0.isEmpty }),
      host.utf8.dropFirst(host.hasPrefix("*.") ? 2 : 0).allSatisfy({ byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "-._~".utf8.contains(byte)
        }
      })
    else { return "host: expected letters, digits, - and single dots between them, found '\(host)'" }
    return nil
  }

  /// What is wrong with the rule; `nil` if nothing is.
  var fault: String? {
    if let fault = match.hosts.lazy.compactMap({ Self.fault(ofHost: $0) }).first { return fault }
    for method in match.methods where method.utf8.contains(where: { (0x61...0x7A).contains($0) }) {
      return "method: names of methods have capital letters, as in GET, found '\(method)'"
    }
    for name in match.cookies where name.contains(where: { "=; ,\t".contains($0) }) {
      return "cookie: expected the name of a cookie, found '\(name)'"
    }
    for coding in contentCodings ?? [] where HTTPField.Name(coding) == nil || coding.contains("*") {
      return "content-codings: expected the name of a coding, such as gzip, found '\(coding)'"
    }
    let names =
      match.fields.map(\.name) + (removedRequestFields ?? []) + (removedResponseFields ?? [])
      + (setResponseFields ?? []).map(\.name) + (keyFields ?? []) + (tagFields ?? [])
      + (partitionField.map { [$0] } ?? [])
    for name in names where HTTPField.Name(name) == nil {
      return "expected the name of a field, found '\(name)'"
    }
    let changed = (removedResponseFields ?? []) + (setResponseFields ?? []).map(\.name)
    for name in changed where Self.framing.contains(name.lowercasedASCII) {
      return "'\(name)' describes the message, and stays as the origin sent it"
    }
    for path in match.paths where !path.hasPrefix("/") && !path.hasPrefix("*") {
      return "path: expected a path from its first slash, such as /static/*, found '\(path)'"
    }
    for path in match.paths where path.contains("?") || path.contains("#") {
      return "path: a path ends before the query, which `parameter` matches; found '\(path)'"
    }
    let given = RuleSetting.all.filter { $0.write(self) != nil }
    guard !given.isEmpty else { return "sets nothing: name a setting, such as `lifetime`" }
    if match.isOfResponse, let setting = given.first(where: { $0.phase != .response }) {
      return
        "\(setting.name) is decided before there is a response, so the match cannot name status, type or size"
    }
    if match.needsMoreThanTarget, let setting = given.first(where: { $0.phase == .target }) {
      return
        "\(setting.name) changes the key, which must follow from host and path alone so that a purge finds it"
    }
    if lifetime != nil, defaultLifetime != nil {
      return "lifetime leaves nothing to default-lifetime: name one of them"
    }
    if let percent = heuristicPercent, !(0...100).contains(percent) {
      return "heuristic-share: expected 0 to 100, found \(percent)"
    }
    let durations = [lifetime, defaultLifetime, heuristicMaximum, grace, staleIfError]
    if durations.contains(where: { $0.map { $0 < .zero } ?? false }) { return "a time cannot be negative" }
    return nil
  }
}
