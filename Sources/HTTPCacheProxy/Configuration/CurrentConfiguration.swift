// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import TransportSecurity

/// The configuration of a running proxy; some of its settings may change.
final class CurrentConfiguration: Sendable {
  /// What encrypts new connections; `nil` if nothing does.
  struct Encryption: Sendable {
    /// For the origin of each site, in their order.
    var origins: [Origin] = []
    var clients: ServerContext?
    var administrators: ServerContext?
  }

  /// What encrypts new connections to an origin; `nil` if nothing does.
  struct Origin: Sendable {
    var plain: ClientContext?
    /// For connections that become tunnels, which HTTP/2 does not have.
    var tunnels: ClientContext?
  }

  private struct State {
    var value: ProxyConfiguration
    var encryption = Encryption()
    var shown: [ShownSetting] = []
    var onChange: [@Sendable (ProxyConfiguration) -> Void] = []
  }

  let pseudonym: Pseudonym
  private let state: Mutex<State>

  init(_ configuration: ProxyConfiguration, _ pseudonym: Pseudonym = Pseudonym()) {
    self.pseudonym = pseudonym
    state = Mutex(State(value: configuration))
  }

  var value: ProxyConfiguration { state.withLock { $0.value } }

  var encryption: Encryption { state.withLock { $0.encryption } }

  /// The settings as the admin port shows them; empty if the program has none to show.
  var shown: [ShownSetting] {
    get { state.withLock { $0.shown } }
    set { state.withLock { $0.shown = newValue } }
  }

  /// The sites, and what the connections to their origins need.
  var sites: [(site: ProxyConfiguration.Site, origin: OriginSettings)] {
    state.withLock { state in
      state.value.sites.enumerated().map { index, site in
        // Without files there is nothing to encrypt with yet.
        let encryption = index < state.encryption.origins.count ? state.encryption.origins[index] : Origin()
        return (
          site,
          OriginSettings(
            origin: site.origin, host: site.host, heads: state.value.limits.head,
            pseudonym: pseudonym.text(state.value.name), encryption: encryption.plain,
            tunnelEncryption: encryption.tunnels)
        )
      }
    }
  }

  /// Checks the files that a configuration names.
  static func checkFiles(_ configuration: ProxyConfiguration) throws { _ = try encryption(configuration) }

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
    encryption.origins = try configuration.sites.map { site in
      guard let tls = site.origin.tls else { return Origin() }
      func context(_ protocols: [String]) throws -> ClientContext {
        try read(site.name.isEmpty ? "origin.tls" : "sites: \(site.name): tls") { () throws(TLSFault) in
          try ClientContext(tls.client(protocols))
        }
      }
      let tunnels = try context([])
      return Origin(
        plain: site.origin.http2 == .never ? tunnels : try context(["h2", "http/1.1"]), tunnels: tunnels)
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
    value.sites = configuration.sites
    if value.tls != nil, let tls = configuration.tls { value.tls = tls }
    // Outside the lock: it reads files.
    let (tls, encryption) = (value.tls, try Self.encryption(value))
    let observers = try state.withLock { state in
      value = state.value
      (value.sites, value.tls) = (configuration.sites, tls)
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
