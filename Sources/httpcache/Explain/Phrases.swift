// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Readable forms of amounts.
enum Phrases {
  /// `1 hour 30 minutes (5400 s)`: the two largest units, and the exact number if they do not show it.
  static func duration(_ seconds: Int64) -> String {
    let units: [(name: String, length: Int64)] = [
      ("year", 31_536_000), ("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1),
    ]
    guard seconds >= 60 else { return counted(seconds, "second") }
    var parts: [String] = []
    var rest = seconds
    for unit in units where parts.count < 2 {
      let count = rest / unit.length
      if count > 0 { parts.append(counted(count, unit.name)) } else if !parts.isEmpty { break }
      rest %= unit.length
    }
    let prefix = rest > 0 ? "about " : ""
    return "\(prefix)\(parts.joined(separator: " ")) (\(seconds) s)"
  }

  private static func counted(_ count: Int64, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
  }
}
