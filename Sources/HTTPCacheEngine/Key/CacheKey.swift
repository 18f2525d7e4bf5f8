// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

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

  /// - Parameters:
  ///   - uri: the target of the request.
  ///   - partition: keeps the responses of one account or site apart from another's (§7.2).
  public init(_ uri: TargetURI, partition: String = "") {
    let bytes = uri.authority.withFieldBytes { authority in
      uri.path.withFieldBytes { Self.bytes(partition: partition, scheme: uri.scheme, authority, $0) }
    }
    self.init(bytes: bytes, uriStart: Self.uriStart(behind: partition))
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
    // Asked and put together while the bytes are at hand: a look at those of a text costs as much as a short loop over them.
    let bytes: [UInt8]? = authority.withFieldBytes { host in
      path.withFieldBytes { path in
        Self.isNormal(scheme: scheme, host, path)
          ? Self.bytes(partition: partition, scheme: scheme, host, path) : nil
      }
    }
    if let bytes {
      self.init(bytes: bytes, uriStart: Self.uriStart(behind: partition))
    } else {
      guard let uri = TargetURI(request) else { return nil }
      self.init(uri, partition: partition)
    }
  }

  /// Whether there is a key of a request, at no cost for nearly all.
  static func exists(for request: HTTPRequest) -> Bool {
    guard let scheme = request.scheme, let authority = request.authority, let path = request.path else {
      return false
    }
    // What is behind the first character of the path is a matter of the key's form.
    return isNormal(scheme) && path.utf8.first == UInt8(ascii: "/")
      && authority.withFieldBytes { isNormalAuthority($0) } || TargetURI(request) != nil
  }

  /// - Parameter suffix: sets the key apart from that of the URI, of which no byte is NUL.
  init(_ key: CacheKey, suffix: [UInt8]) {
    bytes = key.bytes + suffix
    uriStart = key.uriStart
  }

  private init(bytes: [UInt8], uriStart: Int) {
    self.bytes = bytes
    self.uriStart = uriStart
  }

  /// Where the URI begins: no URI contains NUL, so no key of one partition equals one of another.
  private static func uriStart(behind partition: String) -> Int {
    partition.isEmpty ? 0 : partition.utf8.count + 1
  }

  private static func bytes(
    partition: String, scheme: String, _ authority: Span<UInt8>, _ path: Span<UInt8>
  ) -> [UInt8] {
    let before = partition.isEmpty ? "" : partition + "\0"
    let scheme = scheme == "https" ? "https://" : scheme == "http" ? "http://" : scheme + "://"
    return before.withFieldBytes { before in
      scheme.withFieldBytes { [UInt8](joining: before, $0, authority, path) }
    }
  }

  /// Whether ``TargetURI`` would leave these parts as they are. It may say no of some that it would.
  @inline(__always)
  private static func isNormal(scheme: String, _ authority: Span<UInt8>, _ path: Span<UInt8>) -> Bool {
    isNormal(scheme) && isNormalAuthority(authority) && path.count > 0 && path[0] == UInt8(ascii: "/")
      && !path.contains(UInt8(ascii: "#"))
  }

  @inline(__always)
  private static func isNormal(_ scheme: String) -> Bool { scheme == "https" || scheme == "http" }

  private static func isNormalAuthority(_ bytes: Span<UInt8>) -> Bool {
    var colon = 0
    while bytes.count - colon >= 8, bytes.word(at: colon).isOfHostCharacters { colon += 8 }
    while colon < bytes.count, bytes[colon].isLowercaseHostCharacter { colon += 1 }
    guard colon < bytes.count else { return colon > 0 }
    // Behind the first colon there is a port, of digits only; an IPv6 address goes the long way.
    guard colon > 0, bytes[colon] == UInt8(ascii: ":") else { return false }
    for index in colon + 1..<bytes.count where !bytes[index].isDigit { return false }
    let digits = bytes.count - colon - 1
    return digits > 3 || digits == 1  // 80 and 443 may be dropped, and so may a port that is not there.
  }
}

extension UInt8 {
  /// What a host's name is made of: letters in lowercase, digits, `-` and `.`.
  fileprivate var isLowercaseHostCharacter: Bool {
    let (lower, upper): (UInt64, UInt64) = (0x03FF_6000_0000_0000, 0x07FF_FFFE_0000_0000)
    return self < 0x80 && ((self < 0x40 ? lower : upper) >> UInt64(self & 0x3F)) & 1 == 1
  }
}

extension UInt64 {
  /// Whether each of eight bytes is ``UInt8/isLowercaseHostCharacter``.
  fileprivate var isOfHostCharacters: Bool {
    guard self & Self.upperBits == 0 else { return false }
    let letters = bytes(above: UInt8(ascii: "a") - 1) & ~bytes(above: UInt8(ascii: "z"))
    // From the hyphen on; the slash is among them.
    let others =
      bytes(above: UInt8(ascii: "-") - 1) & ~bytes(above: UInt8(ascii: "9")) & ~bytes(
        equalTo: UInt8(ascii: "/"))
    return letters | others == Self.upperBits
  }
}
