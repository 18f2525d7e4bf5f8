// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Compares values of `Cache-Status` in real time.
enum CacheStatusText {
  /// Whether they are equal, except for one elapsed second of `ttl`.
  static func isSame(_ came: String, _ expected: String) -> Bool {
    let (came, expected) = (parts(came), parts(expected))
    guard came.count == expected.count else { return false }
    return zip(came, expected).allSatisfy { came, expected in
      if came == expected { return true }
      guard let came = lifetime(came), let expected = lifetime(expected) else { return false }
      return (0...1).contains(expected - came)
    }
  }

  private static func parts(_ text: String) -> [Substring] {
    text.split(separator: ";").map { $0.drop { $0 == " " } }
  }

  private static func lifetime(_ part: Substring) -> Int64? {
    part.hasPrefix("ttl=") ? Int64(part.dropFirst(4)) : nil
  }
}
