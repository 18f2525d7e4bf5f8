// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOSSL

/// What all connections of a client have in common.
struct ConnectionSettings: Sendable {
  struct TLS: Sendable {
    var context: NIOSSLContext
    /// The name that the certificate must have instead of the host's.
    var serverName: String?
  }

  /// The user and the password, if there is one.
  var credentials: RedisCredentials?
  var database: Int
  /// Whether a server that is not a primary is refused.
  var requiresPrimary: Bool
  /// `nil` for unencrypted connections.
  var tls: TLS?
  /// The time for the connection, TLS and the first commands together.
  var connectTimeout: TimeAmount
  /// How long a server may be silent while it owes a reply, beyond the time limit of the request.
  var silence: TimeAmount
  var maximumReplyBytes: Int
  var maximumWaitingCommands: Int
  var maximumWaitingBytes: Int
  var counters: RedisCounters
}
