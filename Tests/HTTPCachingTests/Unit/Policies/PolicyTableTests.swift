// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

/// Every cell of `Policies.md`, run through a cache.
@Suite(.timeLimit(.minutes(10)))
struct PolicyTableTests {
  private static let table = Result { try PolicyTable() }

  @Test("The policy table has every cell once, and no unused row")
  func complete() throws {
    let table = try Self.table.get()
    #expect(table.cells.count == 6 * 2 * 19 * 18)
    #expect(table.plans.count == table.cells.count)
    var used: Set<Int> = []
    for cell in table.cells {
      guard let plans = table.plans[cell], plans.count == 1 else {
        Issue.record("\(cell) is there \(table.plans[cell]?.count ?? 0) times")
        continue
      }
      let rules = table.rules.indices.filter { table.rules[$0].covers(cell, plan: plans[0]) }
      if rules.count != 1 { Issue.record("\(cell), \(plans[0]): \(rules.count) rows of answers") }
      used.formUnion(rules)
      let forwards = table.forwards.filter { $0.covers(cell) }
      if forwards.count != 1 { Issue.record("\(cell): \(forwards.count) rows of forwarding") }
    }
    #expect(used.count == table.rules.count)
    let names = Set(table.states.map(\.name)).union(table.requests.map(\.name))
      .union(RequestCachePolicy.allCases.map(\.rawValue)).union(PolicyTable.Kind.allCases.map(\.rawValue))
    for selector in table.rules.flatMap({ [$0.policies, $0.kinds, $0.states, $0.requests] }) {
      #expect(selector.names.isSubset(of: names))
    }
  }

  @Test(
    "Each policy does what the table says in every cell",
    arguments: RequestCachePolicy.allCases, PolicyTable.Kind.allCases)
  func cells(policy: RequestCachePolicy, kind: PolicyTable.Kind) async throws {
    let table = try Self.table.get()
    var run = try PolicyRun(table, kind)
    for cell in table.cells where cell.policy == policy && cell.kind == kind {
      try await run.add(cell)
    }
    run.clock.advance(seconds: PolicyRun.delay)
    for trial in run.trials { try await run.ask(trial) }
    // No client waits for a validation in the background.
    try await run.cache.fetches.emptied()
    for trial in run.trials { try await run.lookAfterwards(trial) }
    #expect(run.trials.count == 19 * 18 * 5)
    #expect(run.differences.isEmpty, "\(run.differences.count): \(run.differences.prefix(20))")
  }
}

/// All cells of one policy and one kind of cache, each with a URI of its own, side by side in one cache.
private struct PolicyRun {
  struct Trial {
    var path: String
    var cell: PolicyTable.Cell
    var plan: String
    var answer: PolicyTable.Answer
    var expected: PolicyTable.Outcome
    /// The fields of the response stored at first.
    var state: HTTPFields
    var fields: HTTPFields
    var forward: Set<String>
    var origin: MemoryOrigin

    var description: String {
      "\(cell.policy) \(cell.kind) \(cell.state) \(cell.request) \(answer.rawValue) (\(plan))"
    }
  }

  let table: PolicyTable
  let clock = ManualClock(PolicyTable.start)
  let cache: HTTPCache
  private(set) var trials: [Trial] = []
  private(set) var differences: [String] = []

  init(_ table: PolicyTable, _ kind: PolicyTable.Kind) throws {
    self.table = table
    cache = HTTPCache(
      store: try CacheStore(.init(memoryCapacity: 64 << 20, diskCapacity: 0, directory: nil)),
      configuration: .init(kind: kind), clock: clock)
  }

  private func request(_ path: String, _ language: String, _ fields: HTTPFields = [:]) -> HTTPRequest {
    var request = HTTPRequest.get(path, fields: fields)
    request.headerFields[.acceptLanguage] = language
    return request
  }

  /// Has the state's response stored, once for each answer.
  mutating func add(_ cell: PolicyTable.Cell) async throws {
    guard let plan = table.plans[cell]?.first,
      let state = table.states.first(where: { $0.name == cell.state }),
      let asked = table.requests.first(where: { $0.name == cell.request }),
      let rule = table.rules.first(where: { $0.covers(cell, plan: plan) }),
      let forward = table.forwards.first(where: { $0.covers(cell) })
    else { return differences.append("\(cell): not in the table") }
    for answer in PolicyTable.Answer.allCases {
      guard let expected = rule.outcomes[answer] else { continue }
      let path = "/\(trials.count)"
      let origin = MemoryOrigin { [clock, fields = state.fields] _, _ in
        try Self.respond(answer, fields, at: clock.now)
      }
      trials.append(
        Trial(
          path: path, cell: cell, plan: plan, answer: answer, expected: expected, state: state.fields,
          fields: asked.fields, forward: forward.reasons, origin: origin))
      guard !state.fields.isEmpty else { continue }
      _ = try await cache.respond(to: request(path, "de")) { [fields = state.fields] _, _ in
        Self.response("old", 200, fields, at: PolicyTable.start)
      }
    }
  }

