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

  /// The name of the cache.
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
  /// Whether the request was answered by another's request to the origin (§2.6).
  public var isCollapsed: Bool
  /// The ``Reason`` (§2.8).
  public var detail: Reason?

  public init(
    cache: String, isHit: Bool = false, forward: Forward? = nil, forwardStatus: Int? = nil,
    timeToLive: Int64? = nil, isStored: Bool = false, isCollapsed: Bool = false, detail: Reason? = nil
  ) {
    self.cache = cache
    self.isHit = isHit
    self.forward = forward
    self.forwardStatus = forwardStatus
    self.timeToLive = timeToLive
    self.isStored = isStored
    self.isCollapsed = isCollapsed
    self.detail = detail
  }

  /// The member as the field carries it. It is composed by hand: every part is a token or an integer by its type,
  /// and a hit must not pay for a general serialiser.
  public var fieldValue: String {
    var value = cache
    if isHit { value += "; hit" }
    if let forward { value += "; fwd=" + forward.rawValue }
    if let forwardStatus { value += "; fwd-status=\(forwardStatus)" }
    if let timeToLive { value += "; ttl=\(timeToLive)" }
    if isStored { value += "; stored" }
    if isCollapsed { value += "; collapsed" }
    if let detail { value += "; detail=" + detail.rawValue }
    return value
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
    case .originPrecondition, .queryNotKeyed, .targetNotCacheable, .policyIgnoresStored: .bypass
    case .methodNotCacheable, .unsafeMethod: .method
    case .contentIncomplete, .completionUnusable: .partial
    default: nil
    }
  }
}
