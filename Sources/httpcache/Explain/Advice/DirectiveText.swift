// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine

/// A member of a `Cache-Control` field as its author wrote it, valid or not.
///
/// The engine reads directives to follow them. This type reads them to report spelling errors.
struct DirectiveText: Hashable {
  /// Without whitespace around it.
  var text: String
  /// The text before the equals sign, in lowercase.
  var name: String
  /// The text after it, without quotes; `nil` without an equals sign.
  var argument: String?
  /// Whether it is a token, optionally with an argument that is a token or a quoted string (RFC 9111 §5.2).
  var isValid: Bool

  /// Returns the members of field lines. A comma within quotes is not a separator.
  static func members(of lines: [String]) -> [DirectiveText] {
    lines.flatMap { line in
      var members: [String] = []
      var (member, isQuoted) = ("", false)
      for character in line {
        if character == "\"" { isQuoted.toggle() }
        if character == ",", !isQuoted {
          members.append(member)
          member = ""
        } else {
          member.append(character)
        }
      }
      return (members + [member]).map(\.trimmedOfBlanks).filter { !$0.isEmpty }.map(DirectiveText.init)
    }
  }

  init(_ text: String) {
    self.text = text
    guard let equals = text.firstIndex(of: "=") else {
      (name, argument, isValid) = (text.lowercased(), nil, text.isToken)
      return
    }
    name = text[..<equals].lowercased()
    let behind = String(text[text.index(after: equals)...])
    let inside = behind.dropFirst().dropLast()
    let isQuoted =
      behind.count >= 2 && behind.hasPrefix("\"") && behind.hasSuffix("\"") && !inside.contains("\"")
    argument = isQuoted ? String(inside) : behind
    isValid = name.isToken && (isQuoted || behind.isToken)
  }

  /// The number of seconds in the argument; `nil` if it has none.
  var seconds: Int64? {
    guard let argument, !argument.isEmpty, argument.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return nil
    }
    return Int64(argument) ?? .max
  }

  /// Those of the intended directives that have a meaning in a response.
  var corrected: [String] { intended.filter { !Directives.ofRequests.contains(DirectiveText($0).name) } }

  /// The intended directives, each in its correct spelling.
  var intended: [String] {
    if isValid { return [Self.spelled(text)] }
    // Blanks around an equals sign are part of a directive; all others, semicolons and quotes end one.
    var text = self.text.replacing("\"", with: " ").replacing("'", with: " ").replacing(":", with: "=")
    for blank in [" =", "= "] { while text.contains(blank) { text = text.replacing(blank, with: "=") } }
    return text.split {
      !$0.isASCII || $0 == ";" || $0 == "," || $0.isWhitespace || $0.asciiValue.map { $0 < 0x21 } ?? true
    }
    .map { Self.spelled(String($0)) }
    // `max-age;60`: the number is the rest of the directive.
    .filter { $0.first?.isNumber == false && DirectiveText($0).isValid }
  }

  /// Returns a directive with the correct name and time.
  private static func spelled(_ text: String) -> String {
    let directive = DirectiveText(text)
    let name = Directives.meant(by: directive.name) ?? directive.name
    let isTime = Directives.withTime.contains(name)
    guard let argument = directive.argument, !argument.isEmpty else {
      return isTime ? "\(name)=3600" : name
    }
    if isTime, directive.seconds == nil { return "\(name)=\(Directives.seconds(in: argument) ?? 3600)" }
    let behind = text.dropFirst(directive.name.count)
    return DirectiveText(name + behind).isValid ? name + behind : name
  }
}

/// The known directives.
enum Directives {
  static let withTime: Set = [
    "max-age", "s-maxage", "stale-while-revalidate", "stale-if-error",
  ]
  /// They have no meaning in a response (RFC 9111 §5.2.1).
  static let ofRequests: Set = ["max-stale", "min-fresh", "only-if-cached"]
  static let known: Set = withTime.union(ofRequests).union([
    "public", "private", "no-cache", "no-store", "no-transform", "must-revalidate", "proxy-revalidate",
    "must-understand", "immutable",
  ])
  /// In use, though not in a standard: these names are not misspelt.
  private static let others: Set = ["pre-check", "post-check", "community", "no-vary", "no-archive"]

  /// Returns the directive that an unknown name was meant to be; `nil` if the name is valid, or similar to no
  /// directive.
  static func meant(by name: String) -> String? {
    guard !known.contains(name), !others.contains(name), name.count >= 4 else {
      return nil
    }
    let letters = bare(name)
    if let same = known.sorted().first(where: { bare($0) == letters }) { return same }
    let near = known.map { (name: $0, distance: distance(letters, bare($0))) }
      .min { ($0.distance, $0.name) < ($1.distance, $1.name) }
    guard let near, near.distance <= (letters.count < 8 ? 1 : 2) else { return nil }
    return near.name
  }

  /// Returns the name without characters that are easily left out or mistaken: `s-max_age` is `smaxage`.
  private static func bare(_ name: String) -> String { name.filter { $0 != "-" && $0 != "_" && $0 != "'" } }

  /// Returns the number of letters to insert, remove or change (Levenshtein).
  private static func distance(_ left: String, _ right: String) -> Int {
    let (left, right) = (Array(left.utf8.prefix(32)), Array(right.utf8))
    var row = Array(0...right.count)
    for (index, letter) in left.enumerated() {
      var (diagonal, first) = (row[0], index + 1)
      row[0] = first
      for position in right.indices {
        let cost = diagonal + (letter == right[position] ? 0 : 1)
        diagonal = row[position + 1]
        first = min(cost, diagonal + 1, first + 1)
        row[position + 1] = first
      }
    }
    return row[right.count]
  }

  /// Returns the seconds of a time with a unit: `1h`, `30 min`, `1.5`.
  static func seconds(in text: String) -> Int64? {
    let number = text.drop { $0 == " " }.prefix { $0.isNumber || $0 == "." }
    guard let value = Double(number), value < 1e12 else { return nil }
    let units: [(String, Double)] = [
      ("w", 604_800), ("d", 86_400), ("h", 3600), ("mi", 60), ("m", 60), ("y", 31_536_000), ("s", 1), ("", 1),
    ]
    let unit = text.drop { $0 == " " }.dropFirst(number.count).drop { $0 == " " }.lowercased()
    return units.first { $0.0.isEmpty ? unit.isEmpty : unit.hasPrefix($0.0) }.map {
      Int64(Swift.min(value * $0.1, 1e15))
    }
  }
}

extension String {
  /// RFC 9110 §5.6.2.
  var isToken: Bool {
    !isEmpty
      && utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0) }
  }
}
