import Foundation
import HTTPCaching

/// Which URLs a stub answers: text, with some parts left open.
///
/// | In the pattern | matches |
/// |---|---|
/// | `{name}` | one character or more, but no `/`; what it was is told under the name |
/// | `*` | any characters but `/`, or none |
/// | `**` | any characters, or none |
/// | `?page={page}&sort=name` | the parameters, each of them, in any order; others may be there |
/// | `?` at the end | a URL without a query |
///
/// A pattern without `?` matches whatever the query is; one that begins with `/` matches on any host. Scheme and host are
/// compared as URLs are, without regard to case and to the scheme's default port.
public struct URLPattern: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  private enum Token: Hashable, Sendable {
    case literal(UInt8)
    case segment
    case anything
    case named(String)
  }

  private struct Parameter: Hashable, Sendable {
    var name: String
    var value: [Token]
  }

  public let description: String
  private let tokens: [Token]
  /// `nil` if any query will do.
  private let query: [Parameter]?
  private let isForAnyHost: Bool
  /// Whether the query is part of the text.
  private let isWhole: Bool

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

  public init(stringLiteral text: String) { self.init(text) }

  /// A pattern that one URL matches, whatever its characters.
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

  /// What the named parts are, percent-decoded, if the pattern matches; `nil` if it does not.
  ///
  /// - Complexity: O(*n* · *m*) in the lengths of the pattern and of the URL.
  public func match(_ url: TargetURI) -> [String: String]? {
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

  // MARK: - Reading

  /// Scheme and host as `TargetURI` has them, where there are no open parts in them.
  private static func normalized(_ text: String) -> String {
    guard let mark = text.range(of: "://") else { return text }
    let rest = text[mark.upperBound...]
    let authority = rest.prefix { $0 != "/" }
    let path = rest[authority.endIndex...]
    guard !authority.contains(where: { "*{}".contains($0) }) else {
      return text[..<mark.lowerBound].lowercased() + "://" + authority + (path.isEmpty ? "/" : path)
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

  private static func match(_ tokens: [Token], _ text: [UInt8], _ found: inout [String: String]) -> Bool {
    var matcher = Matcher(tokens: tokens, text: text)
    guard matcher.match(0, 0) else { return false }
    found.merge(matcher.found) { _, new in new }
    return true
  }

  private struct Matcher {
    let tokens: [Token]
    let text: [UInt8]
    var found: [String: String] = [:]
    /// Where it is known that the rest does not match: each place is tried once.
    var failed: Set<Int> = []

    mutating func match(_ token: Int, _ start: Int) -> Bool {
      guard token < tokens.count else { return start == text.count }
      let place = token * (text.count + 1) + start
      if failed.contains(place) { return false }
      let slash = UInt8(ascii: "/")
      switch tokens[token] {
      case .literal(let byte):
        if start < text.count, text[start] == byte, match(token + 1, start + 1) { return true }
      case .segment:
        let end = text[start...].firstIndex(of: slash) ?? text.count
        for position in start...end where match(token + 1, position) { return true }
      case .anything:
        for position in start...text.count where match(token + 1, position) { return true }
      case .named(let name):
        let end = text[start...].firstIndex(of: slash) ?? text.count
        // The longest first: a name takes all of its part.
        for position in (start...end).reversed() where position > start && match(token + 1, position) {
          let part = String(decoding: text[start..<position], as: UTF8.self)
          found[name] = part.removingPercentEncoding ?? part
          return true
        }
      }
      failed.insert(place)
      return false
    }
  }
}
