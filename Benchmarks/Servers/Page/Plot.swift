// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// Lines in their own picture (SVG), with a legend below.
struct Plot {
  struct Line {
    var name: String
    /// One of the colours of the style.
    var color: String
    var points: [(x: Double, y: Double)]
    var isDashed = false

    fileprivate var style: String { color + (isDashed ? " dashed" : "") }
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
    let legend = lines.map { "<li><span class=\"key \($0.style)\"></span>\(Markup.escape($0.name))</li>" }
    return """
      <figure>
      \(Markup.element("figcaption", title))
      <svg viewBox="0 0 \(Self.text(Self.size.width)) \(Self.text(Self.size.height))" role="img" \
      aria-label="\(Markup.escape(title))">
      \(drawing)
      </svg>
      <ul class="legend">\(legend.joined())</ul>
      </figure>
      """
  }

  /// Returns the plot as part of an SVG document, with its legend, and its height.
  func svg() -> (drawing: String, height: Double) {
    let legend = lines.enumerated().map { index, line in
      let (x, y) = (index.isMultiple(of: 2) ? 8.0 : 208.0, Self.size.height + 14 + Double(index / 2) * 18)
      return "<line class=\"line \(line.style)\" x1=\"\(Self.text(x))\" x2=\"\(Self.text(x + 18))\" "
        + "y1=\"\(Self.text(y - 4))\" y2=\"\(Self.text(y - 4))\"/>" + Self.label(line.name, (x + 24, y))
    }
    let rows = Double((lines.count + 1) / 2)
    return (([drawing] + legend).joined(separator: "\n"), Self.size.height + 4 + rows * 18)
  }

  private var drawing: String { (axes + lines.map(draw)).joined(separator: "\n") }

  private var axes: [String] {
    let box = Self.box
    var parts: [String] = []
    for mark in y.marks {
      guard let height = placeY(mark.value) else { continue }
      parts.append(Self.line("grid", (box.left, height), (box.right, height)))
      parts.append(Self.label(mark.label, (box.left - 6, height + 4), anchor: "end"))
    }
    for mark in x.marks {
      guard let place = placeX(mark.value) else { continue }
      parts.append(Self.line("tick", (place, box.bottom), (place, box.bottom + 4)))
      parts.append(
        Self.label(mark.label, (place, box.bottom + 18), anchor: place > box.right - 10 ? "end" : "middle"))
    }
    return parts + [
      Self.line("axis", (box.left, box.bottom), (box.right, box.bottom)),
      Self.label(xTitle, (box.right, Self.size.height - 6), anchor: "end"), Self.label(yTitle, (4, 12)),
    ]
  }

  private func draw(_ line: Line) -> String {
    let places = line.points.compactMap { point -> (x: Double, y: Double, text: String)? in
      guard let x = placeX(point.x), let y = placeY(point.y) else { return nil }
      return (x, y, describe(line, point.x, point.y))
    }
    let path = places.map { "\(Self.text($0.x)),\(Self.text($0.y))" }.joined(separator: " ")
    // Without a visible dot, there is still something to point at.
    let (dot, radius) = hasDots ? ("dot", "3.5") : ("spot", "6")
    return places.reduce("<polyline class=\"line \(line.style)\" points=\"\(path)\"/>") { text, place in
      text + """
        <circle class="\(dot) \(line.color)" cx="\(Self.text(place.x))" cy="\(Self.text(place.y))" \
        r="\(radius)"><title>\(Markup.escape(place.text))</title></circle>
        """
    }
  }

  private static func line(_ style: String, _ from: (Double, Double), _ to: (Double, Double)) -> String {
    """
    <line class="\(style)" x1="\(text(from.0))" x2="\(text(to.0))" y1="\(text(from.1))" y2="\(text(to.1))"/>
    """
  }

  fileprivate static func label(_ words: String, _ place: (Double, Double), anchor: String = "start")
    -> String
  {
    """
    <text x="\(text(place.0))" y="\(text(place.1))" text-anchor="\(anchor)">\(Markup.escape(words))</text>
    """
  }

  private func placeX(_ value: Double) -> Double? {
    x.position(value).map { Self.box.left + $0 * (Self.box.right - Self.box.left) }
  }

  private func placeY(_ value: Double) -> Double? {
    y.position(value).map { Self.box.bottom - $0 * (Self.box.bottom - Self.box.top) }
  }

  fileprivate static func text(_ number: Double) -> String { String(format: "%.4g", number) }
}

/// Bars below each other, with widths in proportion to their figures.
struct Bars {
  struct Bar {
    var name: String
    var color: String
    var value: Double
    var label: String
  }

