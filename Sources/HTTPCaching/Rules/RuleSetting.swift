// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// A setting of a rule, or a part of its match: its name in texts, and how it is read and written. The tables below have a
/// line for each.
struct RuleSetting: Sendable {
  /// When a setting is decided.
  enum Phase: Sendable {
    /// With the target, before anything is looked up: it changes the key.
    case target
    /// With the request, before there is a response.
    case request
    case response
  }

  let name: String
  let phase: Phase
  let read: @Sendable (RuleNode, inout CacheRule) throws(CacheRules.Fault) -> Void
  /// `nil` if the rule does not name it.
  let write: @Sendable (CacheRule) -> RuleNode?

  private init<Value: Sendable>(
    _ name: String, _ path: any WritableKeyPath<CacheRule, Value?> & Sendable, _ form: RuleForm<Value>,
    _ phase: Phase = .response
  ) {
    (self.name, self.phase) = (name, phase)
    read = { node, rule throws(CacheRules.Fault) in
      rule[keyPath: path] = try form.read(node, of: name)
    }
    write = { $0[keyPath: path].map(form.write) }
  }

  private init<Value: Sendable>(
    match name: String, _ path: any WritableKeyPath<CacheRule, [Value]> & Sendable, _ form: RuleForm<[Value]>,
    _ phase: Phase = .request
  ) {
    (self.name, self.phase) = (name, phase)
    read = { node, rule throws(CacheRules.Fault) in
      rule[keyPath: path] = try form.read(node, of: name)
    }
    write = { $0[keyPath: path].isEmpty ? nil : form.write($0[keyPath: path]) }
  }

  /// The settings, as <doc:CachingRules> lists them.
  static let all: [RuleSetting] = [
    RuleSetting("lifetime", \.lifetime, .duration),
    RuleSetting("default-lifetime", \.defaultLifetime, .duration),
    RuleSetting("status-lifetimes", \.statusLifetimes, .statusLifetimes),
    RuleSetting("bypass", \.isBypassed, .bool),
    RuleSetting("heuristics", \.usesHeuristics, .bool),
    RuleSetting("heuristic-share", \.heuristicPercent, .percent),
    RuleSetting("heuristic-maximum", \.heuristicMaximum, .duration),
    RuleSetting("maximum-size", \.maximumSize, .size),
    RuleSetting("reuse-no-cache", \.reusesNoCache, .bool),
    RuleSetting("store-no-store", \.storesNoStore, .bool),
    RuleSetting("share-private", \.sharesPrivate, .bool),
    RuleSetting("share-authorized", \.sharesAuthorized, .bool),
    RuleSetting("grace", \.grace, .duration),
    RuleSetting("stale-if-error", \.staleIfError, .duration),
    RuleSetting("errors", \.errors, .errors),
    RuleSetting("stale-despite-must-revalidate", \.servesStaleDespiteMustRevalidate, .bool),
    RuleSetting("reload", \.reload, .word, .request),
    RuleSetting("ignore-query", \.ignoredParameters, .selection, .target),
    RuleSetting("sort-query", \.sortsParameters, .bool, .target),
    RuleSetting("remove-cookies", \.removedCookies, .selection, .request),
    RuleSetting("remove-request-fields", \.removedRequestFields, .fieldNames, .request),
    RuleSetting("remove-response-fields", \.removedResponseFields, .fieldNames),
    RuleSetting("set-response-fields", \.setResponseFields, .fields),
    RuleSetting("set-cookie", \.setCookie, .word),
    RuleSetting("tags", \.tagFields, .fieldNames),
    RuleSetting("show-tags", \.showsTags, .bool),
    RuleSetting("key-fields", \.keyFields, .fieldNames, .request),
    RuleSetting("content-codings", \.contentCodings, .texts, .request),
    RuleSetting("partition-cookie", \.partitionCookie, .text, .request),
    RuleSetting("partition-field", \.partitionField, .fieldName, .request),
  ]

