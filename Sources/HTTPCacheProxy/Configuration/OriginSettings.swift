// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import TransportSecurity

/// What the connections to an origin need of the configuration, with its files.
struct OriginSettings: Sendable {
  var origin: ProxyConfiguration.Origin
  /// The value of `Host` for requests of the proxy itself; `nil` for that of a server.
  var host: String?
  var heads: ProxyConfiguration.HeadLimits
  /// The name of the proxy in `Via`; see ``Pseudonym``.
  var pseudonym: String
  /// What encrypts new connections; `nil` if nothing does.
  var encryption: ClientContext?
  /// That of connections which become tunnels, which HTTP/2 does not have.
  var tunnelEncryption: ClientContext?

  /// Whether servers are offered HTTP/2, and so may share connections between requests.
  var offersHTTP2: Bool {
    switch origin.http2 {
    case .never: false
    case .withTLS: origin.tls != nil
    case .always: true
    }
  }

  var poolLimits: OriginServer.Pool.Limits {
    OriginServer.Pool.Limits(
      connections: origin.limits.connections, idle: origin.limits.idleConnections,
      queue: origin.limits.queue, queueTime: origin.timeouts.queue.timeAmount)
  }
}

/// The settings of an origin, which may change.
final class CurrentOrigin: Sendable {
  private let state: Mutex<OriginSettings>

  init(_ value: OriginSettings) { state = Mutex(value) }

  /// Whether a response with this status counts as none. Asked for each response, so that nothing is copied.
  func isFailure(_ status: Int) -> Bool {
    state.withLock { $0.origin.failureStatuses.contains(status) }
  }

  var value: OriginSettings {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }
}
