import HTTPCacheEngine

/// What the cache itself can fail with; errors of the transport pass through as they are.
public enum HTTPCacheError: Error, Hashable, Sendable {
  /// The request forbids the network, and nothing stored can answer it.
  case notCached(CacheEngine.Reason)
  /// The content is larger than the caller said it would take.
  case contentTooLarge(limit: Int)
  /// The origin sent more or less than the part of the content that it had announced.
  case incompleteContent
  /// The body of a response was read a second time; it arrives from the network only once.
  case bodyAlreadyRead
}

extension HTTPCacheError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .notCached(let reason):
      "not answered from the cache: \(reason) Use another cache policy to let the request reach the network."
    case .contentTooLarge(let limit): "the content has more than the \(limit) bytes that were asked for"
    case .incompleteContent:
      "the origin sent more or less of the content than it had announced; the request may be repeated"
    case .bodyAlreadyRead:
      "the body was read before; keep its bytes if they are needed twice"
    }
  }
}
