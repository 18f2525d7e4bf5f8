// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// The role that a field has for a proxy.
enum FieldRole: Sendable {
  case plain
  case host
  case connection
  case contentLength
  case transferEncoding
  case te
  case expect
  case maxForwards
  /// A field that concerns a single connection (RFC 9110 §7.6.1).
  case hop
  /// A field that concerns a single connection, but is forwarded if both of its ends want to switch (RFC 9110 §7.8).
  case upgrade
  /// Credentials for a proxy, which the origin must not get (RFC 9110 §11.7.2). The proxy forwards the origin's
  /// challenges.
  case proxyCredentials
  /// A field in which a proxy names the client, host or URL that it has received (RFC 7239), such as `X-Real-IP`: many
  /// servers read it, and no client sends it.
  case forwarding
  /// A field that names another method than that of the request, such as `X-HTTP-Method-Override`.
  case methodOverride
  /// The proxies that a request has passed (RFC 9110 §7.6.3).
  case via
  /// A field whose name has underscores where a field that the proxy sets or removes has hyphens, such as
  /// `Content_Length`: CGI and similar interfaces do not distinguish them.
  case lookalike

  init(_ canonicalName: String) {
    // Lengths first: most names differ in their length. This is done for each field of a message that is passed on.
    self =
      switch (canonicalName.utf8.count, canonicalName) {
      case (4, "host"): .host
      case (10, "connection"): .connection
      case (14, "content-length"): .contentLength
      case (17, "transfer-encoding"): .transferEncoding
      case (2, "te"): .te
      case (3, "via"): .via
      case (6, "expect"): .expect
      case (12, "max-forwards"): .maxForwards
      case (10, "keep-alive"), (16, "proxy-connection"), (14, "http2-settings"): .hop
      case (7, "upgrade"): .upgrade
      case (19, "proxy-authorization"): .proxyCredentials
      case (9, "forwarded"), (9, "x-real-ip"), (11, "x-forwarded"), (6, "x-host"), (9, "client-ip"),
        (11, "x-client-ip"), (13, "x-rewrite-url"), (13, "forwarded-for"), (14, "x-original-url"),
        (14, "true-client-ip"), (15, "x-original-host"), (16, "cf-connecting-ip"), (16, "fastly-client-ip"),
        (18, "cf-connecting-ipv6"), (19, "x-cluster-client-ip"), (20, "x-http-host-override"):
        .forwarding
      case (13, "x-http-method"), (17, "x-method-override"), (22, "x-http-method-override"): .methodOverride
      default: Self.other(canonicalName)
      }
  }

  /// The names that are counted when a field is removed. The rest of `X-Forwarded-…` has no bound.
  static let countedNames = [
    "cf-connecting-ip", "cf-connecting-ipv6", "client-ip", "fastly-client-ip", "forwarded-for",
    "true-client-ip",
    "x-client-ip", "x-cluster-client-ip", "x-host", "x-http-host-override", "x-http-method",
    "x-http-method-override", "x-method-override", "x-original-host", "x-original-url", "x-rewrite-url",
  ]

  private static func other(_ name: String) -> FieldRole {
    guard name.withFieldBytes({ $0.contains(UInt8(ascii: "_")) }) else {
      return name.hasPrefix("x-forwarded") ? .forwarding : .plain
    }
    let spelled = name.replacing("_", with: "-")
    switch FieldRole(spelled) {
    case .forwarding: return .forwarding
    case .plain: return conditions.contains(spelled) ? .lookalike : .plain
    default: return .lookalike
    }
  }

  /// The conditions that the cache adds, removes and evaluates.
  private static let conditions: Set = [
    "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range",
  ]
}

/// The names of frequent fields in their usual spelling, found by their bytes, without a new string for each.
enum FieldNames {
  private struct Entry: Sendable {
    let text: StaticString
    let isLowercase: Bool
    let name: HTTPField.Name
    let role: FieldRole
  }

  private static let table: [[Entry]] = {
    let names: [StaticString] = [
      "Host", "User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Connection", "Cache-Control",
      "Content-Type", "Content-Length", "Date", "ETag", "Last-Modified", "Server", "Vary", "Expires", "Age",
      "Cookie",
      "Set-Cookie", "If-None-Match", "If-Modified-Since", "Transfer-Encoding", "Content-Encoding",
      "Keep-Alive",
      "Pragma", "Referer", "Via", "Authorization", "Location", "Range", "Upgrade-Insecure-Requests",
      "Sec-Fetch-Mode", "Sec-Fetch-Site", "Sec-Fetch-Dest", "Accept-Ranges",
    ]
    var table = [[Entry]](repeating: [], count: 64)
    for text in names {
      for isLowercase in [false, true] {
        let spelled = isLowercase ? text.description.lowercasedASCII : text.description
        guard let name = HTTPField.Name(spelled), let first = spelled.utf8.first else { continue }
        table[slot(spelled.utf8.count, first)].append(
          Entry(text: text, isLowercase: isLowercase, name: name, role: FieldRole(name.canonicalName)))
      }
    }
    return table
  }()

  private static func slot(_ count: Int, _ first: UInt8) -> Int { (count &* 7 &+ Int(first)) & 63 }

  /// Returns the name in lowercase; `nil` if the bytes are not a token.
  static func canonicalName(_ bytes: RawSpan) -> String? {
    bytes.withUnsafeBytes { bytes in
      bytes.withMemoryRebound(to: UInt8.self) { find($0.span)?.name.canonicalName }
    }
  }

  /// Returns the name and its role; `nil` if the bytes are not a token (RFC 9110 §5.1).
  static func find(_ bytes: Span<UInt8>) -> (name: HTTPField.Name, role: FieldRole)? {
    guard !bytes.isEmpty else { return nil }
    for entry in table[slot(bytes.count, bytes[0])]
    where bytes.equals(entry.text, inLowercase: entry.isLowercase) {
      return (entry.name, entry.role)
    }
    let text = bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    guard let name = HTTPField.Name(text) else { return nil }
    return (name, FieldRole(name.canonicalName))
  }
}
