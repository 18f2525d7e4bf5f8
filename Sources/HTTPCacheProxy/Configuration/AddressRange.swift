// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension ProxyConfiguration {
  /// A range of IP addresses: an address, or a network in CIDR notation (RFC 4632 §3.1).
  public struct AddressRange: Hashable, Sendable, CustomStringConvertible {
    package let network: IPAddress
    /// The number of leading bits that all addresses of the range share with the network's address.
    package let prefixLength: Int

    /// Reads `10.0.0.0/8`, `2001:db8::/32`, or an address alone.
    ///
    /// An IPv4-mapped network, such as `::ffff:10.0.0.0/104`, becomes the IPv4 network: the proxy sees the IPv4
    /// addresses of its clients.
    ///
    /// - Throws: ``ProxyConfiguration/ValidationError`` if the text is invalid.
    public init(parsing text: String) throws {
      let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
      guard let first = parts.first, let address = IPAddress(first) else {
        throw ProxyConfiguration.ValidationError(
          "'\(text)' is not an address range: expected an IP address, as in 10.0.0.0/8 or 2001:db8::/32")
      }
      let bits = address.isIPv6 ? 128 : 32
      var length = bits
      if parts.count == 2 {
        let digits = parts[1]
        guard !digits.isEmpty, digits.utf8.count <= 3, digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
          let number = Int(digits), number <= bits
        else {
          throw ProxyConfiguration.ValidationError(
            "'\(text)' is not an address range: expected a prefix length from 0 to \(bits) after the slash")
        }
        length = number
      }
      let masked = address.masked(length)
      guard masked == address else {
        throw ProxyConfiguration.ValidationError(
          "'\(text)' has bits after the prefix: write \(masked)/\(length) for the network, or \(address) for the address"
        )
      }
      let network = address.unmapped
      if network.isIPv6 == address.isIPv6 {
        (self.network, prefixLength) = (network, length)
      } else if length >= 96 {
        (self.network, prefixLength) = (network, length - 96)
      } else {
        (self.network, prefixLength) = (address, length)
      }
    }

    package func contains(_ address: IPAddress) -> Bool {
      address.isIPv6 == network.isIPv6 && address.masked(prefixLength) == network
    }

    public var description: String { "\(network)/\(prefixLength)" }
  }
}

extension Sequence<ProxyConfiguration.AddressRange> {
  func contains(_ address: IPAddress) -> Bool { contains { $0.contains(address) } }
}

extension IPAddress {
  /// Returns the address with all bits after the first `length` cleared.
  fileprivate func masked(_ length: Int) -> IPAddress {
    // Shifts by 64 bits and more return zero.
    guard isIPv6 else {
      return IPAddress(isIPv6: false, high: 0, low: low & (~UInt64(0) << UInt64(32 - length)))
    }
    return IPAddress(
      isIPv6: true, high: high & (~UInt64(0) << UInt64(Swift.max(0, 64 - length))),
      low: low & (~UInt64(0) << UInt64(Swift.min(64, 128 - length))))
  }
}
