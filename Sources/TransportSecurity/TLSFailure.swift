// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Why a TLS connection could not be made, or has failed.
package struct TLSFailure: Error, Hashable, CustomStringConvertible {
  package enum Kind: Sendable {
    /// The server's certificate is not the one that was expected.
    case certificate
    /// The server has refused the connection with an alert (RFC 8446 §6).
    case alert
    /// The server does not speak TLS here, or no version or cipher of this client.
    case negotiation
    /// The server has closed the connection during the handshake.
    case ended
    /// The handshake took too long.
    case timeout
    /// The server has closed the connection without saying so in TLS: what was read may be incomplete (RFC 8446 §6.1).
    case truncated
  }

  package var kind: Kind
  package var description: String

  package init(_ kind: Kind, _ description: String) {
    (self.kind, self.description) = (kind, description)
  }
}