  var title: String
  var bars: [Bar]

  private static let rowHeight = 34.0

  var html: String {
    let rows = bars.map { bar in
      """
      <li>\(Markup.element("span", bar.name, class: "name"))\(Markup.element("span", bar.label, class: "value"))\
      <span class="track"><span class="bar \(bar.color)" style="width:\(String(format: "%.1f", share(of: bar) * 100))%">\
      </span></span></li>
      """
    }
    return """
      <figure>\(Markup.element("figcaption", title))
      <ul class="bars">\(rows.joined(separator: "\n"))</ul></figure>
      """
  }

  /// Returns the bars as part of an SVG document, and their height.
  func svg() -> (drawing: String, height: Double) {
    let rows = bars.enumerated().map { index, bar in
      let top = Double(index) * Self.rowHeight
      let width = max(2, share(of: bar) * 384)
      return Plot.label(bar.name, (8, top + 12)) + Plot.label(bar.label, (392, top + 12), anchor: "end")
        + """
        <rect class="\(bar.color)" fill="currentColor" x="8" y="\(Plot.text(top + 17))" width="\(Plot.text(width))" height="8" rx="2"/>
        """
    }
    return (rows.joined(separator: "\n"), Double(bars.count) * Self.rowHeight)
  }

  private func share(of bar: Bar) -> Double {
    let largest = bars.map(\.value).filter(\.isFinite).max() ?? 0
    return largest > 0 && bar.value.isFinite ? max(0, bar.value) / largest : 0
  }
}

/// The positions of figures on an axis, and its marks.
struct Scale {
  var marks: [(value: Double, label: String)]
  private let transform: (Double) -> Double
  private let first, last: Double

  private init(
    _ marks: [Double], _ label: (Double) -> String, from first: Double, to last: Double,
    _ transform: @escaping (Double) -> Double = { $0 }
  ) {
    self.marks = marks.map { ($0, label($0)) }
    (self.first, self.last, self.transform) = (first, last, transform)
  }

  /// The position of a figure, from 0 to 1; `nil` if it cannot be on the axis.
  func position(_ value: Double) -> Double? {
    let place = transform(value)
    guard place.isFinite, last > first else { return nil }
    return min(1, max(0, (place - first) / (last - first)))
  }

  /// From 0, or from below the smallest figure, to above the largest, with about four marks.
  static func linear(_ values: [Double], fromZero: Bool, label: (Double) -> String) -> Scale {
    // Larger figures are drawn at the edge.
    let values = values.filter { abs($0) < 1e300 }
    let largest = values.max() ?? 1
    let smallest = fromZero ? 0 : values.min() ?? 0
    let span = largest - smallest > 0 ? largest - smallest : max(abs(largest), 1)
    let power = pow(10, (log10(span / 4)).rounded(.down))
    let step = [1, 2, 2.5, 5, 10].map { $0 * power }.first { span / $0 <= 5 } ?? span
    let low = (smallest / step).rounded(.down)
    // Few marks, even if the figures are so large that a step is lost in them.
    let count = min(12, max(1, (largest / step).rounded(.up) - low))
    let marks = stride(from: 0, through: count, by: 1).map { (low + $0) * step }
    return Scale(marks, label, from: low * step, to: (low + count) * step)
  }

  /// Powers of ten around all figures, which must be above 0.
  static func logarithmic(_ values: [Double], label: (Double) -> String) -> Scale {
    let values = values.filter { $0.isFinite && $0 > 0 }
    let low = log10(values.min() ?? 1).rounded(.down)
    let high = max(low + 1, log10(values.max() ?? 10).rounded(.up))
    let powers = stride(from: low, through: high, by: max(1, ((high - low) / 6).rounded(.up)))
    return Scale(powers.map { pow(10, $0) }, label, from: low, to: high) { log10($0) }
  }

  /// Percents of a distribution, so that 90, 99, 99.9… have equal distances.
  static var nines: Scale {
    Scale([0, 50, 90, 99, 99.9, 99.99], { String(format: "%g", $0) }, from: 0, to: 4) {
      -log10(1 - min(99.99, max(0, $0)) / 100)
    }
  }

  /// Figures at equal distances, in order.
  static func steps(_ values: [Double], label: (Double) -> String) -> Scale {
    let sorted = Set(values.filter(\.isFinite)).sorted()
    return Scale(sorted, label, from: -0.25, to: Double(sorted.count) - 0.75) { value in
      sorted.firstIndex(of: value).map(Double.init) ?? .nan
    }
  }
}
