// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// Loosening a directive never makes a response less reusable.
///
/// What counts as loosening is read from RFC 9111: a change after which everything that was allowed before still is. Not all
/// that sound so are, and these are left out:
///
/// - Without `must-revalidate`, a shared cache may not store what answers a request with Authorization (§3.5); so
///   neither the removal of `s-maxage` nor that of `must-revalidate` loosens there.
/// - Without `private`, a private cache may not store a status code that is not cacheable by default (§3).
/// - A `max-age` where there was none replaces Expires and the heuristic, and may be shorter (§4.2.1).
/// - Without `must-understand`, `no-store` counts again (§5.2.2.3).
enum LooseningProperty {
  /// How far a response gets: the further, the more reusable.
  enum Reach: Int {
    case notStored
    case stored
    /// Used if the origin fails.
    case usedOnFailure
    /// Used without a question to the origin.
    case used
  }

  struct Case {
    var engine: CacheEngine
    var status: HTTPResponse.Status
    var directives: [Directive]
    /// What stands between directives.
    var separator = ", "
    var vary: [String]
    var otherFields: HTTPFields
    var firstRequest: HTTPFields
    var asked: [Directive]
    var secondRequest: HTTPFields
    var elapsed: Int64

    var isShared: Bool { engine.configuration.kind == .shared }

    func text(_ directives: [Directive]) -> String { directives.map(\.text).joined(separator: separator) }
  }

  static func loosening(_ bytes: [UInt8]) throws {
    var numbers = InputNumbers(bytes)
    let tight = tight(&numbers)
    let ways = loosened(tight, &numbers)
    guard !ways.isEmpty else { return }
    let loosened = numbers.pick(ways)
    let (before, after) = (reach(tight), reach(loosened))
    try require(after.rawValue >= before.rawValue, "\(before) became \(after): \(tight) -> \(loosened)")
  }

  /// Directives between wrong separators permit no more than between commas.
  static func separating(_ bytes: [UInt8]) throws {
    var numbers = InputNumbers(bytes)
    let valid = tight(&numbers)
    var invalid = valid
    invalid.separator = numbers.pick(["; ", ";", " ", "  ", " ; ", "\" \"", ": ", "/", "\u{0}", ";,"])
    let (before, after) = (reach(valid), reach(invalid))
    try require(after.rawValue <= before.rawValue, "\(before) became \(after): \(invalid)")
  }

  private static func tight(_ numbers: inout InputNumbers) -> Case {
    let isShared = numbers.bool()
    var tight = Case(
      engine: CacheEngine(.init(kind: isShared ? .shared : .private)),
      status: .init(code: numbers.pick(Vocabulary.statuses)),
      directives: numbers.directives(of: Vocabulary.responseDirectives, atMost: 5), vary: [],
      otherFields: [:],
      firstRequest: [:], asked: numbers.directives(of: Vocabulary.requestDirectives, atMost: 3),
      secondRequest: [:],
      elapsed: 0)
    if numbers.byte() > 200 { tight.vary = [numbers.pick(["Accept", "Accept-Language"]), "Cookie"] }
    for _ in 0..<numbers.integer(below: 4) {
      if let field = numbers.responseField() { tight.otherFields.append(field) }
    }
    if numbers.byte() > 200 { tight.firstRequest[.authorization] = "Basic QTpi" }
    if numbers.bool() { tight.firstRequest[.accept] = "a" }
    if numbers.bool() { tight.secondRequest[.accept] = "a" }
    if numbers.byte() > 240, let pragma = HTTPField.Name("Pragma") {
      tight.secondRequest[pragma] = "no-cache"
    }
    tight.elapsed = numbers.seconds()
    return tight
  }

  // MARK: - Loosening

  private static func loosened(_ tight: Case, _ numbers: inout InputNumbers) -> [Case] {
    var cases: [Case] = []
    func add(_ change: (inout Case) -> Void) {
      var loose = tight
      change(&loose)
      cases.append(loose)
    }
    let isAuthorized = tight.firstRequest[.authorization] != nil
    let isCacheableByDefault = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].contains(
      tight.status.code)