  private static func respond(
    _ answer: PolicyTable.Answer, _ state: HTTPFields, at time: Timestamp
  ) throws -> TransportResponse {
    switch answer {
    case .ok: response("200", 200, [.cacheControl: "max-age=600", .eTag: "\"v2\""], at: time)
    case .notModified: response("", 304, state, at: time)
    case .notFound: response("404", 404, [.cacheControl: "max-age=600"], at: time)
    case .serverError: response("500", 500, [:], at: time)
    case .unreachable: throw Unreachable()
    }
  }

  private static func response(
    _ body: String, _ status: Int, _ fields: HTTPFields, at time: Timestamp
  ) -> TransportResponse {
    var fields = fields
    fields[.date] = time == PolicyTable.start ? storingDate : askingDate
    return .ok(body, fields, status: .init(code: status))
  }

  static let delay: Int64 = 100
  private static let storingDate = HTTPDate(PolicyTable.start).fieldValue
  private static let askingDate = HTTPDate(PolicyTable.start.advanced(bySeconds: delay)).fieldValue

  // MARK: - The request under test

  mutating func ask(_ trial: Trial) async throws {
    var client: String
    do {
      let response = try await cache.respond(
        to: request(trial.path, "en", trial.fields), policy: trial.cell.policy,
        transport: trial.origin.transport)
      let body = try await response.text
      let isStored = response.source != .network && response.source != .generated
      client = isStored ? response.source.rawValue : String(response.head.status.code)
      check(isStored == (body == "old"), trial, "content '\(body)' as \(client)")
      check(response.cacheStatus, trial)
    } catch let error as HTTPCacheError where error.code == .notCached {
      client = "refused"
    } catch is Unreachable {
      client = "error"
    }
    check(client == trial.expected.client, trial, "the client got \(client)")
    if trial.plan != "R" { checkOrigin(trial) }
  }

  /// How often the origin was asked, and with which conditions.
  private mutating func checkOrigin(_ trial: Trial) {
    let asked = trial.origin.requests
    let isAsked = "VFR".contains(trial.plan)
    check(asked.count == (isAsked ? 1 : 0), trial, "the origin was asked \(asked.count) times")
    guard isAsked, let sent = asked.first?.headerFields else { return }
    let validates = trial.plan != "F"
    check(sent[.ifNoneMatch] == (validates ? trial.state[.eTag] : nil), trial, "the tags sent")
    check(sent[.ifModifiedSince] == (validates ? trial.state[.lastModified] : nil), trial, "the date sent")
  }

  private mutating func check(_ status: CacheStatus, _ trial: Trial) {
    let isHit = "STR".contains(trial.plan)
    let isForwarded = "VF".contains(trial.plan)
    let reason = status.forward?.rawValue
    check(
      status.isHit == isHit && (reason != nil) == isForwarded && reason.map(trial.forward.contains) != false,
      trial, "Cache-Status: \(status.fieldValue)")
  }

  // MARK: - Afterwards

  mutating func lookAfterwards(_ trial: Trial) async throws {
    if trial.plan == "R" { checkOrigin(trial) }
    var stored = "nothing"
    if let response = cache.storedResponse(for: request(trial.path, "en"), policy: .returnCacheDataDontLoad) {
      stored = try await response.text
      if stored == "old" { stored = response.age == .zero ? "fresh" : "kept" }
    }
    let nothingToKeep: Set = ["none", "noStore", "otherVariant"]
    let hadNone =
      nothingToKeep.contains(trial.cell.state)
      || (trial.cell.state == "private" && trial.cell.kind == .shared)
    let expected = trial.expected.stored == "kept" && hadNone ? "nothing" : trial.expected.stored
    check(stored == expected, trial, "\(stored) is stored, and not \(expected)")
  }

  private mutating func check(_ holds: Bool, _ trial: Trial, _ what: @autoclosure () -> String) {
    if !holds { differences.append("\(trial.description): \(what())") }
  }
}
