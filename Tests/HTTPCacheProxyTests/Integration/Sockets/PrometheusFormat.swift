// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

/// A page of metrics, read strictly: what `promtool check metrics` objects to is thrown.
struct PrometheusPage {
  struct Fault: Error, CustomStringConvertible {
    let description: String
  }

  /// The samples by their names and labels.
  private(set) var samples: [String: Double] = [:]
  private var help: Set<String> = []
  private(set) var types: [String: String] = [:]

  init(_ text: String) throws {
    guard text.hasSuffix("\n") else { throw Fault(description: "the last line does not end") }
    var family: String?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init) {
      let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
      if line.hasPrefix("# HELP ") {
        guard words.count == 4, !words[3].isEmpty, help.insert(words[2]).inserted, Self.isName(words[2])
        else {
          throw Fault(description: line)
        }
        family = words[2]
      } else if line.hasPrefix("# TYPE ") {
        guard words.count == 4, words[2] == family, types[words[2]] == nil,
          ["counter", "gauge", "histogram"].contains(words[3])
        else { throw Fault(description: line) }
        types[words[2]] = words[3]
      } else {
        try add(line, to: family)
      }
    }
    for (name, type) in types {
      // Counters and they alone end in _total; sizes and times are in base units.
      guard name.hasSuffix("_total") == (type == "counter"),
        !["milliseconds", "kilobytes", "_ms", "_count", "_sum", "_bucket", type].contains(
          where: name.hasSuffix),
        type != "histogram" || samples[name + "_count"] == samples[name + "_bucket{le=\"+Inf\"}"]
      else { throw Fault(description: "\(type) \(name)") }
    }
  }

  private mutating func add(_ line: String, to family: String?) throws {
    guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]),
      let family, let type = types[family]
    else { throw Fault(description: line) }
    let key = String(line[..<space])
    let name = String(key.prefix { $0 != "{" })
    let suffixes = type == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
    guard suffixes.contains(where: { family + $0 == name }), samples.updateValue(value, forKey: key) == nil,
      value >= 0, value.isFinite
    else { throw Fault(description: line) }
    let labels = key.dropFirst(name.count)
    guard labels.isEmpty || (labels.hasPrefix("{") && labels.hasSuffix("}")) else {
      throw Fault(description: line)
    }
    for label in labels.dropFirst().dropLast().split(separator: ",", omittingEmptySubsequences: false)
    where !labels.isEmpty {
      let parts = label.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, Self.isName(parts[0]), parts[1].count >= 2, parts[1].first == "\"",
        parts[1].last == "\"", !parts[1].dropFirst().dropLast().contains(where: { "\"\\\n".contains($0) })
      else { throw Fault(description: line) }
    }
  }

  private static func isName(_ text: String) -> Bool {
    text.first?.isNumber == false
      && text.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F }
  }
}
