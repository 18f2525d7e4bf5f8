// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCaching

/// A pattern of the URLs that a stub answers: text with variable parts.
///
/// | In the pattern | matches |
/// |---|---|
/// | `{name}` | one character or more, but no `/`; the text is available under the name |
/// | `*` | any characters but `/`, or none |
/// | `**` | any characters, or none |
/// | `?page={page}&sort=name` | the parameters, each of them, in any order; others may be there |
/// | `?` at the end | a URL without a query |
///
/// A pattern without `?` matches any query. A pattern that begins with `/` matches on any host. Scheme and host are
/// compared without regard to case and to the scheme's default port.
public struct URLPattern: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  private enum Token: Hashable, Sendable {
    case literal(UInt8)
    case segment
    case anything
    case named(String)

    var isLiteral: Bool { if case .literal = self { true } else { false } }
  }

  private struct Parameter: Hashable, Sendable {
    var name: String
    var value: [Token]
  }

  /// The pattern's original text.
  public let description: String
  private let tokens: [Token]
  /// The query's parameters; `nil` if any query matches.
  private let query: [Parameter]?
  private let isForAnyHost: Bool
  /// Whether the query is part of the text.
  private let isWhole: Bool

  /// - Parameter text: the pattern.
  public init(_ text: String) {
    description = text
    isWhole = false
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    isForAnyHost = text.hasPrefix("/")
    tokens = Self.tokens(Self.normalized(String(parts[0])))
    query =
      parts.count < 2
      ? nil
      : parts[1].split(separator: "&").map { part in
        let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return Parameter(name: String(pair[0]), value: Self.tokens(pair.count < 2 ? "" : String(pair[1])))
      }
  }

  /// Makes a pattern from a literal.
  public init(stringLiteral text: String) { self.init(text) }

  /// Returns a pattern that matches exactly one URL, whatever its characters.
  static func exactly(_ url: String) -> URLPattern {
    URLPattern(exactly: url)
  }

  private init(exactly url: String) {
    description = url
    isForAnyHost = false
    tokens = url.utf8.map { .literal($0) }
    query = nil
    isWhole = true
  }

  /// Returns the values of the named parts, percent-decoded, if the pattern matches; `nil` if it does not.
  ///
  /// - Complexity: O(*n* · *m*) in the lengths of the pattern and of the URL.
  package func match(_ url: TargetURI) -> [String: String]? {
    if isWhole { return Array(url.text.utf8).map { .literal($0) } == tokens ? [:] : nil }
    let parts = url.path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = String(parts.first ?? "/")
    var found: [String: String] = [:]
    let text = isForAnyHost ? path : url.scheme + "://" + url.authority + path
    guard Self.match(tokens, Array(text.utf8), &found) else { return nil }
    guard let query else { return found }
    let given = parts.count < 2 ? [] : parts[1].split(separator: "&").map(String.init)
    if query.isEmpty { return parts.count < 2 ? found : nil }
    for parameter in query {
      let isFound = given.contains { text in
        let pair = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard pair[0] == parameter.name else { return false }
        return Self.match(parameter.value, Array((pair.count < 2 ? "" : pair[1]).utf8), &found)
      }
      guard isFound else { return nil }
    }
    return found
  }

  // MARK: - Parsing

  /// Normalises scheme and host as `TargetURI` does, if they have no variable parts.
  private static func normalized(_ text: String) -> String {
    guard let mark = text.range(of: "://") else { return text }
    let rest = text[mark.upperBound...]
    let authority = rest.prefix { $0 != "/" }
    let path = rest[authority.endIndex...]
    guard !authority.contains(where: { "*{}".contains($0) }) else {
      return text[..<mark.lowerBound].lowercasedASCII + "://" + authority + (path.isEmpty ? "/" : path)
    }
    let target = TargetURI(scheme: String(text[..<mark.lowerBound]), authority: String(authority), path: "/")
    return target.scheme + "://" + target.authority + (path.isEmpty ? "/" : path)
  }

  private static func tokens(_ text: String) -> [Token] {
    var tokens: [Token] = []
    var rest = Substring(text)
    while let first = rest.first {
      if rest.hasPrefix("**") {
        tokens.append(.anything)
        rest = rest.dropFirst(2)
      } else if first == "*" {
        tokens.append(.segment)
        rest = rest.dropFirst()
      } else if first == "{", let end = rest.firstIndex(of: "}"), end > rest.index(after: rest.startIndex) {
        tokens.append(.named(String(rest[rest.index(after: rest.startIndex)..<end])))
        rest = rest[rest.index(after: end)...]
      } else {
        tokens += String(first).utf8.map { .literal($0) }
        rest = rest.dropFirst()
      }
    }
    return tokens
  }

  // MARK: - Matching

  /// Advances from token to token as long as the rest matches: no attempt is repeated.
  private static func match(_ tokens: [Token], _ text: [UInt8], _ found: inout [String: String]) -> Bool {
    // The beginning excludes most URLs, and many patterns have no variable part at all.
    let open = tokens.firstIndex { !$0.isLiteral } ?? tokens.count
    guard open <= text.count, text.indices.prefix(open).allSatisfy({ tokens[$0] == .literal(text[$0]) })
    else {
      return false
    }
    if open == tokens.count { return text.count == open }
    let ends = Ends(tokens[open...], text)
    guard ends.matches(open, at: open) else { return false }
    var parts: [String: String] = [:]
    var position = open
    for token in tokens.indices[open...] {
      let start = position
      switch tokens[token] {
      case .literal: position += 1
      case .segment, .anything: while !ends.matches(token + 1, at: position) { position += 1 }
      case .named(let name):
        // The longest match: a name takes all of its path segment.
        position = text[start...].firstIndex(of: slash) ?? text.count
        while !ends.matches(token + 1, at: position) { position -= 1 }
        let part = String(decoding: text[start..<position], as: UTF8.self)
        // If a name occurs twice, the first value counts.
        parts[name] = parts[name] ?? part.removingPercentEncoding ?? part
      }
    }
    found.merge(parts) { _, new in new }
    return true
  }

  private static let slash = UInt8(ascii: "/")

  /// The positions of a text from which the rest of a pattern matches the rest of the text, for each token of the
  /// pattern. They are computed from the last token to the first.
  private struct Ends {
    private let first: Int
    /// For each token and for the end of the pattern, one position more than the text has bytes.
    private var rows: [[Bool]]

    init(_ tokens: ArraySlice<Token>, _ text: [UInt8]) {
      first = tokens.startIndex
      var row = [Bool](repeating: false, count: text.count + 1)
      row[text.count] = true
      rows = [row]
      for token in tokens.reversed() {
        row = Self.row(of: token, before: row, text)
        rows.append(row)
      }
      rows.reverse()
    }

    private static func row(of token: Token, before next: [Bool], _ text: [UInt8]) -> [Bool] {
      var row = [Bool](repeating: false, count: next.count)
      switch token {
      case .literal(let byte):
        for position in text.indices where text[position] == byte { row[position] = next[position + 1] }
      case .segment, .anything, .named:
        let isNamed = if case .named = token { true } else { false }
        // Whether the next token matches here or further on, within the segment.
        var isReached = false
        for position in next.indices.reversed() {
          if position < text.count, token != .anything, text[position] == slash { isReached = false }
          // A name has at least one character.
          row[position] = isNamed ? isReached : isReached || next[position]
          isReached = isReached || next[position]
        }
      }
      return row
    }

    func matches(_ token: Int, at position: Int) -> Bool { rows[token - first][position] }
  }
}
