// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import HTTPTypes

/// A file of scenarios, in the export format of the public suite of cache behaviour.
struct ScenarioSuite: Decodable, Sendable {
  var name: String
  var id: String
  var tests: [Scenario]

  /// Reads a file.
  static func load(_ data: Data) throws -> [ScenarioSuite] {
    try JSONDecoder().decode([ScenarioSuite].self, from: data)
  }
}

/// A few requests in order through a cache to one origin, and the expected result of each.
struct Scenario: Decodable, Sendable {
  /// The severity of a failure.
  enum Kind: String, Decodable, Sendable, CaseIterable {
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

  private enum CodingKeys: String, CodingKey {
    case id, name, kind, requests
    case dependsOn = "depends_on"
    case browserOnly = "browser_only"
    case cdnOnly = "cdn_only"
    case browserSkip = "browser_skip"
    case virtualOnly = "virtual_only"
    case memoryOnly = "memory_only"
    case caches, sections, options
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    id = try container.decode(String.self, forKey: .id)
    name = try container.decode(String.self, forKey: .name)
    kind = try container.decodeIfPresent(Kind.self, forKey: .kind) ?? .required
    dependsOn = try container.decodeIfPresent([String].self, forKey: .dependsOn) ?? []
    isForBrowsersOnly = try container.decodeIfPresent(Bool.self, forKey: .browserOnly) ?? false
    isForCDNsOnly = try container.decodeIfPresent(Bool.self, forKey: .cdnOnly) ?? false
    isNotForBrowsers = try container.decodeIfPresent(Bool.self, forKey: .browserSkip) ?? false
    caches = try container.decodeIfPresent([String].self, forKey: .caches) ?? []
    sections = try container.decodeIfPresent([String].self, forKey: .sections) ?? []
    isInMemoryOnly = try container.decodeIfPresent(Bool.self, forKey: .memoryOnly) ?? false
    let isVirtual = try container.decodeIfPresent(Bool.self, forKey: .virtualOnly) ?? false
    isVirtualOnly = isVirtual || isInMemoryOnly
    options = try container.decodeIfPresent(ScenarioOptions.self, forKey: .options) ?? ScenarioOptions()
    steps = try container.decode([Step].self, forKey: .requests)
    for (index, step) in steps.enumerated() {
      guard let problem = step.problem else { continue }
      throw DecodingError.dataCorruptedError(
        forKey: .requests, in: container, debugDescription: "step \(index + 1): \(problem)")
    }
  }
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
}

/// One request of a scenario, the origin's response if the request reaches it, and the response that the client must
/// get.
struct Step: Decodable, Sendable {
  private let values: [String: JSONValue]

  init(from decoder: any Decoder) throws {
    values = try decoder.singleValueContainer().decode([String: JSONValue].self)
  }

  subscript(name: String) -> JSONValue? { values[name] }

  /// The names that the step uses.
  var names: [String] { values.keys.sorted() }

  /// The names in the format; see Format.md.
  static let knownNames: Set<String> = [
    "request_method", "request_headers", "request_body", "filename", "query_arg", "url", "magic_ims",
    "policy",
    "pause_after", "advance_after", "interim_responses", "response_pause", "response_status",
    "response_headers", "rfc850date", "magic_locations", "response_body", "validates", "ranges", "disconnect",
    "truncate_after", "expected_type", "expected_status", "expected_response_text",
    "expected_response_headers", "expected_response_headers_missing", "expected_interim_responses",
    "expected_method", "expected_request_headers", "expected_request_headers_missing",
    "expected_request_body", "expected_source", "expected_reason", "expected_storage",
    "expected_cache_status",
    "expected_cache_status_missing", "expected_origin_requests", "check_body", "setup", "setup_tests",
  ]

  /// Why the step's request cannot be sent, or its response cannot be made; `nil` if both can.
  var problem: String? {
    if let status = list("response_status").first?.integer, !(100...999).contains(status) {
      return "response_status: expected a status code of three digits"
    }
    if let policy = text("policy"), RequestCachePolicy(rawValue: policy) == nil {
      return "policy: unknown policy \(policy)"
    }
    if let method = text("request_method"), HTTPRequest.Method(rawValue: method) == nil {
      return "request_method: expected a method, found \(method)"
    }
    if let count = values["truncate_after"]?.integer, count < 0 {
      return "truncate_after: expected 0 or more, found \(count)"
    }
    return nil
  }

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
enum JSONValue: Decodable, Hashable, Sendable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    // The most frequent types come first: each failed attempt costs an error.
    if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([JSONValue].self) {
      self = .array(value)
    } else if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

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
