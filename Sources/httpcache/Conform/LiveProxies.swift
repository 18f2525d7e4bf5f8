// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheProxy
import HTTPCaching
import Logging
import TransportSecurity

/// The proxies of a live run.
protocol LiveProxies: Sendable {
  func open(
    _ settings: HTTPCache.Configuration, _ options: ScenarioOptions, originPort: Int
  ) async throws -> LiveRunner.Target?
  func close() async
}

/// Starts a proxy for each cache configuration of the scenarios.
final class ProxyFarm: LiveProxies {
  private let running = Mutex<[Task<Void, any Error>]>([])
  private let certificate: ProxyConfiguration.TLS.Certificate?
  private let usesHTTP2: Bool
  private let originUsesHTTP2: Bool

  /// - Parameters:
  ///   - certificate: the proxies use TLS with it; `nil` for none.
  ///   - usesHTTP2: whether clients use HTTP/2.
  ///   - originUsesHTTP2: whether the origin has HTTP/2, and no other version.
  init(_ certificate: ProxyConfiguration.TLS.Certificate?, usesHTTP2: Bool, originUsesHTTP2: Bool) {
    self.certificate = certificate
    (self.usesHTTP2, self.originUsesHTTP2) = (usesHTTP2, originUsesHTTP2)
  }

  func open(
    _ settings: HTTPCache.Configuration, _ options: ScenarioOptions, originPort: Int
  ) async throws -> LiveRunner.Target? {
    var configuration = ProxyConfiguration(
      listen: ProxyConfiguration.Address(host: "127.0.0.1", port: 0),
      origin: ProxyConfiguration.Address(host: "127.0.0.1", port: originPort))
    // An origin that hangs up on a request must get it once: so no idle connection may be old enough to count as
    // closed.
    configuration.origin.timeouts.idle = .milliseconds(900)
    var encryption: ClientContext?
    if let certificate {
      configuration.tls = ProxyConfiguration.TLS([certificate])
      var originTLS = ProxyConfiguration.Origin.TLS()
      // Any certificate will do for a run on one machine.
      originTLS.acceptsAnyCertificate = true
      configuration.origin.tls = originTLS
      // The URLs of the scenarios stay as they are.
      configuration.scheme = "http"
      var tls = ClientTLS()
      tls.verification = .none
      if usesHTTP2 { tls.protocols = ["h2"] }
      encryption = try ClientContext(tls)
    }
    if usesHTTP2 { configuration.http2 = .always }
    if originUsesHTTP2 { configuration.origin.http2 = .always }
    // An origin that hangs up in several scenarios has not failed.
    configuration.origin.limits.failures = nil
    let proxy = CachingProxy(
      configuration, cache: try HTTPCache(settings),
      logger: Logger(label: "httpcache") { _ in SwiftLogNoOpLogHandler() })
    let task = Task { try await proxy.run() }
    running.withLock { $0.append(task) }
    guard case .address(let address)? = await proxy.endpoints()?.first else {
      try await task.value
      return nil
    }
    return LiveRunner.Target(
      host: address.host, port: address.port, encryption: encryption, usesHTTP2: usesHTTP2)
  }

  func close() async {
    for task in running.withLock({ $0 }) { task.cancel() }
    for task in running.withLock({ $0 }) { _ = try? await task.value }
  }
}

/// A proxy that already runs, with its own configuration.
struct OneProxy: LiveProxies {
  private let address: ProxyConfiguration.Address
  private let usesHTTP2: Bool

  init(_ address: ProxyConfiguration.Address, usesHTTP2: Bool) {
    (self.address, self.usesHTTP2) = (address, usesHTTP2)
  }

  func open(
    _ settings: HTTPCache.Configuration, _ options: ScenarioOptions, originPort: Int
  ) async throws -> LiveRunner.Target? {
    guard options == ScenarioOptions() else { return nil }
    return LiveRunner.Target(host: address.host, port: address.port, usesHTTP2: usesHTTP2)
  }

  func close() async {}
}
