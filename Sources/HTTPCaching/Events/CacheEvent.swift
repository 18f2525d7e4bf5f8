import HTTPCacheEngine
import HTTPTypes

/// One thing that the cache did, with its reason: for logs, metrics, and the question why something was not cached.
///
/// What happens to a request begins with ``Action/served``, ``Action/forwarded`` or ``Action/refused``; a request that was
/// forwarded ends with ``Action/answered`` or ``Action/failed``.
public struct CacheEvent: Sendable, CustomStringConvertible {
  /// What was done.
  public enum Action: String, Hashable, Sendable, CaseIterable, Codable {
    /// A request was answered from the store, without the origin.
    case served
    /// A request went to the origin.
    case forwarded
    /// A request was answered without either.
    case refused
    /// A request that went to the origin was answered, by it or by what is stored.
    case answered
    /// A request that went to the origin was not answered.
    case failed
    /// A response was stored; ``CacheEngine/Reason/storedAsPart`` says that it is not whole.
    case stored
    /// A response was not stored.
    case notStored
    /// A stored response was updated, or marked as out of date.
    case updated
    /// What was stored under a URI was removed, or what was in a group or of an origin made invalid.
    case invalidated
  }

  /// What the cache did.
  public var action: Action
  /// The client's request.
  public var request: HTTPRequest
  /// Why it did so.
  public var reason: CacheEngine.Reason
  /// Where the answer comes from, if the request was answered.
  public var source: CachedResponse.Source?
  /// How many bytes of content were stored, or are served from the store; `nil` where it is neither.
  public var byteCount: Int?
  /// The partition that the request belongs to; empty unless set.
  public var partition: String

  /// An event. Each parameter is documented at the property of its name.
  public init(
    action: Action, request: HTTPRequest, reason: CacheEngine.Reason, source: CachedResponse.Source? = nil,
    byteCount: Int? = nil, partition: String = ""
  ) {
    self.action = action
    self.request = request
    self.reason = reason
    self.source = source
    self.byteCount = byteCount
    self.partition = partition
  }

  /// The method of the request.
  public var method: HTTPRequest.Method { request.method }
  /// The target URI. Where that is not complete, as much of it as there is.
  public var uri: String { TargetURI(request)?.text ?? request.path ?? "" }

  public var description: String { "\(action.rawValue) \(method.rawValue) \(uri): \(reason)" }
}
