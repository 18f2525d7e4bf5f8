/// Text and elements of a page, which is well-formed XML too.
enum Markup {
  /// Text from anywhere, so that nothing in it is markup.
  static func escape(_ text: String) -> String {
    var escaped = ""
    for character in Printable.text(text).unicodeScalars {
      switch character {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }

  /// An element with some text, which is escaped.
  static func element(_ name: String, _ text: String, class style: String? = nil) -> String {
    "<\(name)\(style.map { " class=\"\($0)\"" } ?? "")>\(escape(text))</\(name)>"
  }

  /// A table whose first columns are text, and the others figures.
  static func table(_ header: [String], _ rows: [[String]], textColumns: Int) -> String {
    func cells(_ cells: [String], _ name: String) -> String {
      let all = cells.enumerated().map { column, text in
        element(name, text, class: column < textColumns ? nil : "figure")
      }
      return "<tr>\(all.joined())</tr>"
    }
    return """
      <div class="wide"><table><thead>\(cells(header, "th"))</thead>
      <tbody>\(rows.map { cells($0, "td") }.joined(separator: "\n"))</tbody></table></div>
      """
  }
}

extension Table {
  var html: String { Markup.table(header, rows, textColumns: textColumns) }
}
