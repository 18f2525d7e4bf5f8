// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPTypes

/// `Policies.md`: what is to come of each policy, cache, state, request and answer of the origin.
struct PolicyTable {
  typealias Kind = CacheEngine.Configuration.Kind

  /// What the origin does if it is asked.
  enum Answer: String, CaseIterable {
    case ok = "200"
    case notModified = "304"
    case notFound = "404"
    case serverError = "500"
    case unreachable = "none"
  }

  struct Cell: Hashable {
    var policy: RequestCachePolicy
    var kind: Kind
    var state: String
    var request: String
  }

  /// What the client gets, and what is stored afterwards.
  struct Outcome: Hashable {
    var client: String
    var stored: String
  }

  /// What is said of a state or a request.
  struct Entry {
    var name: String
    var fields: HTTPFields
  }

  /// When the states' responses are stored.
  static let start = Timestamp(seconds: 1_700_000_000)

  private(set) var states: [Entry] = []
  private(set) var requests: [Entry] = []
  /// All that is said of a cell: one letter, if the table is right.
  private(set) var plans: [Cell: [String]] = [:]
  private(set) var rules: [Rule] = []
  private(set) var forwards: [Forward] = []

  struct Rule {
    var plan: String
    var policies: Selector
    var kinds: Selector
    var states: Selector
    var requests: Selector
    var outcomes: [Answer: Outcome]

    func covers(_ cell: Cell, plan: String) -> Bool {
      self.plan == plan && policies.covers(cell.policy.rawValue) && kinds.covers(cell.kind.rawValue)
        && states.covers(cell.state) && requests.covers(cell.request)
    }
  }

  struct Forward {
    var policies: Selector
    var kinds: Selector
    var states: Selector
    var reasons: Set<String>

    func covers(_ cell: Cell) -> Bool {
      policies.covers(cell.policy.rawValue) && kinds.covers(cell.kind.rawValue) && states.covers(cell.state)
    }
  }

  /// `*`, a list of names, or `all but` such a list.
  struct Selector {
    let names: Set<String>
    let isInverted: Bool

    init(_ text: String) {
      let list = text.hasPrefix("all but ") ? String(text.dropFirst(8)) : text
      names = text == "*" ? [] : Set(PolicyTable.list(list))
      isInverted = text == "*" || text.hasPrefix("all but ")
    }

    func covers(_ name: String) -> Bool { names.contains(name) != isInverted }
  }

  struct Malformed: Error {
    var line: String
  }

  var cells: [Cell] {
    RequestCachePolicy.allCases.flatMap { policy in
      Kind.allCases.flatMap { kind in
        states.flatMap { state in
          requests.map { Cell(policy: policy, kind: kind, state: state.name, request: $0.name) }
        }
      }
    }
  }

  // MARK: - Reading

  init() throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
      "Policies.md")
    try self.init(text: String(contentsOf: file, encoding: .utf8))
  }

  init(text: String) throws {
    var (section, title, isHeader) = ("", "", true)
    for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
      if line.hasPrefix("## ") { (section, title) = (String(line.dropFirst(3)), "") }
      if line.hasPrefix("### ") { title = String(line.dropFirst(4)) }
      // A table begins with its header and the line below it.
      guard line.hasPrefix("|") else {
        isHeader = true
        continue
      }
      if line.hasPrefix("|---") { isHeader = false } else if !isHeader { try add(line, section, title) }
    }
  }

  private mutating func add(_ line: String, _ section: String, _ title: String) throws {
    let row = line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false)
      .map { $0.trimmingCharacters(in: .whitespaces) }
    switch section {
    case "States" where row.count == 3: states.append(Self.entry(row))
    case "Requests" where row.count == 2: requests.append(Self.entry(row))
    case "Plans" where row.count == requests.count + 1: try addPlans(row, title)
    case "Answers" where row.count == 5 + Answer.allCases.count: try addRule(row)
    case "Forwarding" where row.count == 4:
      forwards.append(
        Forward(
          policies: Selector(row[0]), kinds: Selector(row[1]), states: Selector(row[2]),
          reasons: Set(Self.list(row[3]))))
    default: throw Malformed(line: line)
    }
  }

  private mutating func addPlans(_ row: [String], _ title: String) throws {
    let parts = title.components(separatedBy: "; ")
    guard parts.count == 2 else { throw Malformed(line: title) }
    let names = row[0] == "*" ? states.map(\.name) : Self.list(row[0])
    for policy in Self.list(parts[0]) {
      for kind in Self.list(parts[1]) {
        guard let policy = RequestCachePolicy(rawValue: policy), let kind = Kind(rawValue: kind) else {
          throw Malformed(line: title)
        }
        for state in names {
          for (request, plan) in zip(requests, row.dropFirst()) {
            let cell = Cell(policy: policy, kind: kind, state: state, request: request.name)
            plans[cell, default: []].append(plan)
          }
        }
      }
    }
  }

  private mutating func addRule(_ row: [String]) throws {
    var outcomes: [Answer: Outcome] = [:]
    for (answer, text) in zip(Answer.allCases, row.dropFirst(5)) {
      let parts = Self.list(text)
      guard parts.count == 2 else { throw Malformed(line: text) }
      outcomes[answer] = Outcome(client: parts[0], stored: parts[1])
    }
    rules.append(
      Rule(
        plan: row[0], policies: Selector(row[1]), kinds: Selector(row[2]), states: Selector(row[3]),
        requests: Selector(row[4]), outcomes: outcomes))
  }

  fileprivate static func list(_ text: String) -> [String] { text.components(separatedBy: ", ") }

  /// `Name: value; Name: value`, with dates relative to the time of storing.
  private static func entry(_ row: [String]) -> Entry {
    var fields = HTTPFields()
    for line in row[1].components(separatedBy: "; ") where !line.isEmpty {
      let parts = line.components(separatedBy: ": ")
      guard parts.count == 2, let name = HTTPField.Name(parts[0]) else { continue }
      var value = parts[1]
      if value.hasPrefix("{"), let seconds = Int64(value.dropFirst().dropLast()) {
        value = HTTPDate(start.advanced(bySeconds: seconds)).fieldValue
      }
      fields.append(HTTPField(name: name, value: value))
    }
    return Entry(name: row[0], fields: fields)
  }
}
