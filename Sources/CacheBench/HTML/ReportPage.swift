/// Reports as one page of HTML that needs nothing else: style and pictures are in it.
struct ReportPage {
  var files: [ReportFile]

  var html: String {
    """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8"/>
    <meta name="viewport" content="width=device-width, initial-scale=1"/>
    <title>cache-bench</title>
    <style>
    \(Style.css)
    </style>
    </head>
    <body>
    <h1>cache-bench</h1>
    <p class="about">Figures of two machines, or of two runs, do not compare well; the ratios of one run do.</p>
    \(files.map(section).joined(separator: "\n"))
    </body>
    </html>

    """
  }

  private func section(_ file: ReportFile) -> String {
    let report = file.report
    var parts = ["<section>", Markup.element("h2", "\(report.command) · \(file.name)")]
    parts += report.about.map { Markup.element("p", $0, class: "about") }
    if !report.machine.isOptimized {
      parts.append(Markup.element("p", "This is a debug build: the figures mean nothing.", class: "warning"))
    }
    if !report.targets.isEmpty { parts += [Markup.element("h3", "Targets"), targets(report.targets)] }
    for (title, plots) in ReportPlots(report: report).groups where !plots.isEmpty {
      parts.append(Markup.element("h3", title))
      parts.append("<div class=\"plots\">\n\(plots.joined(separator: "\n"))\n</div>")
    }
    let tables = report.tables
    for table in tables {
      // What there is no plot of is open.
      parts.append("<details\(tables.count == 1 ? " open=\"open\"" : "")>")
      parts += [Markup.element("summary", table.title), table.html, "</details>"]
    }
    let notes = report.allNotes
    if !notes.isEmpty {
      parts.append("<ul class=\"notes\">\(notes.map { Markup.element("li", $0) }.joined())</ul>")
    }
    parts.append("</section>")
    return parts.joined(separator: "\n")
  }

  /// Not as a table of figures: on a phone each row is a paragraph.
  private func targets(_ targets: [TargetResult]) -> String {
    let rows = targets.map { one in
      let style = one.isMet.map { $0 ? "met" : "unmet" } ?? "open"
      let note = one.note.map { " " + Markup.element("span", "(\($0))", class: "note") } ?? ""
      return """
        <tr>\(Markup.element("td", one.what, class: "what"))\(Markup.element("td", one.verdict, class: style))\
        <td>\(Markup.escape(one.figureText))\(note)</td>\(Markup.element("td", one.targetText, class: "target"))</tr>
        """
    }
    return """
      <table class="targets"><thead><tr><th>what</th><th></th><th>figure</th><th>target</th></tr></thead>
      <tbody>\(rows.joined(separator: "\n"))</tbody></table>
      """
  }
}
