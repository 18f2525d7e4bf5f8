// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// Lines in a picture of their own (SVG), with a legend below.
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
      \((axes + lines.map(draw)).joined(separator: "\n"))
      </svg>
      <ul class="legend">\(legend.joined())</ul>
      </figure>
      """
  }

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

  private static func label(_ words: String, _ place: (Double, Double), anchor: String = "start") -> String {
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

  private static func text(_ number: Double) -> String { String(format: "%.4g", number) }
}

extension Markup {
  struct Bar {
    var name: String
    var color: String
    var value: Double
    var label: String
  }

  /// Draws bars below each other, with widths in proportion to their figures.
  static func bars(_ title: String, _ bars: [Bar]) -> String {
    let largest = bars.map(\.value).filter(\.isFinite).max() ?? 0
    let rows = bars.map { bar in
      let share = largest > 0 && bar.value.isFinite ? max(0, bar.value) / largest : 0
      return """
        <li>\(element("span", bar.name, class: "name"))\(element("span", bar.label, class: "value"))\
        <span class="track"><span class="bar \(bar.color)" style="width:\(String(format: "%.1f", share * 100))%"></span>\
        </span></li>
        """
    }
    return """
      <figure>\(element("figcaption", title))
      <ul class="bars">\(rows.joined(separator: "\n"))</ul></figure>
      """
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
