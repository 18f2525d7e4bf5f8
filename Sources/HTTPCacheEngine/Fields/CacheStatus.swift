// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import RawStructuredFieldValues

/// One member of the `Cache-Status` field: how this cache handled a request (RFC 9211).
public struct CacheStatus: Hashable, Sendable {
  /// Why a request went to the origin (RFC 9211 §2.2).
  public enum Forward: String, Hashable, Sendable, CaseIterable {
    /// The cache was bypassed.
    case bypass
    /// The method's semantics require it.
    case method
    /// No response was stored for the URI.
    case uriMiss = "uri-miss"
    /// Responses were stored, but for other selecting fields.
    case varyMiss = "vary-miss"
    /// The stored response was fresh, but the request's directives did not accept it.
    case request
    /// The stored response was stale.
    case stale
    /// A part of the content was missing.
    case partial
  }

  /// The name of the cache; it may contain any characters.
  public var cache: String
  /// A stored response answered without the origin (§2.1).
  public var isHit: Bool
  /// Why the request went to the origin (§2.2).
  public var forward: Forward?
  /// The status code of the origin's response (§2.3).
  public var forwardStatus: Int?
  /// The remaining freshness lifetime, in whole seconds; negative if the response is stale (§2.4).
  public var timeToLive: Duration? {
    get { remainingSeconds.map { .seconds($0) } }
    set { remainingSeconds = newValue?.wholeSeconds }
  }
  package var remainingSeconds: Int64?
  /// The current age of the stored response that answered. It is sent in the `Age` field and not in this member.
  public var age: Duration?
  /// Whether the response was stored (§2.5).
  public var isStored: Bool
  /// Whether this request was coalesced with another; `false` if the cache tried and failed, `nil` if it did not try
  /// (§2.6).
  public var isCollapsed: Bool?
  /// The key of the stored response, if the cache shows it (§2.7, §6).
  public var key: CacheKey?
  /// The reason, whose code is the member's `detail` (§2.8); `nil` for a member of another implementation.
  public var reason: CacheEngine.Reason?

  /// Makes a member. Each parameter is documented at the property of its name.
  public init(
    cache: String, isHit: Bool = false, forward: Forward? = nil, forwardStatus: Int? = nil,
    timeToLive: Duration? = nil, isStored: Bool = false, isCollapsed: Bool? = nil,
    key: CacheKey? = nil, reason: CacheEngine.Reason? = nil
  ) {
    self.init(
      cache: cache, isHit: isHit, forward: forward, forwardStatus: forwardStatus,
      remainingSeconds: timeToLive?.wholeSeconds, isStored: isStored, isCollapsed: isCollapsed, key: key,
      reason: reason)
  }

  package init(
    cache: String, isHit: Bool, forward: Forward?, forwardStatus: Int?, remainingSeconds: Int64?,
    isStored: Bool,
    isCollapsed: Bool?, key: CacheKey?, reason: CacheEngine.Reason?
  ) {
    self.cache = cache
    self.isHit = isHit
    self.forward = forward
    self.forwardStatus = forwardStatus
    self.remainingSeconds = remainingSeconds
    self.isStored = isStored
    self.isCollapsed = isCollapsed
    self.key = key
    self.reason = reason
  }

  /// The text of the member in the field.
  public var fieldValue: String { ByteWriter.text { write(to: &$0) } }

  /// Writes the text of the member in the field. It is composed by hand, because a general serialiser would be too slow
  /// for a hit.
  ///
  /// `hit` and `fwd` exclude each other, and parameters about a forwarded request occur only with `fwd` (§2).
  package func write(to text: inout ByteWriter) {
    if cache.isStructuredToken { text.append(cache) } else { Self.writeQuoted(cache.utf8, to: &text) }
    if isHit {
      text.append(literal: "; hit")
    } else if let forward {
      text.append(literal: "; fwd=")
      text.append(forward.rawValue)
      if let forwardStatus {
        text.append(literal: "; fwd-status=")
        text.append(decimal: Int64(forwardStatus))
      }
    }
    // An Integer has at most 15 digits (RFC 9651 §3.3.1).
    if let remainingSeconds {
      text.append(literal: "; ttl=")
      text.append(decimal: Swift.min(Swift.max(remainingSeconds, -Self.most), Self.most))
    }
    if !isHit, forward != nil {
      if isStored { text.append(literal: "; stored") }
      if let isCollapsed { text.append(literal: isCollapsed ? "; collapsed" : "; collapsed=?0") }
    }
    if let key {
      text.append(literal: "; key=")
      Self.writeQuoted(key.bytes, to: &text)
    }
    if let reason {
      text.append(literal: "; detail=")
      text.append(reason.rawValue)
    }
  }

