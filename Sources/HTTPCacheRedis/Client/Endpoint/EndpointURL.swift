// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import TransportSecurity

/// The parts of a URL that may name several hosts. They are still percent-encoded.
struct EndpointURL {
  let scheme: String
  /// The text before the last `@`.
  let userInformation: Substring?
  let hosts: Substring
  /// Empty, or beginning with a slash.
  let path: Substring
  let query: Substring

  init(_ text: String) throws(RedisError) {
    guard text.utf8.count <= 4096 else { throw .invalid("longer than 4096 bytes") }
    guard !text.unicodeScalars.contains(where: { $0.value <= 0x20 || $0.value == 0x7F || $0 == "#" }) else {
      throw .invalid("spaces, control characters and # must be percent-encoded")
    }
    guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else {
      throw .invalid("expected a scheme and ://, such as redis://host")
    }
    scheme = text[..<colon].lowercasedASCII
    let rest = text[text.index(colon, offsetBy: 3)...]
    let beforeQuery = rest.prefix { $0 != "?" }
    query = rest[beforeQuery.endIndex...].dropFirst()
    let authority = beforeQuery.prefix { $0 != "/" }
    path = beforeQuery[authority.endIndex...]
    guard !path.contains("@"), !query.contains("@") else {
      throw .invalid("an @ after the hosts must be written %40, and a / or ? in a password %2F or %3F")
    }
    if let at = authority.lastIndex(of: "@") {
      userInformation = authority[..<at]
      hosts = authority[authority.index(after: at)...]
    } else {
      userInformation = nil
      hosts = authority
    }
  }
}

/// The options in the query of a URL, percent-decoded. Each is taken once; what is left does not exist.
struct EndpointOptions {
  private var values: [String: String] = [:]

  init(_ query: Substring) throws(RedisError) {
    for part in query.split(separator: "&") {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = try decodePercent(pair[0], in: "name of an option")
      guard pair.count == 2, !pair[1].isEmpty else { throw .invalid("expected a value: \(name)=…") }
      guard values.updateValue(try decodePercent(pair[1], in: "option \(name)"), forKey: name) == nil else {
        throw .invalid("the option '\(name)' occurs twice")
      }
    }
  }

  /// The name of an option that was not taken.
  var first: String? { values.keys.min() }

  mutating func take(_ name: String) -> String? { values.removeValue(forKey: name) }

  mutating func takeFlag(_ name: String, default value: Bool) throws(RedisError) -> Bool {
    switch take(name) {
    case nil: return value
    case "1"?, "true"?: return true
    case "0"?, "false"?: return false
    default: throw .invalid("expected \(name)=1 or \(name)=0")
    }
  }

  mutating func takeTLS() throws(RedisError) -> ClientTLS {
    var tls = ClientTLS()
    tls.issuersFile = take("ca")
    tls.certificateFile = take("cert")
    tls.keyFile = take("key")
    tls.serverName = take("name")
    if let text = take("verify") {
      guard let verification = ClientTLS.Verification(rawValue: text) else {
        throw .invalid("expected verify=full, verify=issuer or verify=none")
      }
      tls.verification = verification
    }
    return tls
  }

  mutating func takeSentinelCredentials() -> RedisCredentials? {
    let user = take("sentinel-user")
    return take("sentinel-password").map { RedisCredentials(user: user, password: $0) }
  }
}

extension RedisError {
  static func invalid(_ message: String) -> RedisError {
    RedisError(.invalidEndpoint, "invalid URL of a Redis server: \(message)")
  }
}

/// Replaces each `%` and two hexadecimal digits by a byte.
func decodePercent(_ text: Substring, in part: String) throws(RedisError) -> String {
  var bytes: [UInt8] = []
  bytes.reserveCapacity(text.utf8.count)
  var rest = text.utf8[...]
  while let byte = rest.popFirst() {
    guard byte == UInt8(ascii: "%") else {
      bytes.append(byte)
      continue
    }
    guard let high = rest.popFirst()?.hexadecimalValue, let low = rest.popFirst()?.hexadecimalValue else {
      throw .invalid("expected two hexadecimal digits after % in the \(part)")
    }
    bytes.append(high << 4 | low)
  }
  // A zero byte ends a path and a name where C reads them.
  guard let decoded = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
    throw .invalid("the \(part) is not valid UTF-8 when decoded")
  }
  return decoded
}

extension UInt8 {
  fileprivate var hexadecimalValue: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
