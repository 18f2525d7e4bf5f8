// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A part of a text with rules, whatever its format: JSON by `Codable`, or YAML.
package struct RuleNode: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    case null
    /// A text, a number or a truth value, as it is written.
    case scalar(String)
    case list([RuleNode])
    case map([Member])
  }

  package struct Member: Hashable, Sendable {
    package var name: String
    package var value: RuleNode

    package init(_ name: String, _ value: RuleNode) {
      (self.name, self.value) = (name, value)
    }
  }

  package var content: Content
  /// Counted from 1; `nil` if the format has none.
  package var line: Int?

  package init(_ content: Content, line: Int? = nil) {
    (self.content, self.line) = (content, line)
  }

  init(_ text: String) { self.init(.scalar(text)) }

  /// What it is, for an error.
  var shown: String {
    switch content {
    case .null: "nothing"
    case .scalar(let text): "'\(text)'"
    case .list: "a list"
    case .map: "a mapping"
    }
  }

  func fault(_ text: String) -> CacheRules.Fault { CacheRules.Fault(text, line: line) }

  /// The members of a list, or the only value.
  var values: [RuleNode] { if case .list(let values) = content { values } else { [self] } }
}

extension RuleNode: Codable {
  private struct Key: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  package init(from decoder: any Decoder) throws {
    if let map = try? decoder.container(keyedBy: Key.self) {
      self.init(
        .map(try map.allKeys.map { Member($0.stringValue, try map.decode(RuleNode.self, forKey: $0)) }))
    } else if var list = try? decoder.unkeyedContainer() {
      var values: [RuleNode] = []
      while !list.isAtEnd { values.append(try list.decode(RuleNode.self)) }
      self.init(.list(values))
    } else {
      let value = try decoder.singleValueContainer()
      if value.decodeNil() {
        self.init(.null)
      } else if let text = try? value.decode(String.self) {
        self.init(text)
      } else if let isTrue = try? value.decode(Bool.self) {
        self.init("\(isTrue)")
      } else if let number = try? value.decode(Int.self) {
        self.init("\(number)")
      } else {
        self.init("\(try value.decode(Double.self))")
      }
    }
  }

  package func encode(to encoder: any Encoder) throws {
    switch content {
    case .null:
      var container = encoder.singleValueContainer()
      try container.encodeNil()
    case .scalar(let text):
      var container = encoder.singleValueContainer()
      try container.encode(text)
    case .list(let values):
      var container = encoder.unkeyedContainer()
      for value in values { try container.encode(value) }
    case .map(let members):
      var container = encoder.container(keyedBy: Key.self)
      for member in members { try container.encode(member.value, forKey: Key(stringValue: member.name)) }
    }
  }
}
