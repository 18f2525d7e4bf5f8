// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import TransportSecurity

extension ProxyConfiguration.Origin {
  /// How the proxy connects to the servers over TLS 1.2 or 1.3. It needs the package trait `TLS`.
  ///
  /// The proxy reads the files at its start, and again with each ``CachingProxy/update(_:)``. SwiftNIO's TLS resumes no
  /// sessions as a client, so each new connection costs a whole handshake: keep connections with ``Timeouts/idle``.
  public struct TLS: Hashable, Sendable {
    /// A PEM file with the certificates of the issuers that the proxy trusts; `nil` for those of the system.
    public var issuersFile: String?
    /// A PEM file with the proxy's own certificate and its chain, for an origin that requires one; ``keyFile`` has its key.
    public var certificateFile: String?
    /// A PEM file with the private key of ``certificateFile``, without a passphrase.
    public var keyFile: String?
    /// The name that the proxy asks for (SNI, RFC 6066 §3), and that the origin's certificate must have; `nil` for its
    /// host. A server at a socket of the file system needs it.
    public var serverName: String?
    /// Whether the proxy accepts any certificate, from whomever (default: `false`). Who can redirect its connections can
    /// then read and change what they carry.
    public var acceptsAnyCertificate = false

    /// Makes settings with which the system's issuers are trusted, and the certificate must have the origin's name.
    public init() {}

    /// - Parameter protocols: those that the proxy offers (ALPN, RFC 7301).
    func client(_ protocols: [String] = []) -> ClientTLS {
      var tls = ClientTLS()
      tls.issuersFile = issuersFile
      tls.certificateFile = certificateFile
      tls.keyFile = keyFile
      tls.serverName = serverName
      tls.protocols = protocols
      tls.verification = acceptsAnyCertificate ? .none : .full
      return tls
    }

    /// Reads the files.
    package func check() throws(TLSFault) {
      _ = try ClientContext(client())
    }
  }
}
