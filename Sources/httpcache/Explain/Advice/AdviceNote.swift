// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// One thing about a response that its author may want to change, and how.
struct AdviceNote: Hashable, Encodable {
  /// How much it matters; the most severe first.
  enum Severity: String, Hashable, Encodable, CaseIterable, Comparable {
    /// Caches do not do what the text says.
    case error
    /// Caches do it, and it is hardly what is wanted.
    case warning
    /// It can be said better.
    case hint

    static func < (lhs: Severity, rhs: Severity) -> Bool { lhs.rank < rhs.rank }
    private var rank: Int { Severity.allCases.firstIndex(of: self) ?? 0 }
  }

  /// The check that found it: `separators`, `misspelt-directive` and so on.
  var code: String
  var severity: Severity
  var text: String
  /// What to write or do instead.
  var fix: String
}

/// What a check found.
struct Finding: Hashable {
  var text: String
  var fix: String

  init(_ text: String, fix: String) { (self.text, self.fix) = (text, fix) }
}

/// A row of the table of checks.
struct AdviceCheck {
  var code: String
  var severity: AdviceNote.Severity
  var findings: @Sendable (AdviceSubject) -> [Finding]

  init(
    _ code: String, _ severity: AdviceNote.Severity,
    _ findings: @escaping @Sendable (AdviceSubject) -> [Finding]
  ) {
    (self.code, self.severity, self.findings) = (code, severity, findings)
  }
}

extension AdviceNote {
  /// What all checks find, ranked.
  static func all(about subject: AdviceSubject) -> [AdviceNote] {
    let notes = AdviceCheck.all.flatMap { check in
      check.findings(subject).map {
        AdviceNote(code: check.code, severity: check.severity, text: $0.text, fix: $0.fix)
      }
    }
    // The order of the table counts within a severity.
    return Severity.allCases.flatMap { severity in notes.filter { $0.severity == severity } }
  }
}
