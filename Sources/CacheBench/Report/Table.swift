/// Text in columns: the first to the left, figures to the right.
struct Table {
  var title: String
  var header: [String]
  var rows: [[String]] = []
  /// How many columns, from the first, are text.
  var textColumns = 1

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
}
