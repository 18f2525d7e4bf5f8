/// One member of the `Cache-Status` field: what this cache did with a request (RFC 9211).
public struct CacheStatus: Hashable, Sendable {
  /// Why a request went to the origin (RFC 9211 §2.2).
  public enum Forward: String, Hashable, Sendable, CaseIterable {
    /// The cache was not to be asked.
    case bypass
    /// The method's semantics require it.
    case method
    /// Nothing was stored for the URI.
    case uriMiss = "uri-miss"
    /// Something was stored, but for other selecting fields.
    case varyMiss = "vary-miss"
    /// The stored response was fresh, and the request's directives did not accept it.
    case request
    /// The stored response was stale.
    case stale
    /// A part of the content was missing.
    case partial
  }

  /// The name of the cache, whatever its characters.
  public var cache: String
  /// A stored response answered without the origin (§2.1).
  public var isHit: Bool
  /// Why the request went to the origin (§2.2).
  public var forward: Forward?
  /// The status code that the origin answered with (§2.3).
  public var forwardStatus: Int?
  /// The remaining freshness lifetime in whole seconds; negative if the response is stale (§2.4).
  public var timeToLive: Int64?
  /// Whether the response was stored (§2.5).
  public var isStored: Bool
  /// Whether the request was answered by another's request to the origin; `false` if that was tried in vain, and `nil`
  /// if it was not tried (§2.6).
  public var isCollapsed: Bool?
  /// What the response is stored under; `nil` to keep it to oneself (§2.7, §6).
  public var key: CacheKey?
  /// The ``Reason`` (§2.8).
  public var detail: Reason?

  public init(
    cache: String, isHit: Bool = false, forward: Forward? = nil, forwardStatus: Int? = nil,
    timeToLive: Int64? = nil, isStored: Bool = false, isCollapsed: Bool? = nil,
    key: CacheKey? = nil, detail: Reason? = nil
  ) {
    self.cache = cache
    self.isHit = isHit
    self.forward = forward
    self.forwardStatus = forwardStatus
    self.timeToLive = timeToLive
    self.isStored = isStored
    self.isCollapsed = isCollapsed
    self.key = key
    self.detail = detail
  }

  /// The member as the field carries it. It is composed by hand, for a hit must not pay for a general serialiser.
  ///
  /// `hit` and `fwd` exclude each other, and what speaks of a request that went forward stands beside `fwd` only (§2).
  public var fieldValue: String {
    var value = cache.isStructuredToken ? cache : Self.quoted(cache.utf8)
    if isHit {
      value += "; hit"
    } else if let forward {
      value += "; fwd=" + forward.rawValue
      if let forwardStatus { value += "; fwd-status=\(forwardStatus)" }
    }
    // An Integer has 15 digits at most (RFC 9651 §3.3.1).
    if let timeToLive { value += "; ttl=\(Swift.min(Swift.max(timeToLive, -Self.most), Self.most))" }
    if !isHit, forward != nil {
      if isStored { value += "; stored" }
      if let isCollapsed { value += isCollapsed ? "; collapsed" : "; collapsed=?0" }
    }
    if let key { value += "; key=" + Self.quoted(key.bytes) }
    if let detail { value += "; detail=" + detail.rawValue }
    return value
  }

  private static let most: Int64 = 999_999_999_999_999

  /// A String (RFC 9651 §3.3.3). It has printable ASCII only; other bytes are percent-encoded, for people to read.
  private static func quoted(_ bytes: some Sequence<UInt8>) -> String {
    var text = "\""
    for byte in bytes {
      if byte < 0x20 || byte > 0x7E {
        let digits = String(byte, radix: 16, uppercase: true)
        text += "%" + (digits.utf8.count == 1 ? "0" : "") + digits
      } else {
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { text += "\\" }
        text.unicodeScalars.append(UnicodeScalar(byte))
      }
    }
    return text + "\""
  }
}

extension String {
  /// RFC 9651 §3.3.4.
  fileprivate var isStructuredToken: Bool {
    guard let first = utf8.first, first.isLetter || first == UInt8(ascii: "*") else { return false }
    return utf8.allSatisfy { $0.isTokenCharacter || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }
  }
}

extension Reason {
  /// What `Cache-Status` calls this reason for asking the origin; `nil` if it is no such reason.
  public var forward: CacheStatus.Forward? {
    switch self {
    case .nothingStored: .uriMiss
    case .noVariantMatches: .varyMiss
    case .stale, .staleMustRevalidate, .noLifetime, .storedNoCache, .storedInvalidated, .storedInTheFuture,
      .validationUnusable, .staleWhileRevalidate:
      .stale
    case .requestNoCache, .requestMaxAge, .requestMinFresh, .policyRevalidates: .request
    case .originPrecondition, .queryNotKeyed, .requestContent, .targetNotCacheable, .policyIgnoresStored:
      .bypass
    case .methodNotCacheable, .unsafeMethod: .method
    case .contentIncomplete, .completionUnusable: .partial
    default: nil
    }
  }
}