  /// The parts of a match.
  static let matches: [RuleSetting] = [
    RuleSetting(match: "host", \.match.hosts, .hosts, .target),
    RuleSetting(match: "path", \.match.paths, .texts, .target),
    RuleSetting(match: "method", \.match.methods, .texts),
    RuleSetting(match: "field", \.match.fields, .fieldConditions),
    RuleSetting(match: "cookie", \.match.cookies, .texts),
    RuleSetting(match: "parameter", \.match.parameters, .texts),
    RuleSetting(match: "status", \.match.statuses, .statuses, .response),
    RuleSetting(match: "type", \.match.mediaTypes, .mediaTypes, .response),
    RuleSetting("size", \.match.sizes, .sizes),
  ]
}

extension CacheRules {
  /// Reads the rules from a list.
  ///
  /// - Throws: a fault with the line of the first error.
  package init(reading node: RuleNode) throws(Fault) {
    switch node.content {
    case .null: self.init()
    case .list(let nodes):
      var rules: [CacheRule] = []
      for (index, node) in nodes.enumerated() {
        do throws(Fault) {
          let rule = try CacheRule(reading: node)
          if let text = rule.fault { throw node.fault(text) }
          rules.append(rule)
        } catch {
          let name = rules.count > index ? rules[index].name : nil
          throw Fault("\(name ?? "rule \(index + 1)"): \(error.text)", line: error.line ?? node.line)
        }
      }
      try self.init(rules)
    case .scalar, .map: throw node.fault("expected a list of rules, found \(node.shown)")
    }
  }
}

extension CacheRule {
  init(reading node: RuleNode) throws(CacheRules.Fault) {
    self.init()
    for member in try node.members("a rule, such as `path: /static/*` and `lifetime: 1h`") {
      let value = member.value
      switch member.name {
      case "name": name = try RuleForm.text.read(value, of: "name")
      case "match":
        for part in try value.members("the parts of a match") {
          guard let setting = RuleSetting.matches.first(where: { $0.name == part.name }) else {
            throw part.value.fault(
              "unknown part of a match '\(part.name)'; there are "
                + RuleSetting.matches.map(\.name).joined(separator: ", "))
          }
          try setting.read(part.value, &self)
        }
      default:
        guard let setting = RuleSetting.all.first(where: { $0.name == member.name }) else {
          let hint =
            RuleSetting.matches.contains { $0.name == member.name }
            ? "'\(member.name)' belongs below `match:`"
            : "unknown setting '\(member.name)'; there are "
              + RuleSetting.all.map(\.name).joined(separator: ", ")
          throw value.fault(hint)
        }
        try setting.read(value, &self)
      }
    }
  }

  /// The rule as it is read.
  var node: RuleNode {
    let matches = RuleSetting.matches.compactMap { part in
      part.write(self).map { RuleNode.Member(part.name, $0) }
    }
    let settings = RuleSetting.all.compactMap { setting in
      setting.write(self).map { RuleNode.Member(setting.name, $0) }
    }
    let name = name.map { [RuleNode.Member("name", RuleNode($0))] } ?? []
    return RuleNode(
      .map(name + (matches.isEmpty ? [] : [.init("match", RuleNode(.map(matches)))]) + settings))
  }

  /// The settings that the rule names, each as text.
  package var settings: [(name: String, value: String)] {
    RuleSetting.all.compactMap { setting in setting.write(self).map { (setting.name, $0.inline) } }
  }
}

extension RuleNode {
  func members(_ expected: String) throws(CacheRules.Fault) -> [Member] {
    guard case .map(let members) = content else { throw fault("expected \(expected), found \(shown)") }
    for (index, member) in members.enumerated()
    where members[..<index].contains(where: { $0.name.lowercasedASCII == member.name.lowercasedASCII }) {
      throw member.value.fault("'\(member.name)' is set twice; remove one")
    }
    return members
  }

  /// The value on one line.
  var inline: String {
    switch content {
    case .null: ""
    case .scalar(let text): text
    case .list(let values): values.map(\.inline).joined(separator: ", ")
    case .map(let members): members.map { "\($0.name): \($0.value.inline)" }.joined(separator: ", ")
    }
  }
}
