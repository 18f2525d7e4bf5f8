// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import TransportSecurity

extension ProxyConfiguration {
  /// How the connections of clients are encrypted, with TLS 1.2 or 1.3. It needs the package trait `TLS`.
  ///
  /// The proxy reads the files at its start, and again with each ``CachingProxy/update(_:)``: new connections use what it has
  /// read last.
  public struct TLS: Hashable, Sendable {
    /// A certificate and its key, in files in PEM.
    public struct Certificate: Hashable, Sendable {
      /// The certificate, and those of its issuers in their order.
      public var file: String
      /// The private key, without a passphrase; `nil` if it is in ``file``.
      public var keyFile: String?

      /// - Parameters:
      ///   - file: the file of the certificate, and of those of its issuers in their order.
      ///   - keyFile: the file of the private key, without a passphrase; `nil` if it is in the same file.
      public init(file: String, keyFile: String? = nil) {
        self.file = file
        self.keyFile = keyFile
      }
    }

    /// The certificates, at least one. A client gets the one with the name that it asks for (SNI, RFC 6066 §3), and the first
    /// if none has that name.
    public var certificates: [Certificate]
    /// Whether the proxy refuses TLS 1.2 (default: `false`).
    public var requiresTLS13 = false
    /// A PEM file with issuers. Clients must then have a certificate of one of them; `nil` if they need none (default).
    public var clientIssuersFile: String?

    /// - Parameter certificates: at least one.
    public init(_ certificates: [Certificate]) {
      self.certificates = certificates
    }

    /// - Parameter protocols: those that a client may choose from, in the order of preference (ALPN, RFC 7301).
    func server(_ protocols: [String] = ["http/1.1"]) -> ServerTLS {
      var tls = ServerTLS(certificates.map { ServerTLS.Certificate(file: $0.file, keyFile: $0.keyFile) })
      tls.requiresTLS13 = requiresTLS13
      tls.clientIssuersFile = clientIssuersFile
      tls.protocols = protocols
      return tls
    }

    /// Reads the files.
    package func check() throws(TLSFault) {
      _ = try ServerContext(server())
    }
  }
}
