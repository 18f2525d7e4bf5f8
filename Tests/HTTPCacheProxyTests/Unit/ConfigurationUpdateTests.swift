// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheProxy
import HTTPCaching
import Testing

@Suite("Updates of the proxy's configuration", .timeLimit(.minutes(10)))
struct ConfigurationUpdateTests {
  @Test("An invalid update of the configuration is rejected")
  func invalid() throws {
    var configuration = ProxyConfiguration(
      listen: ProxyConfiguration.Address(host: "127.0.0.1", port: 0),
      origin: ProxyConfiguration.Address(host: "127.0.0.1", port: 9))
    configuration.admin = ProxyConfiguration.Endpoint(host: "0.0.0.0", port: 0)
    configuration.adminToken = "secret"
    let proxy = CachingProxy(configuration, cache: try .embedded())
    configuration.adminToken = nil
    #expect(throws: ProxyConfiguration.ValidationError.self) { try proxy.update(configuration) }
    configuration.adminToken = "secret"
    for limit in [\ProxyConfiguration.Origin.Limits.connections, \.failures] {
      var configuration = configuration
      configuration.origin.limits[keyPath: limit] = 0
      #expect(throws: ProxyConfiguration.ValidationError.self) { try proxy.update(configuration) }
    }
  }
}
