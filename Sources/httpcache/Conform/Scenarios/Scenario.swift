// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import HTTPTypes

/// A file of scenarios, in the export format of the public suite of cache behaviour.
struct ScenarioSuite: Sendable {
  var name: String
  var id: String
  var tests: [Scenario]
}

/// A few requests in order through a cache to one origin, and the expected result of each.
struct Scenario: Sendable {
  /// The severity of a failure.
  enum Kind: String, Sendable, CaseIterable {
    /// The cache breaks a MUST.
    case required
    /// The cache may miss, but a good cache hits.
    case optimal
    /// Neither: the behaviour of the cache is recorded.
    case check
  }

  var id: String
  var name: String
  var kind: Kind
  var dependsOn: [String]
  var isForBrowsersOnly: Bool
  var isForCDNsOnly: Bool
  var isNotForBrowsers: Bool
  /// The kinds of cache that it applies to: `private`, `shared`, `cdn` (which is shared, too). If empty, all kinds that
  /// the other flags allow.
  var caches: [String]
  /// Sections of the standards that it tests.
  var sections: [String]
  /// Whether it needs a virtual clock, or is ``isInMemoryOnly``.
  var isVirtualOnly: Bool
  /// Whether it needs messages that a socket cannot carry, or that SwiftNIO does not parse.
  var isInMemoryOnly: Bool
  /// The cache's settings, besides its kind.
  var options: ScenarioOptions
  var steps: [Step]

  /// Whether nothing is expected but the defaults.
  var expectsNothing: Bool { !steps.contains { $0.names.contains { $0.hasPrefix("expected_") } } }
}

extension Scenario {
  func mentions(_ word: String) -> Bool { steps.contains { $0.mentions(word) } }
}

/// The cache's settings for a scenario; missing ones have the runner's defaults.
struct ScenarioOptions: Decodable, Hashable, Sendable {
  var usesHeuristics: Bool?
  var whenDisconnected: CacheEngine.DisconnectedUse?
  var usesNoVarySearch: Bool?
  var negotiatesLanguage: Bool?
  var normalizes: Set<NegotiationField>?
  var acceptsStrongTagForWeak: Bool?
  var setCookie: CacheEngine.SetCookieUse?
  var clearsSiteData: Bool?
  var targets: [String]?
  var reload: CacheEngine.ReloadUse?
  var rules: CacheRules?
  var name: String?
  var showsKeys: Bool?

  init() {}

  private enum CodingKeys: String, CodingKey, CaseIterable {
    case usesHeuristics, whenDisconnected, usesNoVarySearch, negotiatesLanguage, normalizes
    case acceptsStrongTagForWeak, setCookie, clearsSiteData, targets, reload, rules, name, showsKeys
  }

  /// The names in the format.
  static let names = CodingKeys.allCases.map(\.rawValue)
}

/// One request of a scenario, the origin's response if the request reaches it, and the response that the client must
/// get.
struct Step: Sendable {
  private let values: [String: JSONValue]

  init(_ values: [String: JSONValue]) { self.values = values }

  subscript(name: String) -> JSONValue? { values[name] }

  /// The names that the step uses.
  var names: [String] { values.keys.sorted() }

  fileprivate func mentions(_ word: String) -> Bool { values.values.contains { $0.mentions(word) } }

  func flag(_ name: String) -> Bool { values[name] == .bool(true) }
  func text(_ name: String) -> String? { values[name]?.text }
  func list(_ name: String) -> [JSONValue] { values[name]?.list ?? [] }

  /// Fields given as `[name, value]` or `[name, value, isChecked]`.
  func fields(_ name: String) -> [FieldSpecification] { list(name).compactMap(FieldSpecification.init) }

  /// Whether a failure of this check means that the scenario could not be set up.
  func isSetup(_ check: String) -> Bool {
    flag("setup") || list("setup_tests").contains { $0.text == check }
  }
}

struct FieldSpecification: Sendable {
  var name: String
  var value: JSONValue
  var isChecked: Bool

  init?(_ value: JSONValue) {
    guard let parts = value.list, parts.count >= 2, let name = parts[0].text else { return nil }
    self.name = name
    self.value = parts[1]
    isChecked = parts.count < 3 || parts[2] != .bool(false)
  }
}

/// A value of JSON whose type is not known beforehand.
enum JSONValue: Hashable, Sendable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// Whether any text in the value contains this one.
  func mentions(_ word: String) -> Bool {
    switch self {
    case .string(let text): text.contains(word)
    case .array(let values): values.contains { $0.mentions(word) }
    case .object(let values): values.values.contains { $0.mentions(word) }
    case .null, .bool, .number: false
    }
  }

  var text: String? { if case .string(let value) = self { value } else { nil } }
  var list: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
  var integer: Int64? {
    if case .number(let value) = self, value.magnitude < 1e15 { Int64(value) } else { nil }
  }
}
