// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness

extension Table {
  var html: String {
    func row(_ cells: [String], _ name: String) -> String {
      let all = cells.enumerated().map { column, text in
        Markup.element(name, text, class: Target.styles[text] ?? (column < textColumns ? nil : "figure"))
      }
      return "<tr>\(all.joined())</tr>"
    }
    return """
      <div class="wide"><table class="\(style ?? "figures")"><thead>\(row(header, "th"))</thead>
      <tbody>\(rows.map { row($0, "td") }.joined(separator: "\n"))</tbody></table></div>
      """
  }
}

/// Text and elements of a page, which is also well-formed XML.
enum Markup {
  /// Escapes external text, so that nothing in it is markup.
  static func escape(_ text: String) -> String {
    let names: [Unicode.Scalar: String] = [
      "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;", "'": "&#39;",
    ]
    return Printable.text(text).unicodeScalars.map { names[$0] ?? String($0) }.joined()
  }

  /// An element with some text, which is escaped.
  static func element(_ name: String, _ text: String, class style: String? = nil) -> String {
    "<\(name)\(style.map { " class=\"\($0)\"" } ?? "")>\(escape(text))</\(name)>"
  }
}

extension Target {
  /// The style of a verdict on a page.
  static let styles = ["met": "met", "NOT MET": "unmet", "MISSED": "unmet", "not measured": "open"]
}
