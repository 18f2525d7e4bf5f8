// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import TransportSecurity

/// The configuration of a running proxy; some of its settings may change.
final class CurrentConfiguration: Sendable {
  /// What encrypts new connections; `nil` if nothing does.
  struct Encryption: Sendable {
    var origin: ClientContext?
    /// For connections to the origin that become tunnels, which HTTP/2 does not have.
    var originTunnels: ClientContext?
    var clients: ServerContext?
    var administrators: ServerContext?
  }

  private struct State {
    var value: ProxyConfiguration
    var encryption = Encryption()
    var onChange: [@Sendable (ProxyConfiguration) -> Void] = []
  }

  private let state: Mutex<State>

  init(_ configuration: ProxyConfiguration) {
    state = Mutex(State(value: configuration))
  }

  var value: ProxyConfiguration { state.withLock { $0.value } }

  var encryption: Encryption { state.withLock { $0.encryption } }

  var origin: OriginSettings {
    state.withLock { state in
      OriginSettings(
        origin: state.value.origin, heads: state.value.limits.head, name: state.value.name,
        encryption: state.encryption.origin, tunnelEncryption: state.encryption.originTunnels)
    }
  }

  /// Reads the files that the configuration names.
  func readFiles() throws {
    let encryption = try Self.encryption(value)
    state.withLock { $0.encryption = encryption }
  }

  private static func encryption(_ configuration: ProxyConfiguration) throws -> Encryption {
    var encryption = Encryption()
    func read<Context>(_ name: String, _ body: () throws(TLSFault) -> Context) throws -> Context {
      do throws(TLSFault) {
        return try body()
      } catch {
        throw ProxyConfiguration.ValidationError("\(name): \(error)")
      }
    }
    if let tls = configuration.origin.tls {
      func context(_ protocols: [String]) throws -> ClientContext {
        try read("origin.tls") { () throws(TLSFault) in try ClientContext(tls.client(protocols)) }
      }
      encryption.originTunnels = try context([])
      encryption.origin =
        configuration.origin.http2 == .never ? encryption.originTunnels : try context(["h2", "http/1.1"])
    }
    if let tls = configuration.tls {
      let protocols = configuration.http2 == .never ? ["http/1.1"] : ["h2", "http/1.1"]
      encryption.clients = try read("tls") { () throws(TLSFault) in try ServerContext(tls.server(protocols)) }
      if configuration.adminUsesTLS {
        encryption.administrators = try read("tls") { () throws(TLSFault) in try ServerContext(tls.server()) }
      }
    }
    return encryption
  }

  /// Calls `body` after each change, for as long as the proxy exists.
  func onChange(_ body: @escaping @Sendable (ProxyConfiguration) -> Void) {
    state.withLock { $0.onChange.append(body) }
  }

  /// Applies the settings that can change while the proxy serves.
  func update(_ configuration: ProxyConfiguration) throws {
    var value = value
    value.origin = configuration.origin
    if value.tls != nil, let tls = configuration.tls { value.tls = tls }
    // Outside the lock: it reads files.
    let (tls, encryption) = (value.tls, try Self.encryption(value))
    let observers = try state.withLock { state in
      value = state.value
      (value.origin, value.tls) = (configuration.origin, tls)
      value.limits = configuration.limits
      value.timeouts = configuration.timeouts
      value.adminToken = configuration.adminToken
      value.trustedPeers = configuration.trustedPeers
      value.trustsUnixPeers = configuration.trustsUnixPeers
      value.trustedFields = configuration.trustedFields
      try value.validate()
      state.value = value
      state.encryption = encryption
      return state.onChange
    }
    for observer in observers { observer(value) }
  }
}
