// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// The role of a response's field in the rules of caching, determined by its name.
///
/// Most fields have none, and the length of the name excludes them. Comparing each name with all relevant ones took
/// 5,600 instructions for a response of ten fields.
package enum FieldKind {
  /// No rule uses it by name.
  case other

  case age, cacheControl, cacheGroups, clearSiteData, contentEncoding, contentLength
  case date, entityTag, expires, lastModified, vary
  /// Defines how to read the stored bytes, or holds for exactly these bytes, like the length and the coding: position,
  /// media type, language and digests.
  case describesContent
  /// Sets cookies: `Set-Cookie`, and the obsolete `Set-Cookie2`.
  case setCookie
  /// Forbids storing to the cache in front of the origin, by an older convention than targeted fields.
  case accelExpires, surrogateControl

  case connection
  /// Concerns one connection only, and shows that the message contains the end of its content.
  case transferEncoding
  /// Concerns one connection or one proxy, by its name alone (RFC 9110 §7.6.1).
  case hopByHop
  /// A field with the name of the connection option `close`: no such field is defined.
  case close

  package init(_ name: HTTPField.Name) { self.init(name.canonicalName) }

  /// - Parameter name: the name in lowercase.
  @inline(__always)
  init(_ name: String) {
    let count = name.utf8.count
    guard count <= 25, Self.lengths >> UInt64(truncatingIfNeeded: count) & 1 != 0 else {
      self = .other
      return
    }
    self = name.withFieldBytes { FieldKind($0) }
  }

  /// A bitmask of the lengths of the names below.
  private static var lengths: UInt64 {
    1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 11 | 0xFF << 12 | 1 << 25
  }

  /// - Parameter name: the name in any case.
  init(_ name: Span<UInt8>) {
    @inline(__always)
    func has(_ text: StaticString) -> Bool { name.matches(text, in: name.whole) }
    self =
      switch name.count {
      case 2: has("te") ? .hopByHop : .other
      case 3: has("age") ? .age : .other
      case 4: has("date") ? .date : has("etag") ? .entityTag : has("vary") ? .vary : .other
      case 5: has("close") ? .close : .other
      case 6: has("digest") ? .describesContent : .other
      case 7: has("expires") ? .expires : has("upgrade") ? .hopByHop : .other
      case 10:
        has("connection")
          ? .connection : has("set-cookie") ? .setCookie : has("keep-alive") ? .hopByHop : .other
      case 11:
        has("set-cookie2")
          ? .setCookie : has("content-md5") || has("repr-digest") ? .describesContent : .other
      case 12: has("content-type") ? .describesContent : has("cache-groups") ? .cacheGroups : .other
      case 13:
        has("cache-control")
          ? .cacheControl
          : has("last-modified") ? .lastModified : has("content-range") ? .describesContent : .other
      case 14:
        has("content-length")
          ? .contentLength
          : has("content-digest") ? .describesContent : has("http2-settings") ? .hopByHop : .other
      case 15: has("clear-site-data") ? .clearSiteData : has("x-accel-expires") ? .accelExpires : .other
      case 16:
        has("content-encoding")
          ? .contentEncoding
          : has("content-language")
            ? .describesContent : has("proxy-connection") ? .hopByHop : .other
      case 17:
        has("transfer-encoding") ? .transferEncoding : has("surrogate-control") ? .surrogateControl : .other
      case 18: has("proxy-authenticate") ? .hopByHop : .other
      case 19: has("proxy-authorization") ? .hopByHop : .other
      case 25: has("proxy-authentication-info") ? .hopByHop : .other
      default: .other
      }
  }

  /// Whether it is neither stored nor updated, whatever else the message contains (RFC 9111 §3.1).
  var isOfConnection: Bool {
    switch self {
    case .connection, .transferEncoding, .hopByHop: true
    default: false
    }
  }

  /// Whether an update leaves the stored field as it is.
  ///
  /// An update brings no bytes, so the fields that describe them stay as they were stored. The origin may have chosen
  /// another representation with the same weak validator. With its coding or type, the stored bytes would be damaged, or
  /// read as a script. §3.2 excepts Content-Length, and allows caches to omit "fields necessary to ensure integrity of
  /// the stored response". Content-Location is updated: it names the representation, and changes the meaning of no byte.
  var staysInUpdate: Bool {
    switch self {
    case .contentEncoding, .contentLength, .describesContent: true
    default: isOfConnection
    }
  }

  /// Whether it cannot be a targeted field, because it has its own meaning for caching (RFC 9213 §2.2).
  var governs: Bool {
    switch self {
    case .age, .cacheControl, .cacheGroups, .contentLength, .date, .entityTag, .expires, .lastModified,
      .transferEncoding, .vary:
      true
    case .other, .clearSiteData, .contentEncoding, .describesContent, .connection, .hopByHop, .close,
      .setCookie, .accelExpires, .surrogateControl:
      false
    }
  }
}
