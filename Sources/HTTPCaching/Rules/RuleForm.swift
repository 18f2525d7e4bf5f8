// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// How a value is written in a text with rules.
struct RuleForm<Value: Sendable>: Sendable {
  /// What is expected, for an error.
  let expected: String
  private let parse: @Sendable (RuleNode) -> Value?
  let write: @Sendable (Value) -> RuleNode

  init(
    _ expected: String, _ parse: @escaping @Sendable (RuleNode) -> Value?,
    _ write: @escaping @Sendable (Value) -> RuleNode
  ) {
    (self.expected, self.parse, self.write) = (expected, parse, write)
  }

  func read(_ node: RuleNode, of name: String) throws(CacheRules.Fault) -> Value {
    if case .map = node.content { _ = try node.members(expected) }
    guard let value = parse(node) else {
      let culprit = culprit(in: node)
      throw culprit.fault("\(name): expected \(expected), found \(culprit.shown)")
    }
    return value
  }

  /// Returns the first part of a list or a mapping that is not accepted by itself; the node itself if each one is.
  private func culprit(in node: RuleNode) -> RuleNode {
    switch node.content {
    case .list(let values): values.first { parse(RuleNode(.list([$0]))) == nil && parse($0) == nil } ?? node
    case .map(let members):
      members.first { parse(RuleNode(.map([$0]))) == nil }
        .map { RuleNode(.scalar("\($0.name): \($0.value.inline)"), line: $0.value.line) } ?? node
    case .null, .scalar: node
    }
  }

  func parsed(_ node: RuleNode) -> Value? { parse(node) }

  /// A value of one text.
  fileprivate static func scalar(
    _ expected: String, _ parse: @escaping @Sendable (String) -> Value?,
    _ write: @escaping @Sendable (Value) -> String
  ) -> RuleForm {
    RuleForm(expected, { if case .scalar(let text) = $0.content { parse(text) } else { nil } }) {
      RuleNode(write($0))
    }
  }

  /// A list of values, or one of them.
  fileprivate func list(_ expected: String) -> RuleForm<[Value]> {
    RuleForm<[Value]>(
      expected,
      { [parse] node in
        let values = node.values.compactMap(parse)
        return values.count == node.values.count && !values.isEmpty ? values : nil
      }, { [write] values in values.count == 1 ? write(values[0]) : RuleNode(.list(values.map(write))) })
  }
}

extension RuleForm<Bool> {
  /// The words for true and false in YAML 1.1.
  static let bool = RuleForm.scalar(
    "true or false",
    { text in
      switch text.lowercasedASCII {
      case "true", "yes", "on": true
      case "false", "no", "off": false
      default: nil
      }
    }, { "\($0)" })
}

extension RuleForm<String> {
  static let text = RuleForm.scalar("a text", { $0.isEmpty ? nil : $0 }, { $0 })
  static let fieldName = RuleForm.scalar("the name of a field", { HTTPField.Name($0)?.rawName }, { $0 })
}

extension RuleForm<[String]> {
  static let texts = RuleForm<String>.text.list("a text or a list of texts")
  static let fieldNames = RuleForm<String>.fieldName.list("the name of a field, or a list of names")
  static let hosts = RuleForm<String>.scalar("", { $0.isEmpty ? nil : $0.lowercasedASCII }, { $0 })
    .list("a host or a list of hosts")
  static let mediaTypes = RuleForm<String>.scalar(
    "", { $0.contains("/") && !$0.contains(";") ? $0.lowercasedASCII : nil }, { $0 }
  ).list("a media type without parameters, such as text/html or image/*, or a list of them")
}

extension RuleForm where Value: RawRepresentable<String> & CaseIterable {
  /// A case of an enumeration, in words with hyphens.
  static var word: RuleForm {
    .scalar(
      Value.allCases.map { $0.rawValue.hyphenated }.joined(separator: ", "),
      { text in Value.allCases.first { $0.rawValue.hyphenated == text } }, { $0.rawValue.hyphenated })
  }
}

extension RuleForm<Int> {
  static let percent = RuleForm.scalar(
    "a share, such as 10%", { text in Int(text.last == "%" ? String(text.dropLast()) : text) }, { "\($0)%" })
  static let size = RuleForm.scalar("a size, such as 10MB", { Quantity.bytes($0) }, { "\($0)" })
}

extension RuleForm<Duration> {
  static let duration = RuleForm.scalar(
    "a time, such as 30s, 10m, 12h or 7d", { Quantity.duration($0) }, { Quantity.text($0) })
}

