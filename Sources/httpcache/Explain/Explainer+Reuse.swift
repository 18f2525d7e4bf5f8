// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

extension Explainer {
  /// Explains the reuse of a stored response, by asking the engine at the relevant moments.
  func reuse(_ question: Question, _ stored: StoredResponse) -> [Explanation.Statement] {
    var statements = [freshness(question, stored), age(question, stored)]
    // Rounded up, so that the lifetime is over then: a heuristic lifetime need not be whole seconds.
    let remaining = max(0, (stored.facts.remainingLifetime(at: question.arrival) + 999) / 1000)
    let plain = question.withoutDirectives
    statements += atOnce(plain, stored, remaining)
    statements += whenStale(plain, stored, remaining)
    statements += onFailure(plain, stored, remaining)
    statements.append(matches(plain, stored))
    statements += leftOut(plain, stored)
    statements += endedBy(plain, stored)
    return statements
  }

  private func freshness(_ question: Question, _ stored: StoredResponse) -> Explanation.Statement {
    let lifetime = stored.facts.lifetime
    let remaining = stored.facts.remainingLifetime(at: question.arrival) / 1000
    var sentence = ""
    if lifetime.milliseconds == 0 {
      sentence = "Not at all."
    } else if lifetime.seconds == 0 {
      sentence = "For less than a second."
    } else if remaining > 0 {
      let end = HTTPDate(question.arrival.advanced(bySeconds: remaining))
      sentence = "For \(Phrases.duration(lifetime.seconds)), until \(end.fieldValue)."
    } else {
      sentence = "For \(Phrases.duration(lifetime.seconds)), which had passed when it arrived."
    }
    sentence += " " + lifetime.source.sentence
    let fields = ResponseFields(
      question.response.headerFields, now: question.arrival, targets: question.engine.configuration.targets)
    if let target = fields.target {
      sentence += " Its \(target) overrides Cache-Control and Expires (RFC\u{A0}9213\u{A0}§2.2)."
    }
    if fields.cacheControl.contains(.misplacedTime) {
      sentence += " A time has invalid syntax, and counts as 0."
    } else if fields.cacheControl.contains(.invalidTime) {
      sentence += " A max-age or s-maxage is not a number of seconds, and counts as 0."
    } else if lifetime.source == .expires, fields.expires == .invalid {
      sentence += " Its Expires is not a valid date."
    }
    return .init(.fresh, sentence, section: lifetime.source.section)
  }

  private func age(_ question: Question, _ stored: StoredResponse) -> Explanation.Statement {
    let age = stored.facts.currentAge(at: question.arrival) / 1000
    return .init(
      .age, "\(Phrases.duration(age)), from Age, Date and the time of arrival.", section: "RFC 9111 §4.2.3")
  }

  /// Whether it is reused without a request to the origin during its lifetime.
  private func atOnce(
    _ question: Question, _ stored: StoredResponse, _ remaining: Int64
  ) -> [Explanation.Statement] {
    guard remaining > 0 else { return [] }
    switch question.plan([stored], after: 0) {
    case .serve(let service): return [.init(.atOnce, "Yes, while fresh.", because: service.reason)]
    case .forward(let forwarding):
      return [.init(.atOnce, "Not without a request to the origin.", because: forwarding.reason)]
    case .fail(let refusal): return [.init(.atOnce, "No.", because: refusal.reason)]
    }
  }

  private func whenStale(
    _ question: Question, _ stored: StoredResponse, _ remaining: Int64
  ) -> [Explanation.Statement] {
    var statements: [Explanation.Statement] = []
    var moment = remaining
    if case .serve(let service) = question.plan([stored], after: moment) {
      let window = question.engine.staleSeconds(of: stored).whileRevalidate
      statements.append(
        .init(.stale, "It is still used for another \(Phrases.duration(window)).", because: service.reason))
      moment += window
    }
    guard case .forward(let forwarding) = question.plan([stored], after: moment) else { return statements }
    let what = forwarding.isValidation ? "It is revalidated." : "It is refetched."
    statements.append(.init(statements.isEmpty ? .stale : .afterwards, what, because: forwarding.reason))
    if forwarding.isValidation {
      statements.append(
        .init(
          .conditions, "The revalidation adds these fields; a 304 (Not Modified) makes it fresh again.",
          section: "RFC 9111 §4.3.1", lines: question.added(by: forwarding)))
    } else if question.request.method == .get, stored.selecting.isUnmatchable == false {
      statements.append(
        .init(
          .conditions, "None, because it has neither an ETag nor a valid Last-Modified.",
          section: "RFC 9111 §4.3.1"))
    }
    return statements
  }

  private func onFailure(
    _ question: Question, _ stored: StoredResponse, _ remaining: Int64
  ) -> [Explanation.Statement] {
    // After any stale-while-revalidate window, the cache contacts the origin, which may fail.
    let moments = [remaining, remaining + question.engine.staleSeconds(of: stored).whileRevalidate]
    for moment in moments {
      guard case .forward(let forwarding) = question.plan([stored], after: moment) else { continue }
      let outcome = question.outcome(of: forwarding, [stored], .failure, after: moment)
      guard case .stored = outcome.answer else {
        return [.init(.originFails, "The client gets the error.", because: outcome.reason)]
      }
      let window = question.engine.staleSeconds(of: stored).ifError
      return [
        .init(
          .originFails, "Used for up to \(Phrases.duration(window)) after it became stale.",
          because: outcome.reason)
      ]
    }
    return []
  }

  private func matches(_ question: Question, _ stored: StoredResponse) -> Explanation.Statement {
    let section = CacheEngine.Reason.noVariantMatches.section
    let fields = stored.selecting.fields
    if stored.selecting.isUnmatchable {
      return .init(.matches, "No request: its Vary is * or names no fields.", section: section)
    }
    if fields.isEmpty {
      return .init(.matches, "Every GET and HEAD for this URI: it has no Vary.", section: section)
    }
    return .init(
      .matches, "Only requests for this URI with the same values in these fields:",
      section: section,
      lines: fields.map { field in field.value.map { "\(field.name): \($0)" } ?? "\(field.name) absent" })
  }

  private func leftOut(_ question: Question, _ stored: StoredResponse) -> [Explanation.Statement] {
    let kept = Set(stored.fields.map(\.name))
    var names: [String] = []
    for field in question.response.headerFields
    where !kept.contains(field.name) && !names.contains(field.name.rawName) {
      names.append(field.name.rawName)
    }
    guard !names.isEmpty else { return [] }
    return [
      .init(
        .leftOut, "Fields that are not stored: \(names.joined(separator: ", ")).", section: "RFC 9111 §3.1")
    ]
  }

  /// Explains the effect of a successful POST.
  private func endedBy(_ question: Question, _ stored: StoredResponse) -> [Explanation.Statement] {
    var unsafe = question
    unsafe.request.method = .post
    guard case .forward(let forwarding) = unsafe.plan([stored], after: 0) else { return [] }
    let outcome = unsafe.outcome(of: forwarding, [stored], .response(HTTPResponse(status: .ok)))
    guard !outcome.invalidations.isEmpty else { return [] }
    return [
      .init(
        .invalidatedBy, "A POST, PUT, DELETE or other unsafe request to this URI through the cache.",
        because: .invalidatedByUnsafeMethod)
    ]
  }
}
