// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import HTTPTypes

/// Reads files of scenarios, and refuses what the runner does not know: a misspelt expectation would check nothing.
struct ScenarioFile: Sendable {
  /// The name for messages.
  let name: String
  private(set) var suites: [ScenarioSuite] = []
  /// The places of the ids that scenarios depend on.
  private var dependencies: [(id: String, place: JSONNode)] = []
  private var ids: Set<String> = []
  private let bytes: [UInt8]
  private var problems: [JSONProblem] = []

  /// Reads the files of one run.
  ///
  /// - Throws: ``ScenarioProblems``.
  static func read(_ files: [(name: String, bytes: [UInt8])]) throws(ScenarioProblems) -> [ScenarioSuite] {
    var read = files.map { ScenarioFile($0.name, $0.bytes) }
    let ids = read.reduce(into: Set<String>()) { $0.formUnion($1.ids) }
    var seen: Set<String> = []
    for index in read.indices {
      read[index].checkIDs(ids, repeated: seen)
      seen.formUnion(read[index].ids)
    }
    let lines = read.flatMap(\.lines)
    guard lines.isEmpty else { throw ScenarioProblems(lines: lines) }
    return read.flatMap(\.suites)
  }

  private init(_ name: String, _ bytes: [UInt8]) {
    (self.name, self.bytes) = (name, bytes)
    do {
      let root = try JSONNode.parse(bytes)
      suites = list(root, "the file").map { suite($0) }
      if suites.allSatisfy(\.tests.isEmpty) { note(root, "expected a scenario, found none") }
    } catch {
      problems.append(error)
    }
  }

  private mutating func checkIDs(_ all: Set<String>, repeated: Set<String>) {
    for (id, place) in dependencies where !all.contains(id) {
      note(place, "depends_on: no scenario has the id '\(id)'; pass the file that has it, too")
    }
    for id in ids.intersection(repeated).sorted() {
      problems.append(JSONProblem(offset: 0, text: "another file also has a scenario with the id '\(id)'"))
    }
  }

  /// The problems, as compilers print them.
  private var lines: [String] {
    problems.sorted { $0.offset < $1.offset }.map { problem in
      let before = bytes.prefix(problem.offset)
      let line = before.count { $0 == UInt8(ascii: "\n") } + 1
      let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
      return "\(name):\(line):\(problem.offset - start + 1): \(problem.text)"
    }
  }

  private mutating func note(_ node: JSONNode, _ text: String) {
    problems.append(JSONProblem(offset: node.range.lowerBound, text: text))
  }

  // MARK: - Suites and scenarios

  private mutating func suite(_ node: JSONNode) -> ScenarioSuite {
    let members = members(
      node, "a suite",
      ["name": .text, "id": .text, "description": .text, "spec_anchors": .texts, "tests": .any])
    let tests = members["tests"].map { list($0, "tests") } ?? missing("tests", of: "a suite", node)
    return ScenarioSuite(
      name: text(members["name"]), id: text(members["id"]), tests: tests.map { scenario($0) })
  }

  private static let scenarioNames: [String: Shape] = [
    "id": .text, "name": .text, "description": .text, "spec_anchors": .texts,
    "kind": .oneOf(Scenario.Kind.allCases.map(\.rawValue)), "depends_on": .texts, "browser_only": .flag,
    "browser_skip": .flag, "cdn_only": .flag, "virtual_only": .flag, "memory_only": .flag,
    "caches": .someOf(["private", "shared", "cdn"]), "sections": .texts, "options": .any, "requests": .any,
  ]

