// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A host name, or a pattern of a certificate with `*` as its first label, in lowercase and without a final dot.
///
/// It has octets instead of text: to a `String`, the Kelvin sign equals the letter K.
struct DNSName: Hashable, Sendable {
  private let octets: [UInt8]

  init(_ octets: some Sequence<UInt8>) {
    var octets = octets.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
    if octets.last == 0x2E { octets.removeLast() }
    self.octets = octets
  }

  /// The pattern with `*` in place of the first label, which covers this name, too (RFC 9525 §6.3).
  var pattern: DNSName? {
    octets.firstIndex(of: 0x2E).map { DNSName([0x2A] + octets[$0...]) }
  }

  var text: String { String(decoding: octets, as: UTF8.self) }
}
