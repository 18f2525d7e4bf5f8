import HTTPTypes

/// What responses are stored under: the target URI of a request, and the partition it belongs to (RFC 9111 §2).
///
/// Of all methods GET alone is stored under it, so the method takes no part; a HEAD request is answered from it too.
/// QUERY has keys of its own.
public struct CacheKey: Hashable, Sendable {
  /// The bytes of the key: equal exactly for equal keys.
  public let bytes: [UInt8]
  /// Where the URI begins, behind the partition.
  let uriStart: Int

  /// - Parameter partition: keeps the responses of one account or site apart from another's (§7.2).
  public init(_ uri: TargetURI, partition: String = "") {
    self.init(scheme: uri.scheme, authority: uri.authority, path: uri.path, partition: partition)
  }

  /// The key of a request; `nil` if its target URI is not complete.
  ///
  /// - Complexity: O(*n*) in the length of the URI, with one allocation. Every request pays for it: a URI that is in
  ///   its normal form already, as nearly all are, is put together from its parts in 0.11 µs; by way of
  ///   ``TargetURI`` it takes 1.7 µs.
  public init?(_ request: HTTPRequest, partition: String = "") {
    guard let scheme = request.scheme, let authority = request.authority, let path = request.path else {
      return nil
    }
    guard Self.isNormal(scheme: scheme, authority: authority, path: path) else {
      guard let uri = TargetURI(request) else { return nil }
      self.init(uri, partition: partition)
      return
    }
    self.init(scheme: scheme, authority: authority, path: path, partition: partition)
  }

  /// Whether there is a key of a request, at no cost for nearly all.
  static func exists(for request: HTTPRequest) -> Bool {
    guard let scheme = request.scheme, let authority = request.authority, let path = request.path else {
      return false
    }
    return isNormal(scheme: scheme, authority: authority, path: path) || TargetURI(request) != nil
  }

  /// - Parameter suffix: sets the key apart from that of the URI, of which no byte is NUL.
  init(_ key: CacheKey, suffix: [UInt8]) {
    bytes = key.bytes + suffix
    uriStart = key.uriStart
  }

  private init(scheme: String, authority: String, path: String, partition: String) {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(
      partition.utf8.count + scheme.utf8.count + authority.utf8.count + path.utf8.count + 4)
    if !partition.isEmpty {
      bytes += partition.utf8
      bytes.append(0)  // No URI contains NUL, so no key of one partition equals one of another.
    }
    uriStart = bytes.count
    scheme.withFieldBytes { bytes.append($0) }
    "://".withFieldBytes { bytes.append($0) }
    authority.withFieldBytes { bytes.append($0) }
    path.withFieldBytes { bytes.append($0) }
    self.bytes = bytes
  }

  /// Whether ``TargetURI`` would leave these parts as they are. It may say no of some that it would.
  private static func isNormal(scheme: String, authority: String, path: String) -> Bool {
    guard scheme == "https" || scheme == "http" else { return false }
    let isHost = authority.withFieldBytes { bytes in
      var colon = 0
      while colon < bytes.count, bytes[colon].isLowercaseHostCharacter { colon += 1 }
      guard colon < bytes.count else { return colon > 0 }
      // Behind the first colon there is a port, of digits only; an IPv6 address goes the long way.
      guard colon > 0, bytes[colon] == UInt8(ascii: ":") else { return false }
      for index in colon + 1..<bytes.count where !bytes[index].isDigit { return false }
      let digits = bytes.count - colon - 1
      return digits > 3 || digits == 1  // 80 and 443 may be dropped, and so may a port that is not there.
    }
    return isHost
      && path.withFieldBytes { bytes in
        bytes.count > 0 && bytes[0] == UInt8(ascii: "/") && !bytes.contains(UInt8(ascii: "#"))
      }
  }
}

extension UInt8 {
  /// What a host's name is made of: letters in lowercase, digits, `-` and `.`.
  fileprivate var isLowercaseHostCharacter: Bool {
    let (lower, upper): (UInt64, UInt64) = (0x03FF_6000_0000_0000, 0x07FF_FFFE_0000_0000)
    return self < 0x80 && ((self < 0x40 ? lower : upper) >> UInt64(self & 0x3F)) & 1 == 1
  }
}
