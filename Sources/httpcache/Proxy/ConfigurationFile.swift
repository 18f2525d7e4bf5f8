// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCacheProxy
import HTTPCaching

/// Options of `httpcache proxy` in a YAML file. Names are as on the command line without the dashes. A repeatable
/// option has a list, and a flag has `true` or `false`.
///
/// ```yaml
/// # A comment.
/// origin: http://127.0.0.1:8000
/// memory: 1GB
/// stale-when-disconnected: false
/// rules:
///   - match: { path: /static/* }
///     lifetime: 1d
/// ```
///
/// `sites` has a list of sites: each with hosts, paths, rules, and options of its own.
struct ConfigurationFile {
  /// An option, as equivalent arguments of a command line.
  struct Entry {
    var option: String
    var line: Int
    var arguments: [String]
    fileprivate var value: YAMLNode
  }

  /// A site.
  struct Site {
    var name: String
    var scope = SiteScope()
    var line: Int
    var entries: [Entry] = []
    var rules: CacheRules?
  }

  private(set) var entries: [Entry] = []
  /// `rules`; `nil` if there are none.
  private(set) var rules: CacheRules?
  /// `sites`; `nil` if there are none.
  private(set) var sites: [Site]?

  typealias Fault = YAMLNode.Fault

  /// Reads the file, and passes each of its options to ArgumentParser.
  init(_ text: String, options: OptionList) throws(Fault) {
    do throws(Fault) {
      guard let root = try Self.root(of: text) else { return }
      if case .null = root.content { return }
      guard case .mapping(let mapping) = root.content else {
        throw Fault(line: root.line, text: "expected `name: value` lines")
      }
      for (key, value) in mapping {
        switch key.content {
        case .scalar("rules"):
          if rules != nil { throw Self.twice(key) }
          rules = try Self.rules(value)
        case .scalar("sites"):
          if sites != nil { throw Self.twice(key) }
          sites = try Self.sites(value, options)
        default: try Self.add(key, value, options, to: &entries)
        }
      }
      try Self.check(entries + (sites ?? []).flatMap(\.entries), options)
    } catch {
      // YAML's own error for the earlier form would explain nothing.
      throw Self.earlierForm(text, options) ?? error
    }
  }

  private static func root(of text: String) throws(Fault) -> YAMLNode? {
    do {
      return try YAMLNode.root(of: text)
    } catch {
      throw Fault(line: error.line, text: "not valid YAML: \(error.text)")
    }
  }

  private static func rules(_ node: YAMLNode) throws(Fault) -> CacheRules {
    let read = try RuleNode(node)
    do throws(CacheRules.Fault) {
      return try CacheRules(reading: read)
    } catch {
      throw Fault(line: error.line ?? node.line, text: "rules: \(error.text)")
    }
  }

  private static func twice(_ key: YAMLNode) -> Fault {
    Fault(line: key.line, text: "\(shown(key)) is set more than once; remove one")
  }

  // MARK: - Sites

  private static func sites(_ node: YAMLNode, _ options: OptionList) throws(Fault) -> [Site] {
    guard case .sequence(let nodes) = node.content, !nodes.isEmpty else {
      throw Fault(line: node.line, text: "sites: expected a list of at least one site")
    }
    var sites: [Site] = []
    for node in nodes {
      let site = try site(node, options)
      if sites.contains(where: { $0.name == site.name }) {
        throw Fault(
          line: site.line, text: "sites: two sites have the name '\(site.name)'; give this one another `name`"
        )
      }
      sites.append(site)
    }
    if let fault = SiteTable(sites.map(\.scope)).fault(sites.map(\.name)) {
      throw Fault(line: sites[fault.scope].line, text: "sites: \(fault.text)")
    }
    if let site = sites.first(where: { !ProxyConfiguration.Site.isName($0.name) }) {
      throw Fault(
        line: site.line,
        text: "sites: expected a `name` of at most 100 letters, digits and -._*/ instead of '\(site.name)'")
    }
    return sites
  }