extension RuleForm<ClosedRange<Int>> {
  static let status = RuleForm.scalar(
    "", { Quantity.statuses($0) },
    { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" })
  static let sizes = RuleForm.scalar(
    "a range of sizes, such as 1KB-10MB, 10MB- or -1KB",
    { text in
      let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !(parts[0].isEmpty && parts[1].isEmpty),
        let low = parts[0].isEmpty ? 0 : Quantity.bytes(String(parts[0])),
        let high = parts[1].isEmpty ? Int.max : Quantity.bytes(String(parts[1])), low <= high
      else { return nil }
      return low...high
    },
    { "\($0.lowerBound)-" + ($0.upperBound == .max ? "" : "\($0.upperBound)") })
}

extension RuleForm<[ClosedRange<Int>]> {
  static let statuses = RuleForm<ClosedRange<Int>>.status
    .list("a status code such as 404, 5xx or 500-504, or a list of them")
}

extension RuleForm<[CacheRule.StatusLifetime]> {
  static let statusLifetimes = RuleForm(
    "times by status codes, such as `404: 30s`",
    { node in
      guard case .map(let members) = node.content, !members.isEmpty else { return nil }
      let lifetimes = members.compactMap { member -> CacheRule.StatusLifetime? in
        guard let statuses = Quantity.statuses(member.name),
          let lifetime = RuleForm<Duration>.duration.parsed(member.value)
        else { return nil }
        return CacheRule.StatusLifetime(statuses, lifetime)
      }
      // A class of statuses leaves single ones to their own times.
      return lifetimes.count == members.count
        ? lifetimes.sorted {
          ($0.statuses.count, $0.statuses.lowerBound) < ($1.statuses.count, $1.statuses.lowerBound)
        }
        : nil
    },
    { lifetimes in
      RuleNode(
        .map(
          lifetimes.map {
            RuleNode.Member(
              RuleForm<ClosedRange<Int>>.status.write($0.statuses).values.first.map { node in
                if case .scalar(let text) = node.content { text } else { "" }
              } ?? "", RuleNode(Quantity.text($0.lifetime)))
          }))
    })
}

extension RuleForm<CacheRule.Errors> {
  static let errors = RuleForm(
    "status codes such as 500 or 5xx, and `failure` for connections that fail",
    { node in
      var errors = CacheRule.Errors(statuses: [], includesFailures: false)
      for value in node.values {
        guard case .scalar(let text) = value.content else { return nil }
        if text == "failure" {
          errors.includesFailures = true
        } else if let statuses = Quantity.statuses(text) {
          errors.statuses.append(statuses)
        } else {
          return nil
        }
      }
      return errors.statuses.isEmpty && !errors.includesFailures ? nil : errors
    },
    { errors in
      RuleNode(
        .list(
          errors.statuses.map(RuleForm<ClosedRange<Int>>.status.write)
            + (errors.includesFailures ? [RuleNode("failure")] : [])))
    })
}

extension RuleForm<CacheRule.NameSelection> {
  static let selection = RuleForm(
    "`all`, a list of names, or `all-but:` and a list",
    { node in
      switch node.content {
      case .scalar("all"), .scalar("true"): return .all
      case .map(let members):
        guard members.count == 1, members[0].name == "all-but" else { return nil }
        return RuleForm<[String]>.texts.parsed(members[0].value).map { .allBut($0) }
      case .scalar, .list: return RuleForm<[String]>.texts.parsed(node).map { .named($0) }
      case .null: return nil
      }
    },
    { selection in
      switch selection {
      case .all: RuleNode("all")
      case .named(let names): RuleNode(.list(names.map { RuleNode($0) }))
      case .allBut(let names): RuleNode(.map([.init("all-but", RuleForm<[String]>.texts.write(names))]))
      }
    })
}

extension RuleForm<[CacheRule.FieldCondition]> {
  static let fieldConditions = RuleForm(
    "names of fields that are present, or `name: value`",
    { node in
      guard case .map(let members) = node.content else {
        return RuleForm<[String]>.fieldNames.parsed(node)?.map { CacheRule.FieldCondition($0) }
      }
      let conditions = members.compactMap { member -> CacheRule.FieldCondition? in
        guard let name = HTTPField.Name(member.name)?.rawName,
          // Without values, it is present.
          let values = member.value.content == .list([]) ? [] : RuleForm<[String]>.texts.parsed(member.value)
        else { return nil }
        return CacheRule.FieldCondition(name, values: values)
      }
      return conditions.count == members.count && !conditions.isEmpty ? conditions : nil
    },
    { conditions in
      if conditions.allSatisfy(\.values.isEmpty) {
        return RuleForm<[String]>.fieldNames.write(conditions.map(\.name))
      }
      return RuleNode(
        .map(conditions.map { RuleNode.Member($0.name, RuleForm<[String]>.texts.write($0.values)) }))
    })
}

extension RuleForm<[CacheRule.Field]> {
  static let fields = RuleForm(
    "fields, such as `Cache-Control: max-age=60`",
    { node in
      guard case .map(let members) = node.content, !members.isEmpty else { return nil }
      let fields = members.flatMap { member -> [CacheRule.Field?] in
        guard let name = HTTPField.Name(member.name)?.rawName else { return [nil] }
        return (RuleForm<[String]>.texts.parsed(member.value) ?? []).map { value in
          HTTPField.isValidValue(value) ? CacheRule.Field(name, value) : nil
        }
      }
      return fields.contains(nil) || fields.isEmpty ? nil : fields.compactMap(\.self)
    },
    { fields in
      var names: [String] = []
      var values: [String: [String]] = [:]
      for field in fields {
        let key = field.name.lowercasedASCII
        if values[key] == nil { names.append(field.name) }
        values[key, default: []].append(field.value)
      }
      return RuleNode(
        .map(
          names.map {
            RuleNode.Member($0, RuleForm<[String]>.texts.write(values[$0.lowercasedASCII] ?? []))
          }))
    })
}

extension String {
  /// `validateOnce` as `validate-once`.
  fileprivate var hyphenated: String {
    reduce(into: "") { $0 += $1.isUppercase ? "-" + String($1).lowercasedASCII : String($1) }
  }
}

/// Numbers with units.
package enum Quantity {
  /// A number of seconds, or numbers with units: `90`, `1h30m`, `500ms`.
  static func duration(_ text: String) -> Duration? {
    if let seconds = Int64(text) { return seconds >= 0 ? .seconds(seconds) : nil }
    var rest = text[...]
    var sum = Duration.zero
    guard !rest.isEmpty else { return nil }
    while !rest.isEmpty {
      let digits = rest.prefix { $0.isASCII && $0.isNumber }
      // So many that no sum overflows.
      guard let number = Int64(digits), number < 1_000_000_000_000 else { return nil }
      rest = rest.dropFirst(digits.count)
      let unit = rest.prefix { $0.isLetter }
      rest = rest.dropFirst(unit.count)
      switch unit {
      case "ms": sum += .milliseconds(number)
      case "s": sum += .seconds(number)
      case "m": sum += .seconds(number * 60)
      case "h": sum += .seconds(number * 3600)
      case "d": sum += .seconds(number * 86_400)
      case "w": sum += .seconds(number * 604_800)
      default: return nil
      }
    }
    return sum
  }

  static func text(_ duration: Duration) -> String {
    let milliseconds = duration.wholeMilliseconds
    return milliseconds % 1000 == 0 ? "\(milliseconds / 1000)s" : "\(milliseconds)ms"
  }

  /// A number of bytes: `512`, `10MB`. Units are powers of 1024, with or without an `i`.
  package static func bytes(_ text: String) -> Int? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let number = Int(digits), number >= 0 else { return nil }
    let shift: Int
    switch text[digits.endIndex...].lowercasedASCII {
    case "", "b": shift = 0
    case "k", "kb", "kib": shift = 10
    case "m", "mb", "mib": shift = 20
    case "g", "gb", "gib": shift = 30
    case "t", "tb", "tib": shift = 40
    default: return nil
    }
    let (bytes, overflow) = number.multipliedReportingOverflow(by: 1 << shift)
    return overflow ? nil : bytes
  }

  /// `404`, `5xx` or `500-504`.
  static func statuses(_ text: String) -> ClosedRange<Int>? {
    if text.count == 3, text.hasSuffix("xx"), let digit = text.first?.wholeNumberValue,
      (1...9).contains(digit)
    {
      return digit * 100...digit * 100 + 99
    }
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    guard let low = parts.first ?? nil, let high = parts.last ?? nil, parts.count <= 2, low <= high,
      (100...999).contains(low), (100...999).contains(high)
    else { return nil }
    return low...high
  }
}
