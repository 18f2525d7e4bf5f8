// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// A Markdown page, as the sections that begin with `## ` and the rows of their tables.
struct NotesPage {
  /// The part of a page from one heading to the next.
  struct Section {
    var heading: String
    /// The name of the heading in links, as GitHub makes it.
    var anchor: String
    var rows: [[String]]
  }

  /// A link `[text](destination)`.
  struct Link {
    var text: String
    var destination: String

    static func all(in text: String) -> [Link] {
      text.matches(of: /\[([^\[\]]*)\]\(([^()\s]+)\)/).map {
        .init(text: String($0.1), destination: String($0.2))
      }
    }
  }

  /// From the top of the repository.
  var path: String
  var sections: [Section] = []
  var links: [Link]

  init(path: String, text: String) {
    self.path = path
    links = Link.all(in: text)
    let pieces = ("\n" + text).components(separatedBy: "\n## ")
    for piece in pieces.dropFirst() {
      let heading = String(piece.prefix { $0 != "\n" })
      sections.append(.init(heading: heading, anchor: Self.anchor(of: heading), rows: Self.rows(of: piece)))
    }
  }

  /// The cells of every row of every table, without those of the header.
  static func rows(of text: String) -> [[String]] {
    let lines = text.components(separatedBy: "\n")
    return zip(lines, lines.dropFirst() + [""])
      .filter { $0.hasPrefix("| ") && !$1.hasPrefix("|---") }
      .map { line, _ in
        line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
          .map { $0.trimmingCharacters(in: .whitespaces) }
      }
  }

  /// Lowercase letters and digits, with hyphens for spaces; all else is left out.
  static func anchor(of heading: String) -> String {
    String(
      heading.lowercased().compactMap { character in
        if character == " " { return "-" }
        return character.isLetter || character.isNumber || character == "-" || character == "_"
          ? character : nil
      })
  }

  /// The path to which a relative link on a page leads.
  static func resolve(_ link: String, from page: String) -> String {
    var parts = page.split(separator: "/").dropLast()
    for part in link.split(separator: "/") {
      if part == ".." {
        parts = parts.dropLast()
      } else {
        parts.append(part)
      }
    }
    return parts.joined(separator: "/")
  }
}
