// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A picture of a report: part of the page, or an SVG document.
enum Picture {
  case plot(Plot)
  case bars(Bars)

  var title: String {
    switch self {
    case .plot(let plot): plot.title
    case .bars(let bars): bars.title
    }
  }

  var html: String {
    switch self {
    case .plot(let plot): plot.html
    case .bars(let bars): bars.html
    }
  }

  /// A document for light and dark pages, which loads no external resources.
  var svg: String {
    let (drawing, height) =
      switch self {
      case .plot(let plot): plot.svg()
      case .bars(let bars): bars.svg()
      }
    let lines = Self.wrap(title)
    let titles = lines.enumerated().map { index, line in
      "<text class=\"title\" x=\"8\" y=\"\(18 + index * 17)\">\(Markup.escape(line))</text>"
    }
    let top = 14 + lines.count * 17
    let total = top + Int(height.rounded(.up)) + 8
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 \(total)" role="img" aria-label="\(Markup.escape(title))">
      <style>
      \(Style.colors)
      \(Style.drawing)
      </style>
      <rect fill="var(--card)" width="400" height="\(total)" rx="8"/>
      \(titles.joined(separator: "\n"))
      <g transform="translate(0 \(top))">
      \(drawing)
      </g>
      </svg>

      """
  }

  /// The name of a file for a picture with a title: the letters and digits of the title, and hyphens.
  static func fileName(_ title: String) -> String {
    let words = title.lowercased().split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
    return words.joined(separator: "-").prefix(80) + ".svg"
  }

  /// Breaks a title into lines that fit the width.
  private static func wrap(_ title: String) -> [String] {
    var lines: [String] = []
    for word in title.split(separator: " ") {
      if let last = lines.last, last.count + word.count < 52 {
        lines[lines.count - 1] = last + " " + word
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }
}
