// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A suggested change to a response.
struct AdviceNote: Hashable, Encodable {
  /// The severity; the most severe first.
  enum Severity: String, Hashable, Encodable, CaseIterable, Comparable {
    /// Caches do not do what the text says.
    case error
    /// Caches do what the text says, but it is probably not intended.
    case warning
    /// The text can be improved.
    case hint

    static func < (lhs: Severity, rhs: Severity) -> Bool { lhs.rank < rhs.rank }
    private var rank: Int { Severity.allCases.firstIndex(of: self) ?? 0 }
  }

  /// The code of the check: `separators`, `misspelt-directive` and so on.
  var code: String
  var severity: Severity
  var text: String
  /// What to write or do instead.
  var fix: String
}

/// The result of a check.
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
  /// Returns the findings of all checks, ranked.
  static func all(about subject: AdviceSubject) -> [AdviceNote] {
    let notes = AdviceCheck.all.flatMap { check in
      check.findings(subject).map {
        AdviceNote(code: check.code, severity: check.severity, text: $0.text, fix: $0.fix)
      }
    }
    // Within a severity, the order of the table counts.
    return Severity.allCases.flatMap { severity in notes.filter { $0.severity == severity } }
  }
}
