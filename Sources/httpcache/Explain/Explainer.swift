// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import HTTPTypes

/// Explains an exchange with the engine's two entry points.
///
/// It contains no rule of caching: for later requests, it asks the engine as of that time.
struct Explainer {
  var kinds: [CacheEngine.Configuration.Kind] = CacheEngine.Configuration.Kind.allCases
  var policy = RequestCachePolicy.useProtocolCachePolicy
  /// Seconds from the arrival until the same request is repeated.
  var after: Int64?
  /// When the response arrived, if it differs from its Date.
  var now: Timestamp?
  /// The clock, for a response without Date.
  var systemTime: Timestamp
  var url: TargetURI?
  /// The caches' target list (RFC 9213).
  var targets: [String] = []
  /// The rules of an operator.
  var rules = CacheRules()

  /// - Parameter earlier: the preceding exchanges, whose redirects lead from ``url`` to this one.
  func explain(_ exchange: RecordedExchange, after earlier: [RecordedExchange] = []) -> Explanation {
    var notes: [String] = []
    let request = request(of: exchange, earlier, &notes)
    let arrival = arrival(of: exchange.response, &notes)
    let target = TargetURI(request)?.text ?? request.path ?? ""
    let status = exchange.response.status
    let phrase = status.reasonPhrase.isEmpty ? "" : " " + status.reasonPhrase

    if exchange.isStatusAssumed { notes.append("The input has no status line; 200 (OK) is assumed.") }
    var verdicts: [Explanation.Verdict] = []
    var effects: [CacheEngine.Configuration.Kind: CacheEffect] = [:]
    var sharesCookie = false
    for kind in kinds {
      let ruled = RuleExplanation(of: request, by: rules, .init(kind: kind, targets: targets))
      if kind == kinds.first, !ruled.rules.isEmpty {
        notes.append("Rules that match: \(ruled.rules.map(\.name).joined(separator: ", ")).")
      }
      let question = Question(
        engine: ruled.engine, request: ruled.request, response: ruled.response(exchange.response),
        arrival: arrival)
      let (statements, effect, stored) = statements(question)
      effects[kind] = effect
      if kind == .shared, stored?.setsCookie == true { sharesCookie = true }
      if let same = verdicts.firstIndex(where: { $0.statements == statements }) {
        verdicts[same].kinds.append(kind)
      } else {
        verdicts.append(.init(kinds: [kind], statements: statements))
      }
    }
    return Explanation(
      verdict: CacheEffect.verdict(effects),
      title: "\(request.method.rawValue) \(target) -> \(status.code)\(phrase)", notes: notes,
      advice: AdviceNote.all(
        about: AdviceSubject(
          exchange.response, effects: effects, sharesCookie: sharesCookie, arrival: arrival)),
      verdicts: verdicts)
  }

  // MARK: - The request and the time

  private func request(
    of exchange: RecordedExchange, _ earlier: [RecordedExchange], _ notes: inout [String]
  ) -> HTTPRequest {
    guard let recorded = exchange.request else {
      // Without requests, the preceding redirects determine the target.
      let target = earlier.reduce(url ?? Self.placeholder) { target, redirect in
        guard redirect.response.status.kind == .redirection,
          let location = redirect.response.headerFields[.location]
        else { return target }
        return target.resolving(location) ?? target
      }
      notes.append(
        url == nil
          ? "The input has no request; a plain GET of \(target.text) is assumed. Use --url for another target."
          : "The input has no request; a GET without further fields is assumed.")
      return HTTPRequest(
        method: .get, scheme: target.scheme, authority: target.authority, path: target.path)
    }
    let base: TargetURI
    if let url {
      base = url
    } else {
      if recorded.host == nil, !recorded.target.contains("://") {
        notes.append("The request has no Host; \(Self.placeholder.authority) is assumed.")
      }
      base = TargetURI(
        scheme: recorded.isEncrypted == true ? "https" : "http",
        authority: recorded.host ?? Self.placeholder.authority, path: "/")
    }
    let isPath = recorded.target.hasPrefix("/")
    let target =
      isPath ? TargetURI(scheme: base.scheme, authority: base.authority, path: recorded.target) : nil
    let resolved = target ?? (recorded.target.contains("://") ? base.resolving(recorded.target) : nil)
    return HTTPRequest(
      method: recorded.method, scheme: resolved?.scheme ?? base.scheme,
      authority: resolved?.authority ?? base.authority, path: resolved?.path ?? recorded.target,
      headerFields: recorded.fields)
  }

  private static let placeholder = TargetURI(scheme: "http", authority: "example.com", path: "/")

  private func arrival(of response: HTTPResponse, _ notes: inout [String]) -> Timestamp {
    if let now { return now }
    if let date = ResponseFields(response.headerFields, now: systemTime, targets: []).date.date {
      notes.append(
        "The response is assumed to arrive at its Date, \(date.fieldValue). Use --now for another time.")
      return date.timestamp
    }
    notes.append(
      "The response has no valid Date; it is assumed to arrive now, at \(HTTPDate(systemTime).fieldValue).")
    return systemTime
  }

  // MARK: - The statements