  private mutating func scenario(_ node: JSONNode) -> Scenario {
    let members = members(node, "a scenario", Self.scenarioNames)
    if members["id"] == nil { note(node, "expected the name 'id' of a scenario") }
    let id = text(members["id"])
    if !ids.insert(id).inserted, let place = members["id"] {
      note(place, "another scenario has the id '\(id)'")
    }
    for place in members["depends_on"]?.list ?? [] { dependencies.append((text(place), place)) }
    let steps =
      members["requests"].map { list($0, "requests") } ?? missing("requests", of: "a scenario", node)
    if steps.isEmpty, let place = members["requests"] { note(place, "requests: expected a step, found none") }
    func flag(_ name: String) -> Bool { members[name]?.value == .bool(true) }
    func texts(_ name: String) -> [String] { members[name]?.list?.compactMap { $0.value.text } ?? [] }
    return Scenario(
      id: id, name: text(members["name"]), kind: Scenario.Kind(rawValue: text(members["kind"])) ?? .required,
      dependsOn: texts("depends_on"), isForBrowsersOnly: flag("browser_only"),
      isForCDNsOnly: flag("cdn_only"),
      isNotForBrowsers: flag("browser_skip"), caches: texts("caches"), sections: texts("sections"),
      isVirtualOnly: flag("virtual_only") || flag("memory_only"), isInMemoryOnly: flag("memory_only"),
      options: members["options"].map { options($0) } ?? ScenarioOptions(), steps: steps.map { step($0) })
  }

  private mutating func options(_ node: JSONNode) -> ScenarioOptions {
    for member in node.members ?? [] where !ScenarioOptions.names.contains(member.name) {
      problems.append(JSONProblem(offset: member.offset, text: "options: unknown name '\(member.name)'"))
    }
    do {
      return try JSONDecoder().decode(ScenarioOptions.self, from: Data(bytes[node.range]))
    } catch {
      let text = (error as? DecodingError)?.explanation ?? "\(error)"
      note(node, "options: \(text)")
      return ScenarioOptions()
    }
  }

  private mutating func step(_ node: JSONNode) -> Step {
    Step(members(node, "a step", Step.shapes).mapValues(\.value))
  }

  // MARK: - Values

  /// Returns the members of an object by their names, after it has checked names and values.
  private mutating func members(_ node: JSONNode, _ what: String, _ shapes: [String: Shape]) -> [String:
    JSONNode]
  {
    guard let members = node.members else {
      note(node, "expected \(what), an object")
      return [:]
    }
    var found: [String: JSONNode] = [:]
    for member in members {
      guard let shape = shapes[member.name] else {
        problems.append(JSONProblem(offset: member.offset, text: "unknown name '\(member.name)' of \(what)"))
        continue
      }
      if found.updateValue(member.value, forKey: member.name) != nil {
        problems.append(JSONProblem(offset: member.offset, text: "\(member.name) is there twice"))
      }
      if let expected = shape.objection(to: member.value.value) {
        note(member.value, "\(member.name): expected \(expected)")
      }
    }
    return found
  }

  private mutating func list(_ node: JSONNode, _ what: String) -> [JSONNode] {
    if let list = node.list { return list }
    note(node, "\(what): expected an array")
    return []
  }

  private mutating func missing(_ name: String, of what: String, _ node: JSONNode) -> [JSONNode] {
    if node.members != nil { note(node, "expected the name '\(name)' of \(what)") }
    return []
  }

  private func text(_ node: JSONNode?) -> String { node?.value.text ?? "" }
}

/// What is wrong with files of scenarios, a line for each problem.
struct ScenarioProblems: Error, CustomStringConvertible {
  let lines: [String]

  private static let limit = 20

  var description: String {
    let rest = lines.count > Self.limit ? ["… and \(lines.count - Self.limit) more"] : []
    return (lines.prefix(Self.limit) + rest).joined(separator: "\n")
  }
}

extension DecodingError {
  /// The problem, and the name of the value.
  fileprivate var explanation: String {
    switch self {
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
      .dataCorrupted(let context):
      "\(context.codingPath.map(\.stringValue).joined(separator: ".")): \(context.debugDescription)"
    @unknown default: "\(self)"
    }
  }
}
