// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// Answers a query with the engine's two entry points; it contains no rule of caching.
struct QueryExplainer {
  /// The clock, for a response without Date.
  var systemTime: Timestamp

  func answer(_ query: ExplainQuery) -> ExplainAnswer {
    let engine = CacheEngine(
      .init(kind: query.cache, usesHeuristics: query.options.heuristics))
    let question = Question(
      engine: engine, request: query.request.head, response: query.response.head, arrival: arrival(query))
    let (stored, storedReason) = storing(question)
    let later = question.arrival.advanced(byMilliseconds: query.later.milliseconds)
    let request = query.later.request?.head ?? query.request.head
    // A response stored under another URI is not considered (RFC 9111 §2).
    let isSameKey = Self.key(request) == Self.key(query.request.head)
    let plan = engine.plan(
      for: request, policy: query.policy, candidates: isSameKey ? stored.map { [$0] } ?? [] : [], now: later)
    let effects = [query.cache: question.effect(of: stored, refusal: storedReason)]
    let lifetime = stored.flatMap { $0.facts.lifetime.source == .none ? nil : $0.facts.lifetime }
    return ExplainAnswer(
      stored: stored != nil, storedReason: .init(storedReason), freshnessLifetime: lifetime?.seconds,
      heuristic: lifetime?.source == .heuristic, age: age(question, stored, at: later),
      plan: .init(plan), planReason: .init(plan.reason), conditionalHeaders: preconditions(of: plan),
      verdict: CacheEffect.verdict(effects),
      notes: AdviceNote.all(
        about: AdviceSubject(
          question.response, effects: effects,
          sharesCookie: query.cache == .shared && stored?.setsCookie == true, arrival: question.arrival)))
  }

  /// Returns the key of a request. Two QUERY requests count as having the same content, which a line does not contain.
  private static func key(_ request: HTTPRequest) -> CacheKey? {
    request.method.isQuery ? CacheKey.query(request, content: [], nonce: 0) : CacheKey(request)
  }

  /// Returns when the request is made and the response arrives: at its own Date, so that only Age makes it old.
  private func arrival(_ query: ExplainQuery) -> Timestamp {
    if let now = query.options.now.flatMap({ HTTPDate(parsing: $0, now: systemTime) }) {
      return now.timestamp
    }
    return ResponseFields(query.response.head.headerFields, now: systemTime, targets: []).date.date?.timestamp
      ?? systemTime
  }

  private func storing(_ question: Question) -> (StoredResponse?, CacheEngine.Reason) {
    switch question.firstPlan {
    // A cache that must not contact the origin has no response to store.
    case .fail(let refusal): return (nil, refusal.reason)
    case .serve(let service): return (nil, service.reason)  // Nothing is stored that could be served.
    case .forward(let forwarding):
      let outcome = question.outcome(of: forwarding)
      if case .store(let stored, let reason) = outcome.storage { return (stored, reason) }
      return (nil, outcome.storage.reason ?? outcome.reason)
    }
  }

  /// Returns the age, which does not depend on whether the response may be stored: a plain one with the same Age and
  /// Date may.
  private func age(_ question: Question, _ stored: StoredResponse?, at later: Timestamp) -> Int64 {
    if let stored { return stored.facts.currentAge(at: later) / 1000 }
    var plain = question
    plain.request = HTTPRequest(method: .get, scheme: "http", authority: "example.com", path: "/")
    plain.response = HTTPResponse(status: .ok)
    for name in [HTTPField.Name.age, .date] {
      plain.response.headerFields[fields: name] = question.response.headerFields[fields: name]
    }
    return (storing(plain).0?.facts.currentAge(at: later) ?? 0) / 1000
  }

  private func preconditions(of plan: CacheEngine.Plan) -> [[String]] {
    let forwarding: CacheEngine.Forwarding?
    switch plan {
    case .serve(let service): forwarding = service.revalidation
    case .forward(let sent): forwarding = sent
    case .fail: forwarding = nil
    }
    guard let forwarding, forwarding.isValidation || forwarding.completion != nil else { return [] }
    return forwarding.request.headerFields.filter { Self.preconditions.contains($0.name) }.map {
      [$0.name.rawName, $0.value]
    }
  }

  private static let preconditions: [HTTPField.Name] = [
    .ifNoneMatch, .ifModifiedSince, .ifMatch, .ifUnmodifiedSince, .ifRange,
  ]
}

extension ExplainAnswer.Plan {
  init(_ plan: CacheEngine.Plan) {
    switch plan {
    case .serve(let service): self = service.revalidation == nil ? .serve : .serveAndRevalidate
    case .forward(let forwarding): self = forwarding.isValidation ? .validate : .forward
    case .fail: self = .fail
    }
  }
}

extension Timestamp {
  fileprivate func advanced(byMilliseconds milliseconds: Int64) -> Timestamp {
    let (sum, overflow) = self.milliseconds.addingReportingOverflow(milliseconds)
    return Timestamp(milliseconds: overflow ? .max : sum)
  }
}