  /// Returns the statements, the effect, and the response as it is stored.
  private func statements(
    _ question: Question
  ) -> ([Explanation.Statement], CacheEffect, StoredResponse?) {
    var statements: [Explanation.Statement] = []
    let forwarding: CacheEngine.Forwarding
    switch question.firstPlan {
    case .forward(let sent):
      forwarding = sent
      if sent.reason != .nothingStored { statements.append(.init(.request, because: sent.reason)) }
    case .fail(let refusal):
      let status = refusal.response.status.code
      let statement = Explanation.Statement(
        .request, "The cache answers \(status) without a request to the origin.", because: refusal.reason)
      return ([statement], .refused(refusal.reason), nil)
    // The store has nothing that could be served.
    case .serve(let service): return ([], .refused(service.reason), nil)
    }
    let outcome = question.outcome(of: forwarding)
    if !outcome.invalidations.isEmpty {
      statements.append(
        .init(
          .invalidates, because: .invalidatedByUnsafeMethod, lines: outcome.invalidations.map(\.text)))
    }
    for invalidated in outcome.invalidatedScopes {
      statements.append(
        .init(.invalidates, because: invalidated.reason, lines: [invalidated.scope.description]))
    }
    guard case .store(let stored, let reason) = outcome.storage else {
      if let reason = outcome.storage.reason { statements.append(.init(.stored, "No.", because: reason)) }
      return (
        statements + later(question, []), .refused(outcome.storage.reason ?? outcome.reason), nil
      )
    }
    let effect = question.effect(of: stored, refusal: reason)
    statements.append(storing(stored, reason, effect))
    statements += reuse(question, stored)
    statements += later(question, [stored])
    return (statements, effect, stored)
  }

  /// States that the response is stored, and the purpose: if storing gains nothing, this says so at once.
  private func storing(
    _ stored: StoredResponse, _ reason: CacheEngine.Reason, _ effect: CacheEffect
  ) -> Explanation.Statement {
    switch effect {
    case .refused, .fresh, .staleFor: return .init(.stored, "Yes.", because: reason)
    case .revalidated:
      return .init(
        .stored, "Yes, and it is revalidated at every use.", section: reason.section)
    case .refetched:
      let why =
        stored.selecting.isUnmatchable
        ? "no request matches its Vary" : "it is not fresh, and has no validator"
      return .init(
        .stored, "Yes, but it is effectively not cached: \(why), so every use refetches it.",
        section: reason.section)
    }
  }

  /// Explains the same request, repeated some seconds later.
  private func later(_ question: Question, _ candidates: [StoredResponse]) -> [Explanation.Statement] {
    guard after != nil || policy != .useProtocolCachePolicy else { return [] }
    let seconds = after ?? 0
    let plan = question.plan(candidates, policy: policy, after: seconds)
    let topic = Explanation.Topic.later(seconds: seconds)
    switch plan {
    case .serve(let service):
      let state =
        service.isStale ? "stale" : "fresh for another \(Phrases.duration(service.remainingSeconds))"
      let answer =
        service.content == .notModified ? "304, because the client already has it" : "the stored response"
      var sentence = "Answered with \(answer): \(Phrases.duration(service.ageInSeconds)) old, \(state)."
      if service.revalidation != nil {
        sentence += " It is revalidated in the background."
      }
      return [
        .init(
          topic, sentence, because: service.reason,
          lines: service.revalidation.map { question.added(by: $0) } ?? [])
      ]
    case .forward(let forwarding):
      let how = forwarding.isValidation ? "Sent to the origin with conditions." : "Sent to the origin."
      return [.init(topic, how, because: forwarding.reason, lines: question.added(by: forwarding))]
    case .fail(let refusal): return [.init(topic, "Not answered from the store.", because: refusal.reason)]
    }
  }
}

/// One exchange, and the questions about it to an engine.
struct Question {
  var engine: CacheEngine
  var request: HTTPRequest
  var response: HTTPResponse
  var arrival: Timestamp

  /// The same question without the request's own directives: the result is about the response for all clients.
  var withoutDirectives: Question {
    var plain = self
    plain.request.headerFields[.cacheControl] = nil
    HTTPField.Name("Pragma").map { plain.request.headerFields[$0] = nil }
    return plain
  }

  /// The plan for the first request, with an empty store.
  var firstPlan: CacheEngine.Plan { plan([], after: 0) }

  func plan(
    _ candidates: [StoredResponse], _ request: HTTPRequest? = nil,
    policy: RequestCachePolicy = .useProtocolCachePolicy, after seconds: Int64
  ) -> CacheEngine.Plan {
    engine.plan(
      for: request ?? self.request, policy: policy, candidates: candidates,
      now: arrival.advanced(bySeconds: seconds))
  }

  func outcome(
    of forwarding: CacheEngine.Forwarding, _ candidates: [StoredResponse] = [],
    _ result: CacheEngine.Exchange.Result? = nil,
    after seconds: Int64 = 0
  ) -> CacheEngine.Outcome {
    let time = arrival.advanced(bySeconds: seconds)
    return engine.outcome(
      of: CacheEngine.Exchange(
        forwarding: forwarding, candidates: candidates, result: result ?? .response(response),
        requestTime: time, responseTime: time))
  }

  /// Returns the fields that a forwarded request has in addition to the client's.
  func added(by forwarding: CacheEngine.Forwarding) -> [String] {
    let before = Set(forwarding.original.headerFields)
    return forwarding.request.headerFields.filter { !before.contains($0) }.map {
      "\($0.name.rawName): \($0.value)"
    }
  }
}
