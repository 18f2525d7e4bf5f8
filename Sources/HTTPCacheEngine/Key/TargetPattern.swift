// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A pattern that matches target URIs as text.
///
/// ```swift
/// cache.remove(.patterns([.prefix("https://example.com/images/"), .glob("https://*.example.com/*.css")]))
/// ```
///
/// Scheme and host are compared in lowercase, and without the scheme's default port, as in ``TargetURI``. The rest is
/// compared byte by byte.
public struct TargetPattern: Hashable, Sendable {
  private enum Kind: Hashable, Sendable {
    case glob
    case prefix
  }

  private let kind: Kind
  private let pattern: [UInt8]

  private init(_ kind: Kind, _ pattern: String) {
    self.kind = kind
    self.pattern = Array(Self.normalized(pattern).utf8)
  }

  /// Matches all URIs like a text in which `*` stands for any text, including the empty one and slashes, and `?` for
  /// one byte. The pattern must match the whole URI. There is no escape character: a `?` also matches the one before a
  /// query.
  public static func glob(_ pattern: String) -> TargetPattern { TargetPattern(.glob, pattern) }

  /// Matches all URIs that begin with a text.
  public static func prefix(_ prefix: String) -> TargetPattern { TargetPattern(.prefix, prefix) }

  /// Whether the pattern matches a URI.
  ///
  /// - Complexity: O(URI times pattern) at worst.
  package func matches(_ uri: String) -> Bool { matches(Array(uri.utf8)[...]) }

  package func matches(_ uri: ArraySlice<UInt8>) -> Bool {
    kind == .prefix ? uri.starts(with: pattern) : matchesGlob(uri)
  }

  /// The beginning of each URI that the pattern matches.
  package var beginning: [UInt8] {
    kind == .prefix
      ? pattern : Array(pattern.prefix { $0 != UInt8(ascii: "*") && $0 != UInt8(ascii: "?") })
  }

  /// Backtracking to the last `*` is enough.
  private func matchesGlob(_ text: ArraySlice<UInt8>) -> Bool {
    var (at, place) = (0, text.startIndex)
    var star: (pattern: Int, text: Int)?
    while place < text.endIndex {
      if at < pattern.count, pattern[at] == UInt8(ascii: "*") {
        star = (at, place)
        at += 1
      } else if at < pattern.count, pattern[at] == UInt8(ascii: "?") || pattern[at] == text[place] {
        at += 1
        place += 1
      } else if let last = star {
        at = last.pattern + 1
        place = last.text + 1
        star = (last.pattern, place)
      } else {
        return false
      }
    }
    return pattern[at...].allSatisfy { $0 == UInt8(ascii: "*") }
  }

  /// Whether the pattern matches at least one URI that begins with a text.
  ///
  /// - Complexity: O(text times pattern).
  package func mayMatch(beginningWith text: [UInt8]) -> Bool {
    if kind == .prefix { return text.starts(with: pattern) || pattern.starts(with: text) }
    // The positions in the pattern where its rest may begin; after the text, any rest can be matched.
    var places: Set<Int> = [0]
    func skippingStars(_ places: Set<Int>) -> Set<Int> {
      var all = places
      for var place in places {
        while place < pattern.count, pattern[place] == UInt8(ascii: "*") {
          place += 1
          all.insert(place)
        }
      }
      return all
    }
    for byte in text {
      var next: Set<Int> = []
      for place in skippingStars(places) where place < pattern.count {
        if pattern[place] == UInt8(ascii: "*") {
          next.insert(place)
        } else if pattern[place] == UInt8(ascii: "?") || pattern[place] == byte {
          next.insert(place + 1)
        }
      }
      if next.isEmpty { return false }
      places = next
    }
    return true
  }

  private static func normalized(_ pattern: String) -> String {
    guard let colon = pattern.firstRange(of: "://") else { return pattern }
    let scheme = pattern[..<colon.lowerBound].lowercasedASCII
    let rest = pattern[colon.upperBound...]
    guard let slash = rest.firstIndex(of: "/") else { return scheme + "://" + rest.lowercasedASCII }
    let uri = TargetURI(scheme: scheme, authority: String(rest[..<slash]), path: "/")
    return scheme + "://" + uri.authority + rest[slash...]
  }
}

extension TargetPattern: CustomStringConvertible {
  /// `glob https://a.example/*`.
  public var description: String { "\(kind) " + String(decoding: pattern, as: UTF8.self) }
}
