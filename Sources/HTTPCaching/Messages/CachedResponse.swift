import HTTPCacheEngine
import HTTPTypes

/// A response, from the store or the origin, and the story of how it came about.
public struct CachedResponse: Sendable {
  /// Where a response came from.
  public enum Source: String, Hashable, Sendable, CaseIterable, Codable {
    /// From the store, fresh.
    case hit
    /// From the store, stale; ``CachedResponse/reason`` says why that was allowed.
    case stale
    /// From the store, after the origin validated it.
    case validated
    /// From the origin.
    case network
    /// Generated here: 504, because `only-if-cached` could not be met.
    case generated
  }

  /// The status and the fields, with `Age` and `Cache-Status` where they apply.
  public var head: HTTPResponse
  public var body: MessageBody
  public var source: Source
  /// Why the client gets this response.
  public var reason: Reason
  /// Whether the origin's response is being stored, and why (not); `nil` where nothing came that could be.
  public var storage: Reason?
  /// What `Cache-Status` says (RFC 9211).
  public var cacheStatus: CacheStatus

  /// The current age in whole seconds, where the response comes from the store (RFC 9111 §4.2.3).
  public var age: Int64? { source == .network ? nil : head.headerFields[.age].flatMap { Int64($0) } }
  /// How much longer the response is fresh, in whole seconds; negative if it is stale.
  public var remainingLifetime: Int64? { cacheStatus.timeToLive }

  init(
    head: HTTPResponse, body: MessageBody, source: Source, reason: Reason, storage: Reason? = nil,
    cacheStatus: CacheStatus, tellsStatus: Bool = true
  ) {
    self.head = head
    self.body = body
    self.source = source
    self.reason = reason
    self.storage = storage
    self.cacheStatus = cacheStatus
    if tellsStatus, let name = HTTPField.Name.cacheStatus {
      // RFC 9211 §2: each cache adds its member behind those of the caches nearer to the origin.
      self.head.headerFields.append(HTTPField(name: name, value: cacheStatus.fieldValue))
    }
  }
}

extension HTTPField.Name {
  /// `Cache-Status` (RFC 9211), which HTTPTypes has no constant for.
  static let cacheStatus = HTTPField.Name("Cache-Status")
}
