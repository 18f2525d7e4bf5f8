// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import TransportSecurity

/// The configuration of a running proxy; some of its settings may change.
final class CurrentConfiguration: Sendable {
  private struct State {
    var value: ProxyConfiguration
    var originContext: ClientContext?
    var onChange: [@Sendable (ProxyConfiguration) -> Void] = []
  }

  private let state: Mutex<State>

  init(_ configuration: ProxyConfiguration) {
    state = Mutex(State(value: configuration))
  }

  var value: ProxyConfiguration { state.withLock { $0.value } }

  /// What encrypts new connections to the origin; `nil` if nothing does.
  var originContext: ClientContext? { state.withLock { $0.originContext } }

  /// Reads the files that the configuration names.
  func readFiles() throws {
    let context = try Self.originContext(value)
    state.withLock { $0.originContext = context }
  }

  private static func originContext(_ configuration: ProxyConfiguration) throws -> ClientContext? {
    do throws(ClientTLS.Fault) {
      return if let tls = configuration.originTLS { try ClientContext(tls.client) } else { nil }
    } catch {
      throw ProxyConfiguration.ValidationError("originTLS: \(error)")
    }
  }

  /// Calls `body` after each change, for as long as the proxy exists.
  func onChange(_ body: @escaping @Sendable (ProxyConfiguration) -> Void) {
    state.withLock { $0.onChange.append(body) }
  }

  /// Applies the settings that can change while the proxy serves.
  func update(_ configuration: ProxyConfiguration) throws {
    var value = value
    if value.originTLS != nil, let tls = configuration.originTLS { value.originTLS = tls }
    // Outside the lock: it reads files.
    let (originTLS, originContext) = (value.originTLS, try Self.originContext(value))
    let observers = try state.withLock { state in
      value = state.value
      value.originTLS = originTLS
      value.limits = configuration.limits
      value.timeouts = configuration.timeouts
      value.adminToken = configuration.adminToken
      value.trustedPeers = configuration.trustedPeers
      value.trustedFields = configuration.trustedFields
      try value.validate()
      state.value = value
      state.originContext = originContext
      return state.onChange
    }
    for observer in observers { observer(value) }
  }
}
