// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Numbers for the most frequent field names, so that a stored head does not spell them out.
///
/// Making a name from its bytes means checking and lowercasing it, which was a third of the cost of a hit. The numbers
/// are part of the stored form, and never change. A new name must get a number after all existing ones, including those
/// of the lowercase names. It must not be added at the end of the first list.
enum FieldNameTable {
  /// The names in the spelling of HTTP/1.1, and then all of them in that of HTTP/2 (RFC 9113 §8.2).
  private static let names: [HTTPField.Name] = {
    let names: [HTTPField.Name] =
      [
        .acceptRanges, .accessControlAllowOrigin, .age, .allow, .cacheControl, .contentDisposition,
        .contentEncoding, .contentLanguage, .contentLength, .contentLocation, .contentRange,
        .contentSecurityPolicy, .contentType, .crossOriginResourcePolicy, .date, .eTag, .expires,
        .lastModified,
        .location, .retryAfter, .server, .setCookie, .strictTransportSecurity, .vary, .xContentTypeOptions,
        .accessControlAllowCredentials, .accessControlAllowHeaders, .accessControlAllowMethods,
        .accessControlExposeHeaders, .accessControlMaxAge,
      ]
      + [
        "Link", "Via", "Alt-Svc", "X-Cache", "X-Cache-Hits", "Server-Timing", "X-Served-By",
        "Referrer-Policy",
        "X-Frame-Options", "X-XSS-Protection", "Permissions-Policy", "Timing-Allow-Origin",
      ].compactMap { HTTPField.Name($0) }
    return names + names.compactMap { HTTPField.Name($0.canonicalName) }
  }()

  private static let outlines = names.map { $0.canonicalName.withFieldBytes { FieldNameOutline($0) } }

  /// What a head that is written on needs of each name, and the octets of all, one after the other.
  private static let spelled: (names: [Spelling], octets: [UInt8]) = {
    var octets: [UInt8] = []
    let all = names.map { name in
      let start = octets.count
      octets += name.rawName.utf8
      return name.canonicalName.withFieldBytes {
        Spelling(
          kind: FieldKind($0), isInNotModified: $0.isNameInNotModified,
          name: ByteRange(start: start, end: octets.count))
      }
    }
    return (all, octets)
  }()

  private struct Spelling {
    let kind: FieldKind
    /// Whether a 304 response has it.
    let isInNotModified: Bool
    let name: ByteRange
  }

  /// The greatest number. A constant, because the list of names is made at its first use, and read under a lock.
  static let count: UInt8 = 2 * spellings
  /// The difference between the number of a lowercase name and that of the same name with capitals.
  private static let spellings: UInt8 = 42

  /// Returns the number of a name in exactly this spelling; 0 if it has none.
  ///
  /// Compares bytes: hashing a name took 330 instructions, a third of the cost of encoding a head.
  static func number(of name: HTTPField.Name) -> UInt8 { number(of: name.rawName) }

  /// Returns the number of a name in lowercase.
  static func number(ofLowercase name: String) -> UInt8 { number(of: name) }

  /// Returns the number of the lowercase spelling of a name that has a number.
  @inline(__always)
  static func lowercase(_ number: UInt8) -> UInt8 { number > spellings ? number : number &+ spellings }

  private static func number(of name: String) -> UInt8 {
    name.withFieldBytes { name in
      // Only one of the two spellings can match, and the first letter decides which.
      let isLowercase = name.count > 0 && name[0] & 0x20 != 0
      @inline(__always)
      func has(_ text: StaticString) -> Bool { name.equals(text, inLowercase: isLowercase) }
      let number: UInt8 =
        switch name.count {
        case 3: has("Age") ? 3 : has("Via") ? 32 : 0
        case 4: has("Date") ? 15 : has("ETag") ? 16 : has("Vary") ? 24 : has("Link") ? 31 : 0
        case 5: has("Allow") ? 4 : 0
        case 6: has("Server") ? 21 : 0
        case 7: has("Expires") ? 17 : has("Alt-Svc") ? 33 : has("X-Cache") ? 34 : 0
        case 8: has("Location") ? 19 : 0
        case 10: has("Set-Cookie") ? 22 : 0
        case 11: has("Retry-After") ? 20 : has("X-Served-By") ? 37 : 0
        case 12: has("Content-Type") ? 13 : has("X-Cache-Hits") ? 35 : 0
        case 13:
          has("Accept-Ranges")
            ? 1
            : has("Cache-Control")
              ? 5 : has("Content-Range") ? 11 : has("Last-Modified") ? 18 : has("Server-Timing") ? 36 : 0
        case 14: has("Content-Length") ? 9 : 0
        case 15: has("Referrer-Policy") ? 38 : has("X-Frame-Options") ? 39 : 0
        case 16:
          has("Content-Encoding")
            ? 7
            : has("Content-Language") ? 8 : has("Content-Location") ? 10 : has("X-XSS-Protection") ? 40 : 0
        case 18: has("Permissions-Policy") ? 41 : 0
        case 19: has("Content-Disposition") ? 6 : has("Timing-Allow-Origin") ? 42 : 0
        case 22: has("X-Content-Type-Options") ? 25 : has("Access-Control-Max-Age") ? 30 : 0
        case 23: has("Content-Security-Policy") ? 12 : 0
        case 25: has("Strict-Transport-Security") ? 23 : 0
        case 27: has("Access-Control-Allow-Origin") ? 2 : 0
        case 28:
          has("Cross-Origin-Resource-Policy")
            ? 14 : has("Access-Control-Allow-Headers") ? 27 : has("Access-Control-Allow-Methods") ? 28 : 0
        case 29: has("Access-Control-Expose-Headers") ? 29 : 0
        case 32: has("Access-Control-Allow-Credentials") ? 26 : 0
        default: 0
        }
      return number != 0 && isLowercase ? number + spellings : number
    }
  }

  static func name(numbered number: UInt8) -> HTTPField.Name? {
    names.indices.contains(Int(number) - 1) ? names[Int(number) - 1] : nil
  }

  /// Calls `body` with the kind of a name, whether a 304 response has it, and its octets.
  ///
  /// - Parameter number: a number of the table.
  @inline(__always)
  static func withName(numbered number: UInt8, _ body: (FieldKind, Bool, RawSpan) -> Void) {
    let spelled = spelled
    let one = spelled.names[Int(number) - 1]
    body(one.kind, one.isInNotModified, spelled.octets.span.bytes.extracting(one.name.start..<one.name.end))
  }

  /// - Parameter number: a number of the table.
  static func kind(numbered number: UInt8) -> FieldKind { spelled.names[Int(number) - 1].kind }

  /// - Parameter number: a number of the table.
  static func outline(numbered number: UInt8) -> FieldNameOutline { outlines[Int(number) - 1] }
}
