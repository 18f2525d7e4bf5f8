// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// How connections to a server are encrypted.
package struct ClientTLS: Hashable, Sendable {
  /// What of the server's certificate is checked.
  package enum Verification: String, Hashable, Sendable {
    /// The issuer and the name.
    case full
    /// The issuer.
    case issuer
    /// Nothing: an attacker that redirects the connection can read it.
    case none
  }

  /// What of the server's certificate is checked (default: issuer and name).
  package var verification = Verification.full
  /// A PEM file with the trusted issuers; `nil` for those of the system.
  package var issuersFile: String?
  /// A PEM file with the client's certificate chain; `nil` for no certificate.
  package var certificateFile: String?
  /// A PEM file with the private key of the client's certificate.
  package var keyFile: String?
  /// The name that the server is asked for, and that its certificate must have; `nil` for the host that is connected to.
  package var serverName: String?

  /// The protocols that the client offers (ALPN, RFC 7301), the preferred one first.
  package var protocols: [String] = []

  package init() {}
}
