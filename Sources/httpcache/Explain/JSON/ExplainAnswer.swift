// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// One line of output of `httpcache explain --json`.
struct ExplainAnswer: Hashable, Encodable {
  /// The reason of a decision, as the engine gives it.
  struct Because: Hashable, Encodable {
    var code: String
    var section: String
    var text: String

    init(_ reason: CacheEngine.Reason) {
      (code, section, text) = (reason.rawValue, reason.section, reason.sentence)
    }
  }

  enum Plan: String, Encodable {
    case serve
    case validate
    case forward
    case fail
    case serveAndRevalidate
  }

  var stored: Bool
  var storedReason: Because
  /// Whole seconds; `nil` if nothing is stored, or the lifetime is unknown.
  var freshnessLifetime: Int64?
  /// Whether the lifetime is a guess (RFC 9111 §4.2.2).
  var heuristic: Bool
  /// Whole seconds: the age of the response at the later request, stored or not.
  var age: Int64
  var plan: Plan
  var planReason: Because
  /// The preconditions of the request to the origin, in the foreground or in the background.
  var conditionalHeaders: [[String]]
  /// The result in one line.
  var verdict: String
  /// Suggestions for the author of the response, ranked.
  var notes: [AdviceNote]

  private enum CodingKeys: CodingKey {
    case stored, storedReason, freshnessLifetime, heuristic, age, plan, planReason, conditionalHeaders,
      verdict, notes
  }

  func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(stored, forKey: .stored)
    try values.encode(storedReason, forKey: .storedReason)
    // An optional would be left out if it is nil; this key must be present, and null.
    try values.encode(freshnessLifetime, forKey: .freshnessLifetime)
    try values.encode(heuristic, forKey: .heuristic)
    try values.encode(age, forKey: .age)
    try values.encode(plan, forKey: .plan)
    try values.encode(planReason, forKey: .planReason)
    try values.encode(conditionalHeaders, forKey: .conditionalHeaders)
    try values.encode(verdict, forKey: .verdict)
    try values.encode(notes, forKey: .notes)
  }
}

/// The line of output for an invalid line of input.
struct ExplainComplaint: Encodable {
  var error: String
  var line: Int
}
