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
  ///
  /// - Complexity: O(*n*) in the length of the URI, with one allocation. Every request pays for it, so the bytes are
  ///   written straight into the key: by way of ``TargetURI``, which it equals, it took eight times as long.
  public init?(_ request: HTTPRequest, partition: String = "") {
    guard let scheme = request.scheme, let authority = request.authority, let path = request.path else {
      return nil
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(
      partition.utf8.count + scheme.utf8.count + authority.utf8.count + path.utf8.count + 5)
    if !partition.isEmpty {
      bytes += partition.utf8
      bytes.append(0)
    }
    guard Self.append(scheme: scheme, authority: authority, path: path, to: &bytes) else {
      // What is not plain ASCII, or not as it usually is: the long way decides.
      guard let uri = TargetURI(request) else { return nil }
      self.init(uri, partition: partition)
      return
    }
    self.init(normalized: bytes)
  }

  private init(normalized bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// Appends the normalised URI if all of it is as usual; `false` leaves `bytes` in between.
  private static func append(
    scheme: String, authority: String, path: String, to bytes: inout [UInt8]
  ) -> Bool {
    let schemeStart = bytes.count
    bytes += scheme.utf8
    let schemeEnd = bytes.count
    for index in schemeStart..<schemeEnd {
      guard bytes[index].isLetter else { return false }
      bytes[index] = bytes[index].lowercasedASCII
    }
    let isSecure = schemeEnd - schemeStart == 5
    guard
      isSecure
        ? bytes[schemeStart...].elementsEqual("https".utf8) : bytes[schemeStart...].elementsEqual("http".utf8)
    else { return false }
    bytes += "://".utf8

    let hostStart = bytes.count
    bytes += authority.utf8
    var colon: Int?
    for index in hostStart..<bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: ":") {
        guard colon == nil else { return false }  // IPv6, or worse.
        colon = index
      } else {
        guard byte.isLetter || byte.isDigit || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-") else {
          return false
        }
        bytes[index] = byte.lowercasedASCII
      }
    }
    guard bytes.count > hostStart, colon != hostStart else { return false }
    if let colon, isDefaultPort(bytes, from: colon + 1, isSecure: isSecure) { bytes.removeSubrange(colon...) }

    let pathStart = bytes.count
    bytes += path.utf8
    guard bytes.count > pathStart, bytes[pathStart] == UInt8(ascii: "/") else { return false }
    for index in pathStart..<bytes.count where bytes[index] == UInt8(ascii: "#") { return false }
    return true
  }

  /// Whether the rest of the bytes is a port that says nothing: none, or that of `http` or `https`.
  private static func isDefaultPort(_ bytes: [UInt8], from start: Int, isSecure: Bool) -> Bool {
    switch bytes.count - start {
    case 0: true
    case 2: !isSecure && bytes[start] == UInt8(ascii: "8") && bytes[start + 1] == UInt8(ascii: "0")
    case 3:
      isSecure && bytes[start] == UInt8(ascii: "4") && bytes[start + 1] == UInt8(ascii: "4")
        && bytes[start + 2] == UInt8(ascii: "3")
    default: false
    }
  }
}
