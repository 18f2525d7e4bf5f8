// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// What is wrong with the input, where, and what to do.
struct InputError: Error, Hashable {
  /// The line, counted from 1; `nil` where the whole input is meant.
  var line: Int?
  var problem: String
  var advice: String

  static let unreadable = InputError(
    line: nil, problem: "This file cannot be read.", advice: "Check its name, and that you may read it.")

  /// As compilers write it: `FILE:LINE: problem`, and the advice below.
  func text(file: String) -> String {
    let place = line.map { "\(file):\($0)" } ?? file
    return "\(place): \(problem)\n\(advice)"
  }
}

extension String {
  /// The start of a text from outside as it can be shown: short, and without control characters.
  var excerpt: String {
    let shown = unicodeScalars.prefix(60).map { scalar in
      scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) ? "\u{FFFD}" : String(scalar)
    }
    return "\"" + shown.joined() + (unicodeScalars.count > 60 ? "…" : "") + "\""
  }
}
