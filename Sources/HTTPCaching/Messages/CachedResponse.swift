import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import Synchronization

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
    /// Generated here: 504, because `only-if-cached` could not be met, or because a stored response must be revalidated
    /// and the origin cannot be reached.
    case generated
  }

  private var heading: Heading

  private enum Heading: Sendable {
    case made(HTTPResponse)
    case stored(StoredHeading)
  }

  /// The status and the fields, with `Age` and `Cache-Status` where they apply.
  ///
  /// - Complexity: O(1), but for the first time that it is read of a ``Source/hit``: then it is made of the stored bytes,
  ///   in O(*n*) in the number of fields. Whoever wants the content alone never pays for it.
  public var head: HTTPResponse {
    get {
      switch heading {
      case .made(let head): head
      case .stored(let heading): heading.response
      }
    }
    set { heading = .made(newValue) }
  }
  public var body: MessageBody
  public var source: Source
  /// Why the client gets this response.
  public var reason: Reason
  /// Whether the origin's response is being stored, and why (not); `nil` where nothing came that could be.
  public var storage: Reason?
  /// What `Cache-Status` says (RFC 9211).
  public var cacheStatus: CacheStatus
  /// What becomes of the response that is being stored.
  var settlement: Settlement?

  /// Whether the origin's response is stored in the end, and why (not). It is known once the body has been read to its
  /// end; until then it is what ``storage`` says.
  public var settledStorage: Reason? { settlement?.reason ?? storage }

  /// The ``head`` with a `Cache-Status` that knows ``settledStorage``.
  public var settledHead: HTTPResponse {
    guard let reason = settlement?.refusal, cacheStatus.isStored, let name = HTTPField.Name.cacheStatus else {
      return head
    }
    var status = cacheStatus
    status.isStored = false
    status.timeToLive = nil
    status.detail = reason
    var head = head
    // Ours is the last.
    head.headerFields[values: name] = head.headerFields[values: name].dropLast() + [status.fieldValue]
    return head
  }

  /// The current age in whole seconds, where the response comes from the store (RFC 9111 §4.2.3).
  public var age: Int64? {
    switch heading {
    case .stored(let heading): heading.age
    case .made(let head): source == .network ? nil : head.headerFields[.age].flatMap { Int64($0) }
    }
  }
  /// How much longer the response is fresh, in whole seconds; negative if it is stale.
  public var remainingLifetime: Int64? { cacheStatus.timeToLive }

  init(
    head: HTTPResponse, body: MessageBody, source: Source, reason: Reason, storage: Reason? = nil,
    cacheStatus: CacheStatus
  ) {
    var head = head
    head.add(cacheStatus)
    heading = .made(head)
    self.body = body
    self.source = source
    self.reason = reason
    self.storage = storage
    self.cacheStatus = cacheStatus
  }

  /// A response from memory. Its head is not made before it is asked for.
  init(_ heading: StoredHeading, body: MessageBody, reason: Reason) {
    self.heading = .stored(heading)
    self.body = body
    source = .hit
    self.reason = reason
    storage = nil
    cacheStatus = heading.cacheStatus
  }
}

/// The head of a response as it is stored, and what is added to it when it is asked for.
///
/// An object, so that it is made once for all copies: for most of a hit's cost was the making of its fields.
final class StoredHeading: Sendable {
  let entry: StoredEntry
  let age: Int64
  let cacheStatus: CacheStatus
  private let made = Mutex<HTTPResponse?>(nil)

  /// - Parameter entry: one whose metadata can be decoded.
  init(_ entry: StoredEntry, age: Int64, cacheStatus: CacheStatus) {
    self.entry = entry
    self.age = age
    self.cacheStatus = cacheStatus
  }

  var response: HTTPResponse {
    made.withLock { made in
      if let made { return made }
      // RFC 9211 §2, as for any response.
      let status = HTTPField.Name.cacheStatus.map { HTTPField(name: $0, value: cacheStatus.fieldValue) }
      var decoded: HTTPResponse?
      entry.withMetadata { decoded = HTTPResponse(stored: $0, age: age, adding: status.map { [$0] } ?? []) }
      // It can be decoded, or there would be no hit; and if it could not, that would be no reason to crash.
      let head = decoded ?? HTTPResponse(status: .internalServerError)
      made = head
      return head
    }
  }
}

/// What becomes of a response that is stored while it is read.
final class Settlement: Sendable {
  private let settled = Mutex<(reason: Reason, isStored: Bool)?>(nil)

  func settle(_ reason: Reason, isStored: Bool) { settled.withLock { $0 = (reason, isStored) } }

  var reason: Reason? { settled.withLock { $0?.reason } }
  /// Why it is not stored, if it is not.
  var refusal: Reason? { settled.withLock { $0.flatMap { $0.isStored ? nil : $0.reason } } }
}

extension HTTPResponse {
  /// RFC 9211 §2: each cache adds its member behind those of the caches nearer to the origin.
  fileprivate mutating func add(_ status: CacheStatus) {
    guard let name = HTTPField.Name.cacheStatus else { return }
    headerFields.append(HTTPField(name: name, value: status.fieldValue))
  }
}

extension HTTPField.Name {
  /// `Cache-Status` (RFC 9211), which HTTPTypes has no constant for.
  static let cacheStatus = HTTPField.Name("Cache-Status")
}
