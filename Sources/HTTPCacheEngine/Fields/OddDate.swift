// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Recognisable dates in none of the three formats of HTTP: `6 Nov 1994 8:49:37 UTC`, `1994-11-06T08:49:37Z`.
///
/// They have one use. A `Last-Modified` in such a format is sent back unchanged (RFC 9111 §4.3.1), because the origin
/// that wrote it can compare it. It makes no response fresh, and answers no precondition of a client.
extension HTTPDate {
  /// Returns the date of a text in one of HTTP's formats or in another recognisable one; `nil` for any other text.
  ///
  /// - Parameter now: needed for two-digit years only, which only HTTP's own format may have.
  static func recognised(_ text: String, now: Timestamp) -> HTTPDate? {
    parsed(text, now: now) ?? odd(text)
  }

  /// Longer than any date.
  private static let longest = 64

  private static func odd(_ text: String) -> HTTPDate? {
    guard text.utf8.count <= longest else { return nil }
    var parts = OddDateParts()
    for word in text.utf8.split(whereSeparator: { $0 == 0x20 || $0 == 0x09 || $0 == UInt8(ascii: ",") }) {
      guard parts.take(Substring(word)) else { return nil }
    }
    return parts.secondsSince1970.map { HTTPDate(secondsSince1970: $0) }
  }
}

/// The parts of a date found so far in its words. Every word must be used, and no part may occur twice.
private struct OddDateParts {
  private var hasWeekday = false
  private var year: Int64?
  private var month: Int64?
  private var day: Int64?
  private var time: (hour: Int64, minute: Int64, second: Int64)?
  /// Seconds east of Greenwich. Without a zone, that of HTTP is used.
  private var offset: Int64?

  var secondsSince1970: Int64? {
    guard let year, let month, let day, let time else { return nil }
    return HTTPDate.Components(
      year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second
    ).secondsSince1970.map { $0 - (offset ?? 0) }
  }

  mutating func take(_ word: Substring) -> Bool {
    if word.utf8.allSatisfy(\.isLetter) { return takeName(word) }
    // ISO 8601.
    if word.first?.isNumber == true, let separator = word.firstIndex(of: "T") {
      return take(word[..<separator]) && take(word[word.index(after: separator)...])
    }
    if word.utf8.contains(UInt8(ascii: ":")), time == nil { return takeTime(word) }
    if let sign = word.first, sign == "+" || sign == "-" { return takeOffset(word) }
    let numbers = word.split(separator: "-", omittingEmptySubsequences: false)
    if numbers.count == 3 { return takeDate(numbers, of: word) }
    return takeNumber(word)
  }

  private mutating func takeName(_ name: Substring) -> Bool {
    switch name.lowercasedASCII {
    case "gmt", "utc", "ut", "z": return Self.set(&offset, 0)
    case let name:
      guard let start = name.withFieldBytes({ $0.count >= 3 ? HTTPDate.letters($0, 0) : nil }) else {
        return false
      }
      if HTTPDate.isShortWeekday(start), !hasWeekday {
        hasWeekday = true
        return true
      }
      return Self.set(&month, HTTPDate.month(start))
    }
  }

  /// Reads `8:49`, `08:49:37`, `08:49:37.123`, `08:49:37Z`, `08:49:37+01:00`.
  private mutating func takeTime(_ word: Substring) -> Bool {
    var word = word
    if let zone = word.firstIndex(where: { $0 == "Z" || $0 == "z" || $0 == "+" || $0 == "-" }) {
      let rest = word[zone...]
      guard rest.count == 1 ? takeName(rest) : takeOffset(rest) else { return false }
      word = word[..<zone]
    }
    let parts = word.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2 || parts.count == 3, let hour = number(parts[0], 1...2),
      let minute = number(parts[1], 2...2)
    else { return false }
    let seconds =
      parts.count == 3
      ? parts[2].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false) : ["00"]
    guard let first = seconds.first, let second = number(first, 2...2),
      seconds.count < 2 || number(seconds[1], 1...9) != nil
    else { return false }
    time = (hour, minute, second)
    return true
  }

  /// Reads `+0100` or `+01:00`.
  private mutating func takeOffset(_ word: Substring) -> Bool {
    let digits = word.dropFirst().filter { $0 != ":" }
    guard digits.utf8.count == 4, let hours = number(digits.prefix(2), 2...2), hours < 24,
      let minutes = number(digits.suffix(2), 2...2), minutes < 60
    else { return false }
    return Self.set(&offset, (hours * 3600 + minutes * 60) * (word.first == "-" ? -1 : 1))
  }

  /// Reads `1994-11-06`, `06-Nov-1994`.
  private mutating func takeDate(_ parts: [Substring], of word: Substring) -> Bool {
    if parts[0].utf8.count == 4 {
      return Self.set(&year, number(parts[0], 4...4)) && Self.set(&month, number(parts[1], 2...2))
        && Self.set(&day, number(parts[2], 2...2))
    }
    return takeNumber(parts[0]) && takeName(parts[1]) && takeNumber(parts[2])
  }

  private mutating func takeNumber(_ word: Substring) -> Bool {
    word.utf8.count == 4 ? Self.set(&year, number(word, 4...4)) : Self.set(&day, number(word, 1...2))
  }

  private static func set(_ part: inout Int64?, _ value: Int64?) -> Bool {
    guard part == nil, let value else { return false }
    part = value
    return true
  }

  private func number(_ digits: Substring, _ count: ClosedRange<Int>) -> Int64? {
    guard count.contains(digits.utf8.count), digits.utf8.allSatisfy(\.isDigit) else { return nil }
    return Int64(digits)
  }
}
