import HTTPTypes

/// What responses are stored under: the target URI of a request, and the partition it belongs to (RFC 9111 §2).
///
/// Only responses to GET are stored, so the method takes no part; a HEAD request is answered from them too.
public struct CacheKey: Hashable, Sendable {
  /// The bytes of the key: equal exactly for equal keys.
  public let bytes: [UInt8]

  /// - Parameter partition: keeps the responses of one account or site apart from another's (§7.2).
  public init(_ uri: TargetURI, partition: String = "") {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(
      partition.utf8.count + uri.scheme.utf8.count + uri.authority.utf8.count + uri.path.utf8.count + 4)
    if !partition.isEmpty {
      bytes += partition.utf8
      bytes.append(0)  // No URI contains NUL, so no key of one partition equals one of another.
    }
    bytes += uri.scheme.utf8
    bytes += "://".utf8
    bytes += uri.authority.utf8
    bytes += uri.path.utf8
    self.bytes = bytes
  }

  /// The key of a request; `nil` if its target URI is not complete.
  public init?(_ request: HTTPRequest, partition: String = "") {
    guard let uri = TargetURI(request) else { return nil }
    self.init(uri, partition: partition)
  }
}