    var removable = ["no-store", "no-cache", "proxy-revalidate", "no-transform"]
    if !tight.isShared || !isAuthorized { removable.append("must-revalidate") }
    if tight.isShared || isCacheableByDefault { removable.append("private") }
    for name in removable where tight.directives.contains(where: { $0.name == name }) {
      add { $0.directives.removeAll { $0.name == name } }
    }
    let time = numbers.seconds()
    for name in ["max-age", "s-maxage", "stale-while-revalidate", "stale-if-error"]
    where tight.directives.contains(where: { $0.name == name }) {
      add { raise(name, by: time, in: &$0.directives) }
    }
    for addition in [
      Directive(name: "public"), Directive(name: "immutable"),
      Directive(name: "stale-while-revalidate", argument: String(time)),
      Directive(name: "stale-if-error", argument: String(time)),
    ] where !tight.directives.contains(where: { $0.name == addition.name }) {
      add { $0.directives.append(addition) }
    }
    if !tight.vary.isEmpty { add { $0.vary.removeLast() } }
    // A client that asks for less. The field itself stays, or Pragma might count (§5.4).
    for name in ["no-cache", "no-store", "max-age", "min-fresh"]
    where tight.asked.contains(where: { $0.name == name }) {
      add {
        $0.asked.removeAll { $0.name == name }
        $0.asked.append(Directive(name: "x"))
      }
    }
    for name in ["max-age", "max-stale"]
    where tight.asked.contains(where: { $0.name == name && $0.argument != nil }) {
      add { raise(name, by: time, in: &$0.asked) }
    }
    if !tight.asked.isEmpty, !tight.asked.contains(where: { $0.name == "max-stale" }) {
      add { $0.asked.append(Directive(name: "max-stale", argument: String(time))) }
    }
    return cases
  }

  private static func raise(_ name: String, by time: Int64, in directives: inout [Directive]) {
    for index in directives.indices where directives[index].name == name {
      guard let seconds = directives[index].seconds else { continue }
      let (sum, overflow) = seconds.addingReportingOverflow(time)
      directives[index].argument = String(overflow ? .max : sum)
    }
  }

  // MARK: - Reach

  private static func reach(_ question: Case) -> Reach {
    let engine = question.engine
    var head = HTTPResponse(status: question.status, headerFields: question.otherFields)
    if !question.directives.isEmpty { head.headerFields[.cacheControl] = question.text(question.directives) }
    if !question.vary.isEmpty { head.headerFields[.vary] = question.vary.joined(separator: ", ") }
    var request = HTTPRequest(
      method: .get, scheme: "http", authority: "a.example", path: "/r", headerFields: question.firstRequest)
    guard
      case .forward(let first) = engine.plan(
        for: request, policy: .useProtocolCachePolicy, candidates: [], now: Vocabulary.start),
      case .store(let stored, _) = outcome(engine, first, [], .response(head), Vocabulary.start).storage
    else { return .notStored }
    request.headerFields = question.secondRequest
    if !question.asked.isEmpty { request.headerFields[.cacheControl] = question.text(question.asked) }
    let later = Vocabulary.start.advanced(bySeconds: question.elapsed)
    switch engine.plan(for: request, policy: .useProtocolCachePolicy, candidates: [stored], now: later) {
    case .serve: return .used
    case .fail: return .stored
    case .forward(let forwarding):
      if case .stored = outcome(engine, forwarding, [stored], .failure, later).answer {
        return .usedOnFailure
      }
      return .stored
    }
  }

  private static func outcome(
    _ engine: CacheEngine, _ forwarding: CacheEngine.Forwarding, _ candidates: [StoredResponse],
    _ result: CacheEngine.Exchange.Result,
    _ now: Timestamp
  ) -> CacheEngine.Outcome {
    engine.outcome(
      of: CacheEngine.Exchange(
        forwarding: forwarding, candidates: candidates, result: result, requestTime: now, responseTime: now))
  }
}