  private static func site(_ node: YAMLNode, _ options: OptionList) throws(Fault) -> Site {
    guard case .mapping(let mapping) = node.content else {
      throw Fault(
        line: node.line, text: "sites: expected a mapping with `host` and `origin`, found \(shown(node))")
    }
    var site = Site(name: "", line: node.line)
    var known: Set<String> = []
    for (key, value) in mapping {
      guard case .scalar(let name) = key.content else {
        throw Fault(line: key.line, text: "sites: expected the name of an option, found \(kind(key))")
      }
      switch name {
      case "name", "host", "path", "rules":
        guard known.insert(name).inserted else { throw twice(key) }
        if name == "rules" {
          site.rules = try rules(value)
        } else {
          let texts = try texts(value, of: name)
          guard !texts.isEmpty else {
            throw Fault(line: value.line, text: "\(name): expected a value, found an empty list")
          }
          switch name {
          case "host": site.scope.hosts = texts
          case "path": site.scope.paths = texts
          default:
            guard texts.count == 1, ProxyConfiguration.Site.isName(texts[0]) else {
              throw Fault(
                line: key.line, text: "name: expected letters, digits and -._*/, found \(shown(value))")
            }
            site.name = texts[0]
          }
        }
      case _ where options[name] != nil && !ProxyOptions.isOfSite(options[name]?.name ?? name):
        throw Fault(line: key.line, text: "'\(name)' is for all sites: write it outside of `sites`")
      default: try add(key, value, options, to: &site.entries)
      }
    }
    if site.name.isEmpty {
      site.name = (site.scope.hosts.first ?? "default") + (site.scope.paths.first ?? "")
    }
    return site
  }

  /// A text, or a list of texts.
  private static func texts(_ node: YAMLNode, of name: String) throws(Fault) -> [String] {
    var nodes = [node]
    if case .sequence(let sequence) = node.content { nodes = sequence }
    return try nodes.map { node throws(Fault) in
      guard case .scalar(let text) = node.content, !text.isEmpty else {
        throw Fault(line: node.line, text: "\(name): expected a value, found \(shown(node))")
      }
      return text
    }
  }

  // MARK: - An option

  private static func add(
    _ key: YAMLNode, _ value: YAMLNode, _ options: OptionList, to entries: inout [Entry]
  ) throws(Fault) {
    let entry = try entry(key, value, options)
    if let first = entries.first(where: { $0.option == entry.option }) {
      throw Fault(line: first.line, text: "'\(entry.option)' is set more than once; remove one")
    }
    entries.append(entry)
  }

  private static func entry(
    _ key: YAMLNode, _ value: YAMLNode, _ options: OptionList
  ) throws(Fault) -> Entry {
    let line = key.line
    guard case .scalar(let name) = key.content else {
      throw Fault(line: line, text: "expected the name of an option, found \(kind(key))")
    }
    guard let option = options[name], name != "help" else { throw Fault(line: line, text: unknown(name)) }
    guard option.name != "config" else {
      throw Fault(line: line, text: "config: only the command line can name a configuration file")
    }
    guard option.name == name else {
      throw Fault(line: line, text: "expected `\(option.name): false`, found `\(name)`")
    }
    return Entry(
      option: option.name, line: line, arguments: try arguments(option, value, line: line), value: value)
  }

  /// Passes options to ArgumentParser: all at once, as that takes milliseconds, and each by itself if one is invalid.
  private static func check(_ entries: [Entry], _ options: OptionList) throws(Fault) {
    if (try? ProxyOptions.parse(entries.flatMap(\.arguments))) != nil { return }
    for entry in entries {
      do {
        _ = try ProxyOptions.parse(entry.arguments)
      } catch {
        guard let option = options[entry.option] else { continue }
        throw Fault(line: entry.line, text: invalid(option, entry.value, error))
      }
    }
  }

