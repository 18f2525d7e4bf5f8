// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

@testable import HTTPCacheProxy

@Suite("Addresses that only this machine can reach", .timeLimit(.minutes(10)))
struct LoopbackAddressTests {
  @Test(
    "Only loopback addresses and localhost count as loopback",
    arguments: [
      ("127.0.0.1", true), ("127.255.0.9", true), ("::1", true), ("0:0:0:0:0:0:0:1", true),
      ("::ffff:127.0.0.1", true), ("localhost", true), ("LOCALHOST", true),
      ("127.a.example", false), ("127.0.0.1.example", false), ("127.", false), ("127", false),
      ("127.1", false),
      ("127.0.0.1.", false), ("127.0.0.256", false), ("127.0.0.01", false), ("0127.0.0.1", false),
      ("0x7f.0.0.1", false), ("2130706433", false),
      ("localhost.example", false), ("localhost.", false), ("0.0.0.0", false), ("::", false), ("", false),
      ("128.0.0.1", false), ("::ffff:10.0.0.1", false), ("::2", false), ("fe80::1", false), ("1::1", false),
    ])
  func loopback(host: String, isLoopback: Bool) throws {
    #expect(ProxyConfiguration.Address(host: host, port: 1).isLoopback == isLoopback)
    var configuration = ProxyConfiguration(
      listen: ProxyConfiguration.Address(host: "127.0.0.1", port: 0),
      origin: ProxyConfiguration.Address(host: "127.0.0.1", port: 9))
    configuration.admin = ProxyConfiguration.Endpoint(host: host, port: 0)
    if isLoopback {
      try configuration.validate()
    } else {
      #expect(throws: ProxyConfiguration.ValidationError.self) { try configuration.validate() }
    }
  }
}
