import HTTPCacheEngine
import HTTPTypes

/// One thing that the cache did, with its reason: for logs, metrics, and the question why something was not cached.
public struct CacheEvent: Sendable, CustomStringConvertible {
  /// What was done.
  public enum Action: String, Hashable, Sendable, CaseIterable, Codable {
    /// A request was answered from the store, without the origin.
    case served
    /// A request went to the origin.
    case forwarded
    /// A request was answered without either.
    case refused
    /// A response was stored; ``Reason/storedAsPart`` says that it is not whole.
    case stored
    /// A response was not stored.
    case notStored
    /// A stored response was updated, or marked as out of date.
    case updated
    /// What was stored under a URI was removed, or what was in a group or of an origin made invalid.
    case invalidated
  }

  public var action: Action
  public var method: HTTPRequest.Method
  /// The target URI.
  public var uri: String
  public var reason: Reason

  public var description: String { "\(action.rawValue) \(method.rawValue) \(uri): \(reason)" }
}