  private static let most: Int64 = 999_999_999_999_999

  /// Writes a String (RFC 9651 §3.3.3). It contains printable ASCII only; other bytes are percent-encoded, for people to
  /// read.
  private static func writeQuoted(_ bytes: some Sequence<UInt8>, to text: inout ByteWriter) {
    text.append(literal: "\"")
    for byte in bytes {
      if byte < 0x20 || byte > 0x7E {
        let digits = String(byte, radix: 16, uppercase: true)
        text.append(literal: digits.utf8.count == 1 ? "%0" : "%")
        text.append(digits)
      } else {
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { text.append(literal: "\\") }
        text.write(byte)
      }
    }
    text.append(literal: "\"")
  }
}

extension String {
  /// Whether the text is a Token (RFC 9651 §3.3.4).
  fileprivate var isStructuredToken: Bool {
    guard let first = utf8.first, first.isLetter || first == UInt8(ascii: "*") else { return false }
    return utf8.allSatisfy { $0.isTokenCharacter || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }
  }
}

extension CacheStatus {
  /// Reads the last member of a `Cache-Status` field: that of the cache nearest to the client (§2).
  ///
  /// ``key`` and ``age`` stay `nil`: a key cannot be restored from the member's text.
  ///
  /// - Parameter fieldValue: the value of the field, its lines joined by a comma.
  /// - Returns: the member, or `nil` if it is malformed, or has hundreds of parameters. Members before it may be
  ///   malformed.
  public init?(parsing fieldValue: String) {
    guard
      var parser = try? StructuredField.parser(
        [String(Substring(fieldValue.utf8.lastMember))], separators: [UInt8(ascii: ";")]),
      let member = try? parser.parseItemFieldValue()
    else { return nil }
    let parameters = member.rfc9651Parameters
    func has(_ name: String) -> Bool { parameters[name] == .bool(true) }
    func integer(_ name: String) -> Int64? {
      if case .integer(let value) = parameters[name] { Int64(value) } else { nil }
    }
    func token(_ name: String) -> String? {
      if case .token(let value) = parameters[name] { value } else { nil }
    }
    switch member.rfc9651BareItem {
    case .token(let name), .string(let name): cache = name
    default: return nil
    }
    isHit = has("hit")
    forward = token("fwd").flatMap { Forward(rawValue: $0) }
    forwardStatus = integer("fwd-status").map { Int($0) }
    remainingSeconds = integer("ttl")
    isStored = has("stored")
    if case .bool(let value) = parameters["collapsed"] { isCollapsed = value }
    reason = token("detail").flatMap { CacheEngine.Reason(rawValue: $0) }
  }
}

extension String.UTF8View {
  /// The last member of a list, without the white space before it. The search starts at the end, because the members of
  /// other caches may be malformed.
  fileprivate var lastMember: SubSequence {
    var start = endIndex
    var isQuoted = false
    while start > startIndex {
      let before = index(before: start)
      if self[before] == UInt8(ascii: "\"") {
        // A quote after an odd number of backslashes is part of the text.
        let escapes = self[..<before].reversed().prefix { $0 == UInt8(ascii: "\\") }.count
        if escapes.isMultiple(of: 2) { isQuoted.toggle() }
      } else if self[before] == UInt8(ascii: ","), !isQuoted {
        break
      }
      start = before
    }
    return self[start...].drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
  }
}

/// Coded as the member's text in `field`, and the age in whole seconds in `age`. The key is not read back.
extension CacheStatus: Codable {
  private enum CodingKeys: String, CodingKey { case field, age }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(fieldValue, forKey: .field)
    try container.encodeIfPresent(age?.wholeSeconds, forKey: .age)
  }

  /// - Throws: `DecodingError` if the text is not a member of `Cache-Status`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    guard let status = CacheStatus(parsing: try container.decode(String.self, forKey: .field)) else {
      throw DecodingError.dataCorruptedError(
        forKey: .field, in: container, debugDescription: "expected a member of Cache-Status")
    }
    self = status
    age = try container.decodeIfPresent(Int64.self, forKey: .age).map { .seconds($0) }
  }
}
