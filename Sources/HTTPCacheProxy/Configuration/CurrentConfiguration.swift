// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// The configuration of a running proxy; some of its settings may change.
final class CurrentConfiguration: Sendable {
  private struct State {
    var value: ProxyConfiguration
    var onChange: [@Sendable (ProxyConfiguration) -> Void] = []
  }

  private let state: Mutex<State>

  init(_ configuration: ProxyConfiguration) {
    state = Mutex(State(value: configuration))
  }

  var value: ProxyConfiguration { state.withLock { $0.value } }

  /// Calls `body` after each change, for as long as the proxy exists.
  func onChange(_ body: @escaping @Sendable (ProxyConfiguration) -> Void) {
    state.withLock { $0.onChange.append(body) }
  }

  /// Applies the settings that can change while the proxy serves.
  func update(_ configuration: ProxyConfiguration) throws {
    let (value, observers) = try state.withLock { state in
      var value = state.value
      value.limits = configuration.limits
      value.timeouts = configuration.timeouts
      value.adminToken = configuration.adminToken
      value.trustedPeers = configuration.trustedPeers
      value.trustedFields = configuration.trustedFields
      try value.validate()
      state.value = value
      return (value, state.onChange)
    }
    for observer in observers { observer(value) }
  }
}
