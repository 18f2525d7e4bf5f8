// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// An absolute URI, normalised as far as HTTP allows without knowing the server (RFC 9110 §4.2.3).
///
/// Scheme and host are in lowercase, the scheme's default port is dropped, an empty path is `/`, and there is no
/// fragment. Percent-encoding is kept, because some servers distinguish `%7e` and `~`.
public struct TargetURI: Hashable, Sendable {
  /// The scheme, in lower case.
  public let scheme: String
  /// The host and, unless it is the default, the port.
  public let authority: String
  /// Path and query, from the first slash.
  public let path: String

  /// - Parameters:
  ///   - scheme: the scheme.
  ///   - authority: the host and the port.
  ///   - path: the path with the query.
  public init(scheme: String, authority: String, path: String) {
    let scheme = scheme.lowercasedASCII
    self.scheme = scheme
    self.authority = Self.normalizedAuthority(authority, scheme: scheme)
    let withoutFragment = path.prefix(before: "#")
    self.path =
      withoutFragment.utf8.first == UInt8(ascii: "/") ? String(withoutFragment) : "/" + withoutFragment
  }

  /// Reads the target of a request; `nil` if a part of it is missing, or servers may read it in more than one way.
  ///
  /// The parts come from the network, and a response must never be stored for another target than the one that its
  /// origin read:
  ///
  /// - the path is absolute, without a fragment, blanks, control characters, backslashes (which some servers read as
  ///   slashes), and octets that are not UTF-8;
  /// - the authority ends before the path, and has no user information, which RFC 9110 §4.2.4 calls an error;
  /// - there is one host: no `Host` field besides the authority (RFC 9112 §3.2).
  public init?(_ request: HTTPRequest) {
    guard let scheme = request.scheme, Self.isScheme(scheme), let authority = request.authority,
      Self.isAuthority(authority), !authority.utf8.contains(UInt8(ascii: "@")), let path = request.path,
      path.withFieldBytes({ Self.isPath($0) }), !request.hasHostField
    else { return nil }
    self.init(scheme: scheme, authority: authority, path: path)
  }

  /// Reads an absolute URI, such as `https://example.com/path`; `nil` if the text has no scheme or no authority.
  public init?(absolute text: String) {
    guard let (scheme, rest) = Self.splitScheme(text), let hierarchy = rest.dropping(prefix: "//") else {
      return nil
    }
    let authority = hierarchy.prefix(before: "/", "?", "#")
    guard Self.isAuthority(authority) else { return nil }
    self.init(scheme: scheme, authority: String(authority), path: String(hierarchy[authority.endIndex...]))
  }

  /// Whether all servers read the URI alike: responses are stored for no other.
  package var isUnambiguous: Bool {
    !authority.utf8.contains(UInt8(ascii: "@")) && path.withFieldBytes { Self.isPath($0) }
  }

  public static func == (left: TargetURI, right: TargetURI) -> Bool {
    // Octet for octet. `String`'s equality is canonical equivalence.
    left.scheme == right.scheme && left.authority.utf8.elementsEqual(right.authority.utf8)
      && left.path.utf8.elementsEqual(right.path.utf8)
  }

  /// Whether all servers read a path and query alike. An empty path is `/` (RFC 9110 §4.2.3).
  static func isPath(_ bytes: Span<UInt8>) -> Bool {
    guard bytes.count > 0 else { return true }
    guard bytes[0] == UInt8(ascii: "/") else { return false }
    for position in 0..<bytes.count {
      let byte = bytes[position]
      guard byte >= 0x80 || byte.isTargetCharacter else { return false }
      // U+FFFD replaces octets that are not UTF-8: different targets would have one text.
      if byte == 0xEF, position + 2 < bytes.count, bytes[position + 1] == 0xBF, bytes[position + 2] == 0xBD {
        return false
      }
    }
    return true
  }

  /// RFC 3986 §3.1.
  private static func isScheme(_ text: some StringProtocol) -> Bool {
    guard let first = text.utf8.first, first.isLetter else { return false }
    return text.utf8.allSatisfy {
      $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-")
        || $0 == UInt8(ascii: ".")
    }
  }

