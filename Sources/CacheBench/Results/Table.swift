// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Rows of cells, printed as text or as HTML: the first columns to the left, figures to the right.
struct Table {
  var title: String
  var header: [String]
  var rows: [[String]] = []
  /// How many columns, from the first, are text.
  var textColumns = 1
  /// The name of a style of the page.
  var style: String?

  var text: String {
    let lines = [header] + rows
    let widths = header.indices.map { column in
      lines.map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
    }
    func line(_ cells: [String]) -> String {
      var text = ""
      for (column, width) in widths.enumerated() {
        let cell = column < cells.count ? cells[column] : ""
        let padding = String(repeating: " ", count: width - cell.count)
        text += (column == 0 ? "" : "  ") + (column < textColumns ? cell + padding : padding + cell)
      }
      while text.last == " " { text.removeLast() }
      return text
    }
    let rule = String(repeating: "-", count: widths.reduce(0, +) + 2 * max(0, widths.count - 1))
    return ([title, line(header), rule] + rows.map(line)).joined(separator: "\n") + "\n"
  }

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

/// Text and elements of a page, which is well-formed XML too.
enum Markup {
  /// Text from anywhere, so that nothing in it is markup.
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
