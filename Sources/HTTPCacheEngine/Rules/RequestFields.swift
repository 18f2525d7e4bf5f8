// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// The fields of a request that the rules of caching need, read in one pass.
struct RequestFields {
  var cacheControl = CacheControl()
  var ifNoneMatch: EntityTagCondition?
  var ifModifiedSince: HTTPDate?
  var hasAuthorization = false
  /// The requested ranges; `nil` if there are none, or they are ignored.
  var range: RangeField?
  /// Whether there is a Range field at all: such a request is not changed into one for another range.
  var hasRangeField = false
  /// If-Range: an entity tag or a date, as received.
  var ifRange: Octets?
  /// Whether there is a `Host` field besides the authority: the request has no key.
  var hasHost = false
  /// If-Match or If-Unmodified-Since: a cache does not evaluate them (RFC 9111 §4.3.2).
  var hasOriginPrecondition = false

  /// Makes the result for a request without fields.
  init() {}

  static func of(_ request: HTTPRequest, now: Timestamp) -> RequestFields {
    // Not an initializer, because that would make a copy at its end.
    var fields = RequestFields()
    fields.read(request, now: now)
    return fields
  }

  mutating func read(_ request: HTTPRequest, now: Timestamp) {
    var noneMatch: [Octets] = []
    var pragmaNoCache = false
    var hasCacheControl = false
    var modifiedSinceLines = 0
    var rangeLines = 0
    let fields = request.headerFields
    // By position: a loop over fields copies each, and most are not needed.
    for position in fields.indices {
      guard let name = Name(fields[position].name) else { continue }
      let field = fields[position]
      switch name {
      case .cacheControl:
        hasCacheControl = true
        cacheControl.merge(field.value)
      case .pragma:
        // The only directive of Pragma (§5.4) has the name and syntax of Cache-Control's.
        if CacheControl(parsing: field.value).contains(.noCache) { pragmaNoCache = true }
      case .ifNoneMatch: noneMatch.append(Octets(valueOf: field))
      case .ifModifiedSince:
        // More than one line is not a date, and ignored (RFC 9110 §13.1.3).
        ifModifiedSince = modifiedSinceLines == 0 ? HTTPDate(parsing: field.value, now: now) : nil
        modifiedSinceLines += 1
      case .authorization: hasAuthorization = true
      case .host: hasHost = true
      // Ranges apply to GET only (RFC 9110 §14.2), and to QUERY, which works like GET.
      case .range where request.method.isRetrieval:
        range = rangeLines == 0 ? RangeField(parsing: field.value) : nil
        rangeLines += 1
        hasRangeField = true
      case .ifRange: ifRange = Octets(valueOf: field)
      case .ifMatch, .ifUnmodifiedSince: hasOriginPrecondition = true
      case .range: break
      }
    }
    if !noneMatch.isEmpty { ifNoneMatch = EntityTagCondition(parsing: noneMatch) }
    // In a request no-cache has no argument (§5.2.1.4); one with an argument counts without it.
    if !cacheControl.noCacheFields.isEmpty { cacheControl.flags.insert(.noCache) }
    // The maximum age is unknown, so the request goes to the origin.
    if cacheControl.contains(.misplacedTime) { cacheControl.maxAge = 0 }
    // §5.4: Pragma counts only without Cache-Control.
    if pragmaNoCache, !hasCacheControl { cacheControl.flags.insert(.noCache) }
  }

  /// Removes what the request requires of a fresh stored response (§5.2.1).
  ///
  /// - Returns: whether there was anything.
  mutating func ignoreReload() -> Bool {
    guard cacheControl.contains(.noCache) || cacheControl.maxAge != nil || cacheControl.minFresh != nil else {
      return false
    }
    cacheControl.flags.subtract([.noCache, .invalidTime, .misplacedTime])
    (cacheControl.maxAge, cacheControl.minFresh) = (nil, nil)
    return true
  }
}

extension RequestFields {
  /// The names of the fields that are read.
  ///
  /// The length, and then the first letter, exclude nearly all others, so that a request's other fields cost next to
  /// nothing.
  enum Name: String {
    case cacheControl = "cache-control"
    case pragma
    case ifNoneMatch = "if-none-match"
    case ifModifiedSince = "if-modified-since"
    case authorization
    case host
    case range
    case ifRange = "if-range"
    case ifMatch = "if-match"
    case ifUnmodifiedSince = "if-unmodified-since"

    /// A bitmask of the lengths of the names.
    @inline(__always)
    private static var lengths: UInt64 { 1 << 4 | 1 << 5 | 1 << 6 | 1 << 8 | 1 << 13 | 1 << 17 | 1 << 19 }

    /// Makes the name from its bytes; `nil` for any other field.
    @inline(__always)
    init?(_ name: HTTPField.Name) { self.init(name, count: name.canonicalName.utf8.count) }

    /// - Parameter length: the length of the name.
    @inline(__always)
    init?(_ name: HTTPField.Name, count length: Int) {
      let text = name.canonicalName.utf8
      guard length < 64, Self.lengths >> UInt64(truncatingIfNeeded: length) & 1 != 0 else { return nil }
      let letter =
        switch length {
        case 4: UInt8(ascii: "h")
        case 5: UInt8(ascii: "r")
        case 6: UInt8(ascii: "p")  // Accept, Cookie and Origin are as long.
        default: UInt8(ascii: "i")
        }
      guard length == 13 || text[text.startIndex] == letter else { return nil }
      self.init(spelled: name.canonicalName)
    }

    @inline(never)
    private init?(spelled name: String) {
      self.init(rawValue: name)
    }
  }
}

extension RequestFields {
  /// The conditions of a request that has no other field about caching.
  struct Conditions {
    /// The position of the only `If-None-Match`.
    private(set) var noneMatch: Int?
    /// Whether there is an `If-Modified-Since`, which counts only without `If-None-Match` (RFC 9110 §13.2.2).
    private(set) var hasModifiedSince = false

    /// Reads the fields of a request.
    ///
    /// - Returns: whether no other field affects the decision.
    mutating func read(_ fields: HTTPFields) -> Bool {
      for position in 0..<fields.count {
        let name = fields[position].name
        if !read(name, count: name.canonicalName.utf8.count, at: position) { return false }
      }
      return true
    }

    /// Reads a field.
    ///
    /// - Parameter count: the length of its name.
    /// - Returns: whether it affects the decision in no other way. Every other field that the rules read does, with one
    ///   exception.
    @inline(__always)
    mutating func read(_ name: HTTPField.Name, count: Int, at position: Int) -> Bool {
      guard let name = Name(name, count: count) else { return true }
      switch name {
      // Authorization affects storing only (§3.5).
      case .authorization: return true
      case .ifNoneMatch:
        defer { noneMatch = position }
        return noneMatch == nil
      case .ifModifiedSince:
        hasModifiedSince = true
        return true
      default: return false
      }
    }
  }
}

extension HTTPRequest.Method {
  /// Whether the method is QUERY, a request with content that changes nothing (draft-ietf-httpbis-safe-method-w-body).
  package var isQuery: Bool { rawValue == "QUERY" }

  /// Whether responses to the method are stored: GET, and QUERY, which is like a GET of the resource that its content
  /// describes.
  var isRetrieval: Bool { self == .get || isQuery }
}
