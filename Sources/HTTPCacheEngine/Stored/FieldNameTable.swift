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

  private static let numbers: [String: UInt8] = Dictionary(
    uniqueKeysWithValues: names.enumerated().map { ($1.rawName, UInt8($0 + 1)) })

  /// The number of a name in just this spelling; 0 if it has none.
  static func number(of name: HTTPField.Name) -> UInt8 {
    numbers[name.rawName] ?? 0
  }

  static func name(numbered number: UInt8) -> HTTPField.Name? {
    names.indices.contains(Int(number) - 1) ? names[Int(number) - 1] : nil
  }
}
