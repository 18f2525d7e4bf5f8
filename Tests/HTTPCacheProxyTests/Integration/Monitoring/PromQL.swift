// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// The part of Prometheus' language that dashboards and alerts of this project use, evaluated on two scrapes of a proxy that
/// are a minute apart.
struct PromQL {
  struct Fault: Error, CustomStringConvertible {
    let description: String
  }

  struct Series: Hashable {
    var name: String
    var labels: [String: String]
  }

  struct Sample {
    var series: Series
    var value: Double
  }

  enum Value {
    case scalar(Double)
    case vector([Sample])
    /// Earlier and later values.
    case range([(series: Series, from: Double, to: Double)])
  }

  private static let seconds = 60.0
  private let earlier: [Series: Double]
  private let later: [Series: Double]

  /// - Parameter labels: those that a scrape adds.
  init(earlier: String, later: String, labels: [String: String]) throws {
    self.earlier = try Self.samples(earlier, labels)
    self.later = try Self.samples(later, labels)
  }

  /// Evaluates a query.
  ///
  /// - Throws: ``Fault`` for a query that is not understood, or that has a metric that the proxy does not have.
  func evaluate(_ query: String) throws -> Value {
    var tokens = try Tokens(query)
    let value = try either(&tokens)
    guard tokens.next == nil else { throw Fault(description: "unexpected \(tokens.next ?? "")") }
    return value
  }

  // MARK: - Scrapes

