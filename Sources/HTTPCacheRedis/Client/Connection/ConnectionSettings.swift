// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import TransportSecurity

/// What all connections of a client have in common.
struct ConnectionSettings: Sendable {
  /// The user and the password, if there is one.
  var credentials: RedisCredentials?
  var database: Int
  /// Whether a server that is not a primary is refused.
  var requiresPrimary: Bool
  /// `nil` for unencrypted connections.
  var tls: ClientContext?
  /// The time for the connection, TLS and the first commands together.
  var connectTimeout: TimeAmount
  /// How long a server may be silent while it owes a reply, beyond the time limit of the request.
  var silence: TimeAmount
  var maximumReplyBytes: Int
  var maximumWaitingCommands: Int
  var maximumWaitingBytes: Int
  var counters: RedisCounters
}

extension RedisSharedTier.Configuration {
  var backoff: Backoff {
    Backoff(
      minimum: max(TimeAmount(minimumPause), .milliseconds(1)),
      maximum: max(TimeAmount(maximumPause), .milliseconds(1)))
  }

  func settings(_ counters: RedisCounters) throws(RedisError) -> ConnectionSettings {
    let requiresPrimary = if case .sentinel = endpoint.mode { true } else { false }
    let tls: ClientContext?
    do throws(TLSFault) {
      tls = if let tls = endpoint.tls { try ClientContext(tls) } else { nil }
    } catch {
      throw RedisError(.invalidConfiguration, error.description)
    }
    return ConnectionSettings(
      credentials: endpoint.credentials,
      database: endpoint.database,
      requiresPrimary: requiresPrimary,
      tls: tls,
      connectTimeout: TimeAmount(connectTimeout),
      silence: TimeAmount(silenceTimeout),
      maximumReplyBytes: maximumReplyBytes,
      maximumWaitingCommands: maximumWaitingCommands,
      maximumWaitingBytes: maximumWaitingBytes,
      counters: counters)
  }
}
