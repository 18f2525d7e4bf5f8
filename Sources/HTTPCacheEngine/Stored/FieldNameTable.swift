import HTTPTypes

/// Numbers for the names that most responses carry, so that a stored head spells none of them out.
///
/// Making a name from its bytes means checking and lowercasing it, which was a third of the cost of a hit. The numbers
/// are part of the stored form: names are added at the end only, and never change their places.
enum FieldNameTable {
  private static let names: [HTTPField.Name] = [
    .acceptRanges, .accessControlAllowOrigin, .age, .allow, .cacheControl, .contentDisposition,
    .contentEncoding, .contentLanguage, .contentLength, .contentLocation, .contentRange,
    .contentSecurityPolicy, .contentType, .crossOriginResourcePolicy, .date, .eTag, .expires, .lastModified,
    .location, .retryAfter, .server, .setCookie, .strictTransportSecurity, .vary, .xContentTypeOptions,
    .accessControlAllowCredentials, .accessControlAllowHeaders, .accessControlAllowMethods,
    .accessControlExposeHeaders, .accessControlMaxAge,
  ]

  /// The greatest number. A constant, because a list of names is made at its first use, and asked for under a lock.
  static let count: UInt8 = 30

  /// The number of a name in just this spelling; 0 if it has none.
  ///
  /// Told by the bytes: to hash a name took 330 instructions, a third of all that it took to encode a head.
  static func number(of name: HTTPField.Name) -> UInt8 {
    name.rawName.withFieldBytes { name in
      switch name.count {
      case 3: name.equals("Age") ? 3 : 0
      case 4: name.equals("Date") ? 15 : name.equals("ETag") ? 16 : name.equals("Vary") ? 24 : 0
      case 5: name.equals("Allow") ? 4 : 0
      case 6: name.equals("Server") ? 21 : 0
      case 7: name.equals("Expires") ? 17 : 0
      case 8: name.equals("Location") ? 19 : 0
      case 10: name.equals("Set-Cookie") ? 22 : 0
      case 11: name.equals("Retry-After") ? 20 : 0
      case 12: name.equals("Content-Type") ? 13 : 0
      case 13:
        name.equals("Accept-Ranges")
          ? 1
          : name.equals("Cache-Control")
            ? 5
            : name.equals("Content-Range")
              ? 11
              : name.equals("Last-Modified") ? 18 : 0
      case 14: name.equals("Content-Length") ? 9 : 0
      case 16:
        name.equals("Content-Encoding")
          ? 7
          : name.equals("Content-Language")
            ? 8
            : name.equals("Content-Location") ? 10 : 0
      case 19: name.equals("Content-Disposition") ? 6 : 0
      case 22: name.equals("X-Content-Type-Options") ? 25 : name.equals("Access-Control-Max-Age") ? 30 : 0
      case 23: name.equals("Content-Security-Policy") ? 12 : 0
      case 25: name.equals("Strict-Transport-Security") ? 23 : 0
      case 27: name.equals("Access-Control-Allow-Origin") ? 2 : 0
      case 28:
        name.equals("Cross-Origin-Resource-Policy")
          ? 14
          : name.equals("Access-Control-Allow-Headers")
            ? 27
            : name.equals("Access-Control-Allow-Methods") ? 28 : 0
      case 29: name.equals("Access-Control-Expose-Headers") ? 29 : 0
      case 32: name.equals("Access-Control-Allow-Credentials") ? 26 : 0
      default: 0
      }
    }
  }

  static func name(numbered number: UInt8) -> HTTPField.Name? {
    names.indices.contains(Int(number) - 1) ? names[Int(number) - 1] : nil
  }
}
