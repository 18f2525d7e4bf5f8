import Foundation

/// Lines in a picture of their own (SVG), with a legend below.
struct Plot {
  struct Line {
    var name: String
    /// One of the colours of the style.
    var color: String
    var points: [(x: Double, y: Double)]
    var isDashed = false
  }

  var title: String
  var xTitle: String
  var yTitle: String
  var x: Scale
  var y: Scale
  var lines: [Line]
  /// Whether each point has a dot.
  var hasDots = true
  var describe: (_ line: Line, _ x: Double, _ y: Double) -> String

  // Small, so that the text is large enough on a phone.
  private static let size = (width: 400.0, height: 264.0)
  private static let box = (left: 54.0, top: 24.0, right: 390.0, bottom: 222.0)

  var html: String {
    """
    <figure>
    <figcaption>\(Markup.escape(title))</figcaption>
    <svg viewBox="0 0 \(Self.text(Self.size.width)) \(Self.text(Self.size.height))" role="img" \
    aria-label="\(Markup.escape(title))">
    \(axes)
    \(lines.map(draw).joined(separator: "\n"))
    </svg>
    <ul class="legend">\(lines.map(entry).joined())</ul>
    </figure>
    """
  }

  private var axes: String {
    var parts: [String] = []
    for mark in y.marks {
      guard let height = placeY(mark.value) else { continue }
      parts.append(
        """
        <line class="grid" x1="\(Self.text(Self.box.left))" x2="\(Self.text(Self.box.right))" \
        y1="\(Self.text(height))" y2="\(Self.text(height))"/>\
        <text x="\(Self.text(Self.box.left - 6))" y="\(Self.text(height + 4))" text-anchor="end">\
        \(Markup.escape(mark.label))</text>
        """)
    }
    for mark in x.marks {
      guard let place = placeX(mark.value) else { continue }
      parts.append(
        """
        <line class="tick" x1="\(Self.text(place))" x2="\(Self.text(place))" y1="\(Self.text(Self.box.bottom))" \
        y2="\(Self.text(Self.box.bottom + 4))"/>\
        <text x="\(Self.text(place))" y="\(Self.text(Self.box.bottom + 18))" \
        text-anchor="\(place > Self.box.right - 10 ? "end" : "middle")">\
        \(Markup.escape(mark.label))</text>
        """)
    }
    parts.append(
      """
      <line class="axis" x1="\(Self.text(Self.box.left))" x2="\(Self.text(Self.box.right))" \
      y1="\(Self.text(Self.box.bottom))" y2="\(Self.text(Self.box.bottom))"/>
      <text class="title" x="\(Self.text(Self.box.right))" y="\(Self.text(Self.size.height - 6))" \
      text-anchor="end">\(Markup.escape(xTitle))</text>
      <text class="title" x="4" y="12">\(Markup.escape(yTitle))</text>
      """)
    return parts.joined(separator: "\n")
  }

  private func draw(_ line: Line) -> String {
    let places = line.points.compactMap { point -> (x: Double, y: Double, text: String)? in
      guard let x = placeX(point.x), let y = placeY(point.y) else { return nil }
      return (x, y, describe(line, point.x, point.y))
    }
    let path = places.map { "\(Self.text($0.x)),\(Self.text($0.y))" }.joined(separator: " ")
    let dash = line.isDashed ? " dashed" : ""
    var text = "<polyline class=\"line \(line.color)\(dash)\" points=\"\(path)\"/>"
    for place in places {
      // Where there is no dot to be seen, there still is something to point at.
      text += """
        <circle class="\(hasDots ? "dot" : "spot") \(line.color)" cx="\(Self.text(place.x))" cy="\(Self.text(place.y))" \
        r="\(hasDots ? "3.5" : "6")"><title>\(Markup.escape(place.text))</title></circle>
        """
    }
    return text
  }

  private func entry(_ line: Line) -> String {
    "<li><span class=\"key \(line.color)\(line.isDashed ? " dashed" : "")\"></span>\(Markup.escape(line.name))</li>"
  }

  private func placeX(_ value: Double) -> Double? {
    x.position(value).map { Self.box.left + $0 * (Self.box.right - Self.box.left) }
  }

  private func placeY(_ value: Double) -> Double? {
    y.position(value).map { Self.box.bottom - $0 * (Self.box.bottom - Self.box.top) }
  }

  private static func text(_ number: Double) -> String {
    let text = String(format: "%.1f", number)
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }
}

/// Bars beside each other's names, as wide as their figures are large.
struct Bars {
  struct Bar {
    var name: String
    var color: String
    var value: Double
    var label: String
  }

  var title: String
  var bars: [Bar]

  var html: String {
    let largest = bars.map(\.value).filter(\.isFinite).max() ?? 0
    let rows = bars.map { bar in
      let share = largest > 0 && bar.value.isFinite ? max(0, bar.value) / largest : 0
      return """
        <li><span class="name">\(Markup.escape(bar.name))</span><span class="value">\(Markup.escape(bar.label))</span>\
        <span class="track"><span class="bar \(bar.color)" style="width:\(String(format: "%.1f", share * 100))%"></span>\
        </span></li>
        """
    }
    return """
      <figure><figcaption>\(Markup.escape(title))</figcaption>
      <ul class="bars">\(rows.joined(separator: "\n"))</ul></figure>
      """
  }
}
