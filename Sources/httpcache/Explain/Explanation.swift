// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine

/// The behaviour of caches for one exchange, ready to be shown.
struct Explanation: Hashable {
  /// The result in one line: `Private and shared caches: cached for 1 minute (60 s).`
  var verdict = ""
  /// `GET http://a.example/ -> 200 OK`.
  var title: String
  /// Assumptions, because the input does not say it.
  var notes: [String]
  /// Suggestions for the author of the response, ranked.
  var advice: [AdviceNote] = []
  var verdicts: [Verdict]

  /// The behaviour of one kind of cache, or of both kinds if they agree.
  struct Verdict: Hashable {
    var kinds: [CacheEngine.Configuration.Kind]
    var statements: [Statement]
  }

  /// One answer: a sentence, the section it is based on, and literal lines.
  struct Statement: Hashable {
    var topic: Topic
    var sentence: String
    var section: String?
    var lines: [String] = []

    init(_ topic: Topic, _ sentence: String, section: String? = nil, lines: [String] = []) {
      (self.topic, self.sentence, self.section, self.lines) = (topic, sentence, section, lines)
    }

    /// Makes a statement of a sentence, followed by the engine's reason.
    init(_ topic: Topic, _ sentence: String = "", because reason: CacheEngine.Reason, lines: [String] = []) {
      self.init(
        topic, sentence.isEmpty ? reason.sentence : sentence + " " + reason.sentence, section: reason.section,
        lines: lines)
    }
  }

  /// The topic of a statement.
  enum Topic: Hashable {
    case request
    case stored
    case fresh
    case age
    case atOnce
    case stale
    case afterwards
    case originFails
    case conditions
    case matches
    case leftOut
    case invalidatedBy
    case invalidates
    case later(seconds: Int64)

    var label: String {
      switch self {
      case .request: "Request"
      case .stored: "Stored"
      case .fresh: "Fresh"
      case .age: "Age now"
      case .atOnce: "Reused"
      case .stale: "When stale"
      case .afterwards: "Afterwards"
      case .originFails: "On failure"
      case .conditions: "Conditions"
      case .matches: "Answers"
      case .leftOut: "Omitted"
      case .invalidatedBy: "Invalidated by"
      case .invalidates: "Invalidates"
      case .later(let seconds): "After \(seconds) s"
      }
    }
  }
}