  /// RFC 3986 §3.2: an authority ends before `/`, `?` or `#`. RFC 9110 §4.2.1: an authority without a host is invalid.
  private static func isAuthority(_ text: some StringProtocol) -> Bool {
    let host = text.utf8.reversed().prefix { $0 != UInt8(ascii: "@") }
    return host.last != nil && host.last != UInt8(ascii: ":")
      && text.utf8.allSatisfy {
        $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?")
          && $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: "\\")
      }
  }

  /// The URI as text.
  public var text: String { scheme + "://" + authority + path }

  /// Whether scheme, host and port are the same (RFC 9110 §4.3.1).
  package func hasSameOrigin(as other: TargetURI) -> Bool {
    scheme == other.scheme && authority == other.authority
  }

  private static func normalizedAuthority(_ authority: String, scheme: String) -> String {
    // User information (deprecated by §4.2.4) is case-sensitive; the rest is not.
    let bytes = authority.utf8
    let hostStart = bytes.lastIndex(of: UInt8(ascii: "@")).map { bytes.index(after: $0) } ?? bytes.startIndex
    var host = authority[hostStart...].lowercasedASCII
    // The colon before a port follows a name without colons, or a literal in brackets.
    if let colon = host.lastIndex(of: ":"), host[..<colon].last == "]" || !host[..<colon].contains(":") {
      let port = host[host.index(after: colon)...]
      if port.isEmpty || (scheme == "http" && port == "80") || (scheme == "https" && port == "443") {
        host = String(host[..<colon])
      }
    }
    return authority[..<hostStart] + host
  }
}

// MARK: - References

extension TargetURI {
  /// Resolves a URI reference, as in `Location` and `Content-Location`, against this URI (RFC 3986 §5.2).
  ///
  /// Returns `nil` if the result is not a URI with an authority.
  package func resolving(_ reference: String) -> TargetURI? {
    // By bytes: with a combining character behind it, a slash would be another `Character`.
    let reference = reference.prefix(before: "#")
    if let (scheme, rest) = Self.splitScheme(String(reference)) {
      return rest.dropping(prefix: "//").flatMap { Self.absolute(scheme: scheme, hierarchy: $0) }
    }
    if let hierarchy = reference.dropping(prefix: "//") {
      return Self.absolute(scheme: scheme, hierarchy: hierarchy)
    }
    if reference.isEmpty { return self }
    let basePath = path.prefix(before: "?")
    let referencePath = reference.prefix(before: "?")
    let query = reference[referencePath.endIndex...]
    if referencePath.isEmpty {
      return TargetURI(scheme: scheme, authority: authority, path: String(basePath) + query)
    }
    let merged: Substring
    if referencePath.utf8.first == UInt8(ascii: "/") {
      merged = referencePath
    } else {
      let bytes = basePath.utf8
      let directoryEnd =
        bytes.lastIndex(of: UInt8(ascii: "/")).map { bytes.index(after: $0) } ?? bytes.startIndex
      merged = basePath[..<directoryEnd] + referencePath
    }
    return TargetURI(
      scheme: scheme, authority: authority, path: Self.removingDotSegments(merged) + query)
  }

  private static func splitScheme(_ reference: String) -> (scheme: String, rest: Substring)? {
    guard let colon = reference.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let scheme = reference[..<colon]
    return isScheme(scheme) ? (String(scheme), reference[reference.utf8.index(after: colon)...]) : nil
  }

  private static func absolute(scheme: String, hierarchy: Substring) -> TargetURI? {
    let authority = hierarchy.prefix(before: "/", "?")
    guard isAuthority(authority) else { return nil }
    let rest = hierarchy[authority.endIndex...]
    let path = rest.prefix(before: "?")
    return TargetURI(
      scheme: scheme, authority: String(authority),
      path: removingDotSegments(path) + rest[path.endIndex...])
  }

  /// RFC 3986 §5.2.4.
  private static func removingDotSegments(_ path: Substring) -> String {
    var output: [Substring] = []
    let segments = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .map { Substring($0) }
    for (position, segment) in segments.enumerated() {
      let isLast = position == segments.count - 1
      switch segment {
      case ".":
        if isLast { output.append("") }
      case "..":
        if output.count > 1 { output.removeLast() }
        if isLast { output.append("") }
      default: output.append(segment)
      }
    }
    return output.joined(separator: "/")
  }
}

extension StringProtocol where SubSequence == Substring {
  /// The text up to the first of some characters of ASCII.
  fileprivate func prefix(before ends: Unicode.Scalar...) -> Substring {
    let end = utf8.firstIndex { byte in ends.contains { $0.value == byte } }
    return self[..<(end ?? endIndex)]
  }

  /// The text behind a prefix of ASCII; `nil` if it begins otherwise.
  fileprivate func dropping(prefix: StaticString) -> Substring? {
    let count = prefix.utf8CodeUnitCount
    let matches = prefix.withUTF8Buffer { utf8.prefix(count).elementsEqual($0) }
    return matches ? self[utf8.index(startIndex, offsetBy: count)...] : nil
  }
}

extension HTTPRequest {
  /// Whether there is a `Host` field besides the authority. HTTPTypes keeps the first line of it as the authority, so it is
  /// a second one, or one that the application set.
  package var hasHostField: Bool {
    let fields = headerFields
    // Compares the length first: comparing two texts takes a call.
    for position in 0..<fields.count
    where fields[position].name.canonicalName.utf8.count == 4 && fields[position].name.canonicalName == "host"
    {
      return true
    }
    return false
  }
}
