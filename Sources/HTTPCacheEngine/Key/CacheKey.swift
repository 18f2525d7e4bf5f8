// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// The key of stored responses: the target URI of a request, and its partition (RFC 9111 §2).
///
/// Only responses to GET are stored under it, so the method is not part of it; a HEAD request is answered from it too.
/// QUERY has its own keys.
public struct CacheKey: Hashable, Sendable {
  /// The bytes of the key: two keys are equal exactly if their bytes are.
  public let bytes: [UInt8]
  /// The position of the URI, after the partition.
  let uriStart: Int

  /// - Parameters:
  ///   - uri: the target of the request.
  ///   - partition: separates the responses of one account or site from those of another (§7.2).
  public init(_ uri: TargetURI, partition: String = "") {
    let bytes = uri.authority.withFieldBytes { authority in
      uri.path.withFieldBytes { Self.bytes(partition: partition, scheme: uri.scheme, authority, $0) }
    }
    self.init(bytes: bytes, uriStart: Self.uriStart(behind: partition))
  }

  /// Makes the key of a request; `nil` if its target URI is incomplete, or can be read in more than one way: see
  /// ``TargetURI/init(_:)-(HTTPRequest)``.
  ///
  /// - Complexity: O(*n*) in the length of the URI, with one allocation. Every request pays for it. A URI that is
  ///   already in its normal form, as nearly all are, is composed from its parts in 0.11 µs. Through ``TargetURI`` it
  ///   takes 1.7 µs.
  public init?(_ request: HTTPRequest, partition: String = "") {
    guard !request.hasHostField else { return nil }
    self.init(targetOf: request, partition: partition)
  }

  /// Makes the key of a request without a look at its fields, for a caller that excludes a `Host` field otherwise.
  package init?(targetOf request: HTTPRequest, partition: String) {
    guard let scheme = request.scheme, let authority = request.authority, let path = request.path else {
      return nil
    }
    // Checks and composes while the bytes are accessible: access to the bytes of a text costs as much as a short loop
    // over them.
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

  /// Whether a request has a key, apart from its fields: at little cost for nearly all.
  static func exists(for request: HTTPRequest) -> Bool {
    guard let scheme = request.scheme, let authority = request.authority, let path = request.path else {
      return false
    }
    return isNormal(scheme) && authority.withFieldBytes { isNormalAuthority($0) }
      && path.withFieldBytes { isNormalPath($0) } || TargetURI(request) != nil
  }

  /// - Parameter suffix: distinguishes the key from that of the URI, in which no byte is NUL.
  init(_ key: CacheKey, suffix: [UInt8]) {
    bytes = key.bytes + suffix
    uriStart = key.uriStart
  }

  /// Makes the key from its bytes, and the position of the URI in them.
  package init(bytes: [UInt8], uriStart: Int) {
    self.bytes = bytes
    self.uriStart = uriStart
  }

  /// Hashes the bytes in one piece: a miss does so four times, and byte by byte each takes 1,700 instructions instead of 350.
  public func hash(into hasher: inout Hasher) {
    bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
  }

  /// Returns the position of the URI. No URI contains NUL, so a key of one partition never equals one of another.
  private static func uriStart(behind partition: String) -> Int {
    partition.isEmpty ? 0 : partition.utf8.count + 1
  }

  private static func bytes(
    partition: String, scheme: String, _ authority: Span<UInt8>, _ path: Span<UInt8>
  ) -> [UInt8] {
    let scheme = scheme == "https" ? "https://" : scheme == "http" ? "http://" : scheme + "://"
    let beginning = partition.isEmpty ? scheme : partition + "\0" + scheme
    return beginning.withFieldBytes { [UInt8](joining: $0, authority, path) }
  }

  /// Whether ``TargetURI`` would leave these parts unchanged. It may return `false` for some unchanged ones.
  @inline(__always)
  private static func isNormal(scheme: String, _ authority: Span<UInt8>, _ path: Span<UInt8>) -> Bool {
    isNormal(scheme) && isNormalAuthority(authority) && isNormalPath(path)
  }

  @inline(__always)
  private static func isNormalPath(_ bytes: Span<UInt8>) -> Bool {
    guard bytes.count > 0, bytes[0] == UInt8(ascii: "/") else { return false }
    if bytes.count < 8 {
      for position in 1..<bytes.count where !bytes[position].isTargetCharacter { return false }
      return true
    }
    // The last word may overlap the one before it.
    let last = bytes.count &- 8
    var position = 0
    while position < last {
      guard bytes.word(at: position).isOfTargetCharacters else { return false }
      position &+= 8
    }
    return bytes.word(at: last).isOfTargetCharacters
  }

  @inline(__always)
  private static func isNormal(_ scheme: String) -> Bool { scheme == "https" || scheme == "http" }

  private static func isNormalAuthority(_ bytes: Span<UInt8>) -> Bool {
    var colon = 0
    while bytes.count - colon >= 8, bytes.word(at: colon).isOfHostCharacters { colon += 8 }
    while colon < bytes.count, bytes[colon].isLowercaseHostCharacter { colon += 1 }
    guard colon < bytes.count else { return colon > 0 }
    // A port follows the first colon, of digits only; an IPv6 address takes the slow path.
    guard colon > 0, bytes[colon] == UInt8(ascii: ":") else { return false }
    for index in colon + 1..<bytes.count where !bytes[index].isDigit { return false }
    let digits = bytes.count - colon - 1
    return digits > 3 || digits == 1  // 80 and 443 may be dropped, and so may an empty port.
  }
}

extension UInt8 {
  /// Whether a byte is of ASCII, and all servers read it alike in a path or query.
  var isTargetCharacter: Bool {
    self > 0x20 && self < 0x7F && self != UInt8(ascii: "#") && self != UInt8(ascii: "\\")
  }

  /// Whether a byte may be part of a normalised host name: lowercase letters, digits, `-` and `.`.
  fileprivate var isLowercaseHostCharacter: Bool {
    let (lower, upper): (UInt64, UInt64) = (0x03FF_6000_0000_0000, 0x07FF_FFFE_0000_0000)
    return self < 0x80 && ((self < 0x40 ? lower : upper) >> UInt64(self & 0x3F)) & 1 == 1
  }
}

extension UInt64 {
  /// Whether each of eight bytes is ``UInt8/isTargetCharacter``.
  fileprivate var isOfTargetCharacters: Bool {
    // With all bytes of ASCII, no sum carries into the next byte. `#` and the backslash differ in all seven bits.
    let difference = self ^ Self.ones &* 0x23
    let good = (self &+ Self.ones &* 0x5F) & (difference &+ Self.ones &* 0x7F)
    let bad = self | (self &+ Self.ones) | (difference &+ Self.ones)
    return good & ~bad & Self.upperBits == Self.upperBits
  }

  /// Whether each of eight bytes is ``UInt8/isLowercaseHostCharacter``.
  fileprivate var isOfHostCharacters: Bool {
    guard self & Self.upperBits == 0 else { return false }
    let letters = bytes(above: UInt8(ascii: "a") - 1) & ~bytes(above: UInt8(ascii: "z"))
    // The characters from the hyphen on, including the slash.
    let others =
      bytes(above: UInt8(ascii: "-") - 1) & ~bytes(above: UInt8(ascii: "9")) & ~bytes(
        equalTo: UInt8(ascii: "/"))
    return letters | others == Self.upperBits
  }
}
