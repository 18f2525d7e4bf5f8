// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// An IPv4 or IPv6 address.
///
/// Its text has one canonical form (RFC 5952), so that two spellings of an address are also equal as text.
package struct IPAddress: Hashable, Sendable {
  /// Whether this is an IPv6 address.
  package let isIPv6: Bool
  /// The bits of an IPv6 address; those of an IPv4 address are the last 32 of ``low``.
  let high: UInt64
  let low: UInt64

  init(isIPv6: Bool, high: UInt64, low: UInt64) {
    self.isIPv6 = isIPv6
    self.high = high
    self.low = low
  }

  /// Reads `192.0.2.1` or `2001:db8::1`, without brackets, zone or port; `nil` for any other text.
  package init?(_ text: some StringProtocol) {
    if let bits = Self.ipv4(text.utf8) {
      self.init(isIPv6: false, high: 0, low: UInt64(bits))
    } else if let bits = Self.ipv6(text) {
      self.init(isIPv6: true, high: bits.high, low: bits.low)
    } else {
      return nil
    }
  }

  /// The IPv4 address in an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2); any other address is returned unchanged.
  ///
  /// A socket that accepts both kinds reports the mapped form for IPv4 clients.
  package var unmapped: IPAddress {
    guard isMapped else { return self }
    return IPAddress(isIPv6: false, high: 0, low: low & 0xFFFF_FFFF)
  }

  /// Whether only this machine can reach it: 127.0.0.0/8 (RFC 1122 §3.2.1.3), also in its mapped form, or ::1 (RFC 4291
  /// §2.5.3).
  package var isLoopback: Bool {
    let address = unmapped
    return address.isIPv6 ? address.high == 0 && address.low == 1 : address.low >> 24 == 127
  }

  /// The addresses that one client may use, as one of them: an IPv6 client has a network of 64 bits (RFC 7421).
  var ofOneClient: IPAddress { isIPv6 ? IPAddress(isIPv6: true, high: high, low: 0) : self }
  var textOfOneClient: String { isIPv6 ? "\(self)/64" : "\(self)" }

  private var isMapped: Bool { isIPv6 && high == 0 && low >> 32 == 0xFFFF }

  /// Reads four decimal numbers. A number with a leading zero is rejected, because some readers take it for octal.
  private static func ipv4(_ text: some Collection<UInt8>) -> UInt32? {
    let parts = text.split(separator: 0x2E, maxSplits: 4, omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var bits: UInt32 = 0
    for part in parts {
      guard (1...3).contains(part.count), part.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
        part.count == 1 || part.first != 0x30
      else { return nil }
      let number = part.reduce(0) { $0 * 10 + UInt32($1 - 0x30) }
      guard number <= 255 else { return nil }
      bits = bits << 8 | number
    }
    return bits
  }

  /// RFC 4291 §2.2.
  private static func ipv6(_ text: some StringProtocol) -> (high: UInt64, low: UInt64)? {
    // The longest text has 45 bytes: six groups and an IPv4 address.
    guard text.utf8.count <= 45 else { return nil }
    var groups: [UInt64] = []
    var gap: Int?
    var rest = Array(text.utf8)[...]
    if rest.starts(with: "::".utf8) {
      gap = 0
      rest = rest.dropFirst(2)
    }
    while !rest.isEmpty {
      let piece = rest.prefix { $0 != 0x3A }
      rest = rest.dropFirst(piece.count)
      if piece.contains(0x2E) {
        guard rest.isEmpty, let bits = ipv4(piece) else { return nil }
        groups += [UInt64(bits >> 16), UInt64(bits & 0xFFFF)]
        break
      }
      guard (1...4).contains(piece.count), let group = hexadecimal(piece) else { return nil }
      groups.append(group)
      guard !rest.isEmpty else { break }
      rest = rest.dropFirst()
      if rest.first == 0x3A {
        guard gap == nil else { return nil }
        gap = groups.count
        rest = rest.dropFirst()
      } else if rest.isEmpty {
        return nil
      }
    }
    if let gap {
      guard groups.count < 8 else { return nil }
      groups.insert(contentsOf: repeatElement(0, count: 8 - groups.count), at: gap)
    }
    guard groups.count == 8 else { return nil }
    return (groups[..<4].reduce(0) { $0 << 16 | $1 }, groups[4...].reduce(0) { $0 << 16 | $1 })
  }

  private static func hexadecimal(_ digits: ArraySlice<UInt8>) -> UInt64? {
    var number: UInt64 = 0
    for byte in digits {
      switch byte {
      case 0x30...0x39: number = number << 4 | UInt64(byte - 0x30)
      case 0x41...0x46: number = number << 4 | UInt64(byte - 0x41 + 10)
      case 0x61...0x66: number = number << 4 | UInt64(byte - 0x61 + 10)
      default: return nil
      }
    }
    return number
  }
}

extension IPAddress: CustomStringConvertible {
  /// The canonical text (RFC 5952 §4, §5).
  package var description: String {
    guard isIPv6 else { return Self.dotted(low) }
    if isMapped { return "::ffff:" + Self.dotted(low & 0xFFFF_FFFF) }
    let groups = [high, low].flatMap { half in
      [48, 32, 16, 0].map { (shift: UInt64) -> UInt64 in (half >> shift) & 0xFFFF }
    }
    var (longest, current) = (0..<0, 0..<0)
    for (index, group) in groups.enumerated() {
      current = group == 0 ? (current.isEmpty ? index : current.lowerBound)..<(index + 1) : 0..<0
      if current.count > longest.count { longest = current }
    }
    func text(_ groups: ArraySlice<UInt64>) -> String {
      groups.map { String($0, radix: 16) }.joined(separator: ":")
    }
    guard longest.count > 1 else { return text(groups[...]) }
    return text(groups[..<longest.lowerBound]) + "::" + text(groups[longest.upperBound...])
  }

  private static func dotted(_ bits: UInt64) -> String {
    [24, 16, 8, 0].map { (shift: UInt64) -> String in String((bits >> shift) & 0xFF) }.joined(separator: ".")
  }
}

extension IPAddress {
  /// The address of a peer; `nil` if it has no IP address. An IPv4 client of a socket for both kinds gets its IPv4
  /// address.
  init?(_ address: SocketAddress?) {
    guard let text = address?.ipAddress, let parsed = IPAddress(text) else { return nil }
    self = parsed.unmapped
  }
}
