// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

@testable import TransportSecurity

@Suite("Names in certificates", .timeLimit(.minutes(1)))
struct DNSNameTests {
  @Test(
    "A name is for a host by its octets, in any letter case, or by a pattern for the first label (RFC 9525 §6.3)",
    arguments: [
      ("a.example", "A.Example", true), ("a.example", "a.example.", true),
      ("a.example", "b.a.example", false),
      ("*.example", "a.example", true), ("*.example", "a.b.example", false), ("*.example", "example", false),
      ("*.example", ".example", true), ("a*.example", "ab.example", false), ("", "a", false),
      ("*", "a", false),
      ("ban\u{212A}.example", "bank.example", false), ("BAN\u{212A}.example", "BANK.example", false),
    ])
  func covers(name: String, host: String, isCovered: Bool) {
    let (name, host) = (DNSName(name.utf8), DNSName(host.utf8))
    #expect((name == host || name == host.pattern) == isCovered)
  }
}