  private static func samples(_ page: String, _ labels: [String: String]) throws -> [Series: Double] {
    var samples: [Series: Double] = [:]
    for line in page.split(separator: "\n") where !line.hasPrefix("#") {
      guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else {
        throw Fault(description: String(line))
      }
      let name = line[..<space].prefix { $0 != "{" }
      var series = Series(name: String(name), labels: labels)
      let text = line[name.endIndex..<space].dropFirst().dropLast()
      for match in text.matches(of: /([a-z_]+)="((?:[^"\\]|\\.)*)"/) {
        series.labels[String(match.1)] = String(match.2)
      }
      samples[series] = value
    }
    return samples
  }

  // MARK: - Expressions

  private struct Tokens {
    private var tokens: [String]
    private var position = 0

    init(_ query: String) throws {
      tokens = query.matches(
        of: /"[^"]*"|\[[^\]]*\]|[a-zA-Z_:][a-zA-Z0-9_:]*|[0-9]+(?:\.[0-9]+)?|=~|!~|!=|==|>=|<=|[^\s]/
      ).map { String($0.0) }
    }

    var next: String? { position < tokens.count ? tokens[position] : nil }

    mutating func take() throws -> String {
      guard let next else { throw Fault(description: "the query ends too early") }
      position += 1
      return next
    }

    mutating func take(_ token: String) -> Bool {
      guard next == token else { return false }
      position += 1
      return true
    }

    mutating func expect(_ token: String) throws {
      let found = try take()
      if found != token { throw Fault(description: "expected \(token), found \(found)") }
    }
  }

  private func either(_ tokens: inout Tokens) throws -> Value {
    var value = try comparison(&tokens)
    while tokens.take("or") {
      guard case .vector(let left) = value, case .vector(let right) = try comparison(&tokens) else {
        throw Fault(description: "or is between vectors")
      }
      let known = Set(left.map(\.series.labels))
      value = .vector(left + right.filter { !known.contains($0.series.labels) })
    }
    return value
  }

  private func comparison(_ tokens: inout Tokens) throws -> Value {
    let value = try sum(&tokens)
    guard let sign = tokens.next, [">", "<", "=="].contains(sign) else { return value }
    _ = try tokens.take()
    guard case .vector(let samples) = value, case .scalar(let limit) = try sum(&tokens) else {
      throw Fault(description: "\(sign) is between a vector and a number")
    }
    return .vector(
      samples.filter { sign == ">" ? $0.value > limit : sign == "<" ? $0.value < limit : $0.value == limit })
  }

  private func sum(_ tokens: inout Tokens) throws -> Value {
    var value = try product(&tokens)
    while let sign = tokens.next, sign == "+" || sign == "-" {
      _ = try tokens.take()
      value = try combine(value, try product(&tokens)) { sign == "+" ? $0 + $1 : $0 - $1 }
    }
    return value
  }

  private func product(_ tokens: inout Tokens) throws -> Value {
    var value = try operand(&tokens)
    while let sign = tokens.next, sign == "*" || sign == "/" {
      _ = try tokens.take()
      value = try combine(value, try operand(&tokens)) { sign == "*" ? $0 * $1 : $0 / $1 }
    }
    return value
  }

  private func combine(_ left: Value, _ right: Value, _ body: (Double, Double) -> Double) throws -> Value {
    switch (left, right) {
    case (.scalar(let left), .scalar(let right)): return .scalar(body(left, right))
    case (.vector(let left), .scalar(let right)):
      return .vector(
        left.map { Sample(series: Series(name: "", labels: $0.series.labels), value: body($0.value, right)) })
    case (.vector(let left), .vector(let right)):
      // One to one, by equal labels.
      let others = Dictionary(grouping: right, by: \.series.labels)
      return .vector(
        try left.compactMap { sample in
          guard let same = others[sample.series.labels] else { return nil }
          guard same.count == 1 else { throw Fault(description: "many samples with equal labels") }
          return Sample(
            series: Series(name: "", labels: sample.series.labels), value: body(sample.value, same[0].value))
        })
    default: throw Fault(description: "a range is not an operand")
    }
  }

  private func operand(_ tokens: inout Tokens) throws -> Value {
    let token = try tokens.take()
    if let number = Double(token) { return .scalar(number) }
    switch token {
    case "(":
      let value = try either(&tokens)
      try tokens.expect(")")
      return value
    case "sum", "min", "max": return try aggregate(token, &tokens)
    case "time":
      try tokens.expect("(")
      try tokens.expect(")")
      return .scalar(1_000_000)
    case "topk":
      try tokens.expect("(")
      guard case .scalar(let count) = try either(&tokens) else { throw Fault(description: "topk(number, …)") }
      try tokens.expect(",")
      guard case .vector(let samples) = try either(&tokens) else {
        throw Fault(description: "topk(…, vector)")
      }
      try tokens.expect(")")
      return .vector(Array(samples.sorted { $0.value > $1.value }.prefix(Int(count))))
    case "rate", "increase", "changes":
      try tokens.expect("(")
      guard case .range(let range) = try either(&tokens) else { throw Fault(description: "\(token)(range)") }
      try tokens.expect(")")
      return .vector(
        range.map { series, from, to in
          let difference = token == "changes" ? (from == to ? 0 : 1) : to - from
          return Sample(
            series: Series(name: "", labels: series.labels),
            value: token == "rate" ? difference / Self.seconds : difference)
        })
    case "histogram_quantile": return try quantile(&tokens)
    default: return try selector(token, &tokens)
    }
  }

  private func aggregate(_ name: String, _ tokens: inout Tokens) throws -> Value {
    var labels: [String] = []
    if tokens.take("by") {
      try tokens.expect("(")
      repeat { labels.append(try tokens.take()) } while tokens.take(",")
      try tokens.expect(")")
    }
    try tokens.expect("(")
    guard case .vector(let samples) = try either(&tokens) else { throw Fault(description: "\(name)(vector)") }
    try tokens.expect(")")
    let groups = Dictionary(grouping: samples) { sample in
      sample.series.labels.filter { labels.contains($0.key) }
    }
    return .vector(
      groups.map { labels, samples in
        let values = samples.map(\.value)
        let value = name == "sum" ? values.reduce(0, +) : (name == "min" ? values.min() : values.max()) ?? 0
        return Sample(series: Series(name: "", labels: labels), value: value)
      })
  }

  private func quantile(_ tokens: inout Tokens) throws -> Value {
    try tokens.expect("(")
    guard case .scalar(let share) = try either(&tokens) else {
      throw Fault(description: "quantile(number, …)")
    }
    try tokens.expect(",")
    guard case .vector(let samples) = try either(&tokens) else {
      throw Fault(description: "quantile(…, vector)")
    }
    try tokens.expect(")")
    let groups = Dictionary(grouping: samples) { $0.series.labels.filter { $0.key != "le" } }
    return .vector(
      try groups.map { labels, samples in
        let buckets = samples.map {
          ($0.series.labels["le"].map { $0 == "+Inf" ? .infinity : Double($0) ?? .nan } ?? .nan, $0.value)
        }
        .sorted { $0.0 < $1.0 }
        guard let last = buckets.last, last.0 == .infinity, buckets.count > 1 else {
          throw Fault(description: "histogram_quantile needs the label le")
        }
        let bound = buckets.first { $0.1 >= share * last.1 }?.0 ?? .nan
        return Sample(series: Series(name: "", labels: labels), value: last.1 == 0 ? .nan : bound)
      })
  }

  private func selector(_ name: String, _ tokens: inout Tokens) throws -> Value {
    let known = later.keys.filter { $0.name == name }
    guard !known.isEmpty else { throw Fault(description: "the proxy has no metric \(name)") }
    var series = Array(known)
    if tokens.take("{") {
      while !tokens.take("}") {
        let label = try tokens.take()
        let sign = try tokens.take()
        let text = String(try tokens.take().dropFirst().dropLast())
        let expression = try Regex(
          "^(?:\(sign.hasSuffix("~") ? text : NSRegularExpression.escapedPattern(for: text)))$")
        guard known.contains(where: { $0.labels[label] != nil }) else {
          throw Fault(description: "\(name) has no label \(label)")
        }
        series = series.filter {
          ($0.labels[label] ?? "").contains(expression) == !sign.hasPrefix("!")
        }
        _ = tokens.take(",")
      }
    }
    if let range = tokens.next, range.hasPrefix("[") {
      _ = try tokens.take()
      // A series that begins between the scrapes has no rate yet.
      return .range(series.compactMap { one in earlier[one].map { (one, $0, later[one] ?? $0) } })
    }
    return .vector(series.map { Sample(series: $0, value: later[$0] ?? 0) })
  }
}
