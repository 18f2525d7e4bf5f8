// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine

/// Writes an explanation as plain text, wrapped.
struct ExplanationText {
  var width = 80
  /// Whether headings are bold: for terminals only.
  var isStyled = false

  private static let labelWidth = 15

  func text(_ explanation: Explanation) -> String {
    var lines = wrapped(explanation.verdict, indent: 0).map(bold) + [bold(explanation.title)]
    if !explanation.advice.isEmpty {
      lines += ["", bold("What to change")]
      for (index, note) in explanation.advice.enumerated() { lines += text(note, number: index + 1) }
      lines.append("")
    }
    for note in explanation.notes { lines += wrapped(note, indent: 2) }
    for verdict in explanation.verdicts {
      lines += ["", bold(heading(verdict.kinds))]
      for statement in verdict.statements { lines += text(statement) }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private func heading(_ kinds: [CacheEngine.Configuration.Kind]) -> String {
    let names = kinds.map { kind in
      switch kind {
      case .private: "A private cache (for one user, such as that of an app or a browser)"
      case .shared: "A shared cache (for many users, such as a proxy or a CDN)"
      }
    }
    return names.count > 1 ? "Any cache, private or shared" : names.joined()
  }

  private func text(_ note: AdviceNote, number: Int) -> [String] {
    let label = "  \(number). "
    var lines = wrapped("\(note.severity.rawValue): \(note.text)", indent: label.count)
    if let first = lines.first { lines[0] = label + first.drop { $0 == " " } }
    return lines + wrapped("Fix: \(note.fix)", indent: label.count)
  }

  private func text(_ statement: Explanation.Statement) -> [String] {
    let sentence =
      statement.sentence + (statement.section.map { " [\($0.replacing(" ", with: "\u{A0}"))]" } ?? "")
    var lines = wrapped(sentence, indent: 2 + Self.labelWidth)
    // A label too long for its column gets its own line.
    let label = "  " + statement.topic.label
    if label.count < 2 + Self.labelWidth, let first = lines.first {
      let text = first.drop { $0 == " " }
      lines[0] = label + String(repeating: " ", count: 2 + Self.labelWidth - label.count) + text
    } else {
      lines.insert(label, at: 0)
    }
    return lines + statement.lines.map { String(repeating: " ", count: 4 + Self.labelWidth) + $0.printable }
  }

  /// Wraps the text at spaces. Text joined by no-break spaces, such as a section, stays whole, and so does a word
  /// longer than the line.
  private func wrapped(_ text: String, indent: Int) -> [String] {
    let margin = String(repeating: " ", count: indent)
    var lines: [String] = []
    var line = ""
    for word in text.printable.split(separator: " ") {
      if !line.isEmpty, indent + line.count + 1 + word.count > width {
        lines.append(margin + line)
        line = ""
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    if !line.isEmpty { lines.append(margin + line) }
    return lines.map { $0.replacing("\u{A0}", with: " ") }
  }

  private func bold(_ text: String) -> String {
    isStyled ? "\u{1B}[1m\(text.printable)\u{1B}[0m" : text.printable
  }
}

extension String {
  /// The text without control characters: text from the network must not move a terminal's cursor.
  fileprivate var printable: String {
    guard unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else { return self }
    return String(
      String.UnicodeScalarView(
        unicodeScalars.map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 }))
  }
}
