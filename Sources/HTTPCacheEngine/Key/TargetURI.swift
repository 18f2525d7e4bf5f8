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
    let scheme = scheme.lowercased()
    self.scheme = scheme
    self.authority = Self.normalizedAuthority(authority, scheme: scheme)
    let withoutFragment = path.prefix { $0 != "#" }
    if withoutFragment.isEmpty {
      self.path = "/"
    } else if withoutFragment.first == "/" {
      self.path = String(withoutFragment)
    } else {
      self.path = "/" + withoutFragment
    }
  }

  /// Reads the target of a request; `nil` if its scheme, authority or path is missing or invalid.
  ///
  /// The parts come from the network. A part that runs into the next, such as the authority `a.example/b`, would give
  /// the responses of one site the key of another.
  public init?(_ request: HTTPRequest) {
    guard let scheme = request.scheme, Self.isScheme(scheme), let authority = request.authority,
      Self.isAuthority(authority), let path = request.path,
      path.isEmpty || path.first == "/" || path.first == "?"
    else { return nil }
    self.init(scheme: scheme, authority: authority, path: path)
  }

  /// Reads an absolute URI, such as `https://example.com/path`; `nil` if the text has no scheme or no authority.
  public init?(absolute text: String) {
    guard let (scheme, rest) = Self.splitScheme(text), rest.hasPrefix("//") else { return nil }
    let authority = rest.dropFirst(2).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    guard Self.isAuthority(authority) else { return nil }
    self.init(scheme: scheme, authority: String(authority), path: String(rest[authority.endIndex...]))
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
    let hostStart = authority.lastIndex(of: "@").map { authority.index(after: $0) } ?? authority.startIndex
    var host = authority[hostStart...].lowercased()
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
    let reference = String(reference.prefix { $0 != "#" })
    if let (scheme, rest) = Self.splitScheme(reference) {
      guard rest.hasPrefix("//") else { return nil }
      return Self.absolute(scheme: scheme, hierarchy: rest.dropFirst(2))
    }
    if reference.hasPrefix("//") {
      return Self.absolute(scheme: scheme, hierarchy: reference.dropFirst(2))
    }
    if reference.isEmpty { return self }
    let basePath = path.prefix { $0 != "?" }
    if reference.hasPrefix("?") {
      return TargetURI(scheme: scheme, authority: authority, path: basePath + reference)
    }
    let query = reference.firstIndex(of: "?").map { reference[$0...] } ?? ""
    let referencePath = reference.prefix { $0 != "?" }
    let merged: Substring
    if referencePath.hasPrefix("/") {
      merged = referencePath
    } else {
      let directoryEnd = basePath.lastIndex(of: "/").map { basePath.index(after: $0) } ?? basePath.startIndex
      merged = basePath[..<directoryEnd] + referencePath
    }
    return TargetURI(
      scheme: scheme, authority: authority, path: Self.removingDotSegments(merged) + query)
  }

  private static func splitScheme(_ reference: String) -> (scheme: String, rest: Substring)? {
    guard let colon = reference.firstIndex(of: ":") else { return nil }
    let scheme = reference[..<colon]
    return isScheme(scheme) ? (String(scheme), reference[reference.index(after: colon)...]) : nil
  }

  private static func absolute(scheme: String, hierarchy: Substring) -> TargetURI? {
    let authority = hierarchy.prefix { $0 != "/" && $0 != "?" }
    guard isAuthority(authority) else { return nil }
    let rest = hierarchy[authority.endIndex...]
    let path = rest.prefix { $0 != "?" }
    return TargetURI(
      scheme: scheme, authority: String(authority),
      path: removingDotSegments(path) + rest[path.endIndex...])
  }

  /// RFC 3986 §5.2.4.
  private static func removingDotSegments(_ path: Substring) -> String {
    var output: [Substring] = []
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
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