  private static func arguments(_ option: OptionList.Option, _ value: YAMLNode, line: Int) throws(Fault)
    -> [String]
  {
    if option.isFlag {
      guard let isOn = flag(value) else {
        throw Fault(line: line, text: "\(option.name): expected true or false, found \(shown(value))")
      }
      if isOn { return ["--\(option.name)"] }
      return option.hasOpposite ? ["--no-\(option.name)"] : []
    }
    if case .sequence = value.content, !option.isRepeating {
      throw Fault(line: line, text: "\(option.name): expected one value, found a list")
    }
    return try texts(value, of: option.name).map { "--\(option.name)=\($0)" }
  }

  /// The words for true and false in YAML 1.1.
  private static func flag(_ node: YAMLNode) -> Bool? {
    guard case .scalar(let text) = node.content else { return nil }
    return switch text.lowercasedASCII {
    case "true", "yes", "on": true
    case "false", "no", "off": false
    default: nil
    }
  }

  private static func kind(_ node: YAMLNode) -> String {
    switch node.content {
    case .scalar: "a value"
    case .null: "nothing"
    case .sequence: "a list"
    case .mapping: "a mapping"
    }
  }

  private static func shown(_ node: YAMLNode) -> String {
    if case .scalar(let text) = node.content { "'\(text)'" } else { kind(node) }
  }

  // MARK: - Errors

  /// ArgumentParser knows similar names.
  private static func unknown(_ name: String) -> String {
    let text = "unknown option '\(name)'"
    do {
      _ = try ProxyOptions.parse(["--\(name)"])
    } catch {
      let parts = ProxyOptions.message(for: error).split(separator: "Did you mean '--", maxSplits: 1)
      if parts.count == 2, let near = parts[1].split(separator: "'").first {
        return "\(text); did you mean '\(near)'?"
      }
    }
    return "\(text); `httpcache proxy --help` lists the options"
  }

  private static func invalid(_ option: OptionList.Option, _ value: YAMLNode, _ error: any Error) -> String {
    let expected: String
    switch option.valueName {
    case "size": expected = "a size, such as 512MB or 10GB"
    case "count": expected = "a whole number"
    case "seconds": expected = "a number of seconds"
    case _ where !option.allowed.isEmpty: expected = option.allowed.joined(separator: ", ")
    default: return ProxyOptions.message(for: error)
    }
    return "\(option.name): expected \(expected), found \(shown(value))"
  }

  /// Returns the error for a file with lines of `name = value`, the form that earlier versions read.
  private static func earlierForm(_ text: String, _ options: OptionList) -> Fault? {
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .enumerated()
    {
      let line = line.drop(while: \.isWhitespace)
      let name = String(line.prefix { $0.isLetter || $0 == "-" })
      guard let option = options[name] else { continue }
      let rest = line.dropFirst(name.count).drop(while: \.isWhitespace)
      let shown = line.prefix { !$0.isNewline }
      if rest.first == "=" {
        // The token is not shown, because the error may be written to a log.
        if ProxyControl.secret.contains(option.name) {
          return Fault(line: index + 1, text: "expected `\(name): TOKEN`, found `\(name) = …`")
        }
        let value = rest.dropFirst().drop(while: \.isWhitespace)
        return Fault(line: index + 1, text: "expected `\(name): \(value)`, found `\(shown)`")
      }
      if rest.isEmpty, option.isFlag {
        let value = name == option.name
        return Fault(line: index + 1, text: "expected `\(option.name): \(value)`, found `\(shown)`")
      }
    }
    return nil
  }
}

extension RuleNode {
  init(_ node: YAMLNode) throws(YAMLNode.Fault) {
    switch node.content {
    case .null: self.init(.null, line: node.line)
    case .scalar(let text): self.init(.scalar(text), line: node.line)
    case .sequence(let nodes):
      var values: [RuleNode] = []
      for node in nodes { values.append(try RuleNode(node)) }
      self.init(.list(values), line: node.line)
    case .mapping(let pairs):
      var members: [Member] = []
      for (key, value) in pairs {
        guard case .scalar(let name) = key.content else {
          throw YAMLNode.Fault(line: key.line, text: "rules: expected a name before the colon")
        }
        members.append(Member(name, try RuleNode(value)))
      }
      self.init(.map(members), line: node.line)
    }
  }
}
