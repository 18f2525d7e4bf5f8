// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// What a response's field is to the rules of caching, told by its name.
///
/// Most fields concern nobody: the length of the name rules them out. To compare each name with all that count took 5,600
/// instructions of judging a response of ten fields.
enum FieldKind {
  /// No rule asks for it by name.
  case other

  case age, cacheControl, cacheGroups, clearSiteData, contentEncoding, contentLength
  case date, entityTag, expires, lastModified, vary
  /// Sets cookies: `Set-Cookie`, and the obsolete `Set-Cookie2`.
  case setCookie

  case connection
  /// Tells, beside concerning one connection only, that the message says where its content ends.
  case transferEncoding
  /// Concerns one connection or one proxy, by its name alone (RFC 9110 §7.6.1).
  case hopByHop
  /// A field of the name of the connection option that says the connection ends: no such field is known.
  case close

  init(_ name: HTTPField.Name) { self.init(name.canonicalName) }

  /// - Parameter name: in lowercase.
  @inline(__always)
  init(_ name: String) {
    let count = name.utf8.count
    guard count <= 25, Self.lengths >> UInt64(truncatingIfNeeded: count) & 1 != 0 else {
      self = .other
      return
    }
    self = name.withFieldBytes { FieldKind($0) }
  }

  /// Of the length of each name below, a bit.
  private static var lengths: UInt64 {
    1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 7 | 1 << 10 | 1 << 11 | 0xFF << 12 | 1 << 25
  }

  private init(_ name: Span<UInt8>) {
    @inline(__always)
    func has(_ text: StaticString) -> Bool { name.matches(text, in: name.whole) }
    self =
      switch name.count {
      case 2: has("te") ? .hopByHop : .other
      case 3: has("age") ? .age : .other
      case 4: has("date") ? .date : has("etag") ? .entityTag : has("vary") ? .vary : .other
      case 5: has("close") ? .close : .other
      case 7: has("expires") ? .expires : has("upgrade") ? .hopByHop : .other
      case 10:
        has("connection")
          ? .connection : has("set-cookie") ? .setCookie : has("keep-alive") ? .hopByHop : .other
      case 11: has("set-cookie2") ? .setCookie : .other
      case 12: has("cache-groups") ? .cacheGroups : .other
      case 13: has("cache-control") ? .cacheControl : has("last-modified") ? .lastModified : .other
      case 14: has("content-length") ? .contentLength : .other
      case 15: has("clear-site-data") ? .clearSiteData : .other
      case 16: has("content-encoding") ? .contentEncoding : has("proxy-connection") ? .hopByHop : .other
      case 17: has("transfer-encoding") ? .transferEncoding : .other
      case 18: has("proxy-authenticate") ? .hopByHop : .other
      case 19: has("proxy-authorization") ? .hopByHop : .other
      case 25: has("proxy-authentication-info") ? .hopByHop : .other
      default: .other
      }
  }

  /// Whether it is neither stored nor updated, whatever else the message says (RFC 9111 §3.1).
  var isOfConnection: Bool {
    switch self {
    case .connection, .transferEncoding, .hopByHop: true
    default: false
    }
  }

  /// Whether its own meaning for caching keeps it from being a targeted field (RFC 9213 §2.2).
  var governs: Bool {
    switch self {
    case .age, .cacheControl, .cacheGroups, .contentLength, .date, .entityTag, .expires, .lastModified,
      .transferEncoding, .vary:
      true
    case .other, .clearSiteData, .contentEncoding, .connection, .hopByHop, .close, .setCookie: false
    }
  }
}
