// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPTypes

/// One line of output of `httpcache explain --json`.
struct ExplainAnswer: Hashable, Encodable {
  /// A decision's reason, as the engine gives it.
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
  /// Whole seconds; `nil` if nothing is stored, or nothing says for how long it is fresh.
  var freshnessLifetime: Int64?
  /// Whether the lifetime is a guess (RFC 9111 §4.2.2).
  var heuristic: Bool
  /// Whole seconds, of the response when the later request comes, stored or not.
  var age: Int64
  var plan: Plan
  var planReason: Because
  /// The preconditions that the origin is asked with, in front of the client or behind its back.
  var conditionalHeaders: [[String]]
  /// What comes of it, in one line.
  var verdict: String
  /// What its author may want to change, ranked.
  var notes: [AdviceNote]

  private enum CodingKeys: CodingKey {
    case stored, storedReason, freshnessLifetime, heuristic, age, plan, planReason, conditionalHeaders,
      verdict, notes
  }

  func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(stored, forKey: .stored)
    try values.encode(storedReason, forKey: .storedReason)
    // An optional would be left out where it is nil; the key is to be there, and null.
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

/// The line of output for a line of input that is wrong.
struct ExplainComplaint: Encodable {
  var error: String
  var line: Int
}
