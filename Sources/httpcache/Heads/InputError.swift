// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// An error in the input: what, where, and what to do.
struct InputError: Error, Hashable {
  /// The line, counted from 1; `nil` if the error concerns the whole input.
  var line: Int?
  var problem: String
  var advice: String

  static let unreadable = InputError(
    line: nil, problem: "The file cannot be read.", advice: "Check the path and its permissions.")

  /// In the form of compilers: `FILE:LINE: problem`, and the advice below.
  func text(file: String) -> String {
    let place = line.map { "\(file):\($0)" } ?? file
    return "\(place): \(problem)\n\(advice)"
  }
}

extension String {
  /// The beginning of external text in printable form: short, and without control characters.
  var excerpt: String {
    let shown = unicodeScalars.prefix(60).map { scalar in
      scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) ? "\u{FFFD}" : String(scalar)
    }
    return "\"" + shown.joined() + (unicodeScalars.count > 60 ? "…" : "") + "\""
  }
}
