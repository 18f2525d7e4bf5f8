// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine

/// The host and the port of a request, in the one spelling that both the key and the origin get.
///
/// Spellings that share a key must look the same to the origin. Otherwise the first client would choose the text that
/// all others get, if the origin writes its own name into links. `TargetURI` leaves this form unchanged; a test
/// verifies that.
enum Authority {
  /// Returns the host in lowercase, without an empty or a default port (RFC 9110 §4.2.3); an address in brackets gets
  /// its canonical form (RFC 5952).
  ///
  /// Returns `nil` for an invalid authority: a port that is not a number from 1 to 65535, an empty label, user
  /// information, or a character that is invalid in host names. Percent-encoding is among these: with it, one name
  /// would have many spellings (RFC 3986 §3.2.2).
  static func normalized(_ text: String, scheme: String) -> String? {
    if text.utf8.first == 0x5B { return normalizedLiteral(text, scheme: scheme) }
    guard let (count, isNormalized) = text.withFieldBytes({ readHost($0, scheme: scheme) }) else {
      return nil
    }
    // Nearly all clients use this spelling, which needs no new string.
    if isNormalized { return text }
    let end = text.utf8.index(text.utf8.startIndex, offsetBy: count)
    return normalizedPort(text.utf8[end...], scheme: scheme).map { text[..<end].lowercasedASCII + $0 }
  }

  /// Returns the number of bytes of a host name, and whether it is normalized with its port; `nil` for an invalid name.
  private static func readHost(_ bytes: Span<UInt8>, scheme: String) -> (count: Int, isNormalized: Bool)? {
    var (isLowercase, label, end) = (true, 0, 0)
    loop: while end < bytes.count {
      switch bytes[end] {
      case 0x61...0x7A, 0x30...0x39, 0x2D, 0x5F, 0x7E: label += 1
      case 0x41...0x5A:
        isLowercase = false
        label += 1
      case 0x2E:
        guard label > 0 else { return nil }
        label = 0
      case 0x3A: break loop
      default: return nil
      }
      end += 1
    }
    guard end > 0 else { return nil }
    let isWhole = end == bytes.count
    return (
      end,
      isLowercase && (isWhole || isNormalized(port: bytes.extracting(droppingFirst: end), scheme: scheme))
    )
  }

  /// RFC 3986 §3.2.2, without zones and without addresses of future versions.
  private static func normalizedLiteral(_ text: String, scheme: String) -> String? {
    let inside = text.dropFirst().prefix { $0 != "]" }
    guard inside.endIndex < text.endIndex, let address = IPAddress(inside), address.isIPv6,
      let port = normalizedPort(text[text.index(after: inside.endIndex)...].utf8, scheme: scheme)
    else { return nil }
    return "[\(address)]" + port
  }

  /// Whether a port with its colon is spelled as ``normalizedPort(_:scheme:)`` spells it.
  private static func isNormalized(port bytes: Span<UInt8>, scheme: String) -> Bool {
    var number = 0
    for index in bytes.indices.dropFirst() {
      let byte = bytes[index]
      guard byte >= (index == 1 ? 0x31 : 0x30), byte <= 0x39 else { return false }
      number = number * 10 + Int(byte - 0x30)
      guard number <= 65_535 else { return false }
    }
    return number > 0 && number != (scheme == "https" ? 443 : 80)
  }

  /// Returns the port with its colon; an empty text if the scheme implies it.
  private static func normalizedPort(_ text: Substring.UTF8View, scheme: String) -> String? {
    guard let colon = text.first else { return "" }
    let digits = text.dropFirst()
    guard colon == 0x3A else { return nil }
    guard !digits.isEmpty else { return "" }
    var number = 0
    for byte in digits {
      guard byte >= 0x30, byte <= 0x39 else { return nil }
      number = number * 10 + Int(byte - 0x30)
      guard number <= 65_535 else { return nil }
    }
    guard number > 0 else { return nil }
    return number == (scheme == "https" ? 443 : 80) ? "" : ":\(number)"
  }
}
