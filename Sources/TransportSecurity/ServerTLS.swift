// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// How the connections of a server's clients are encrypted.
package struct ServerTLS: Hashable, Sendable {
  /// A certificate and its key, in PEM.
  package struct Certificate: Hashable, Sendable {
    /// The certificate and its chain.
    package var file: String
    /// The private key; `nil` if it is in the same file.
    package var keyFile: String?

    package init(file: String, keyFile: String?) {
      (self.file, self.keyFile) = (file, keyFile)
    }
  }

  /// The first one is for clients that ask for no name, or for one that no certificate has.
  package var certificates: [Certificate]
  /// Whether TLS 1.2 is refused.
  package var requiresTLS13 = false
  /// A PEM file with the issuers of the clients' certificates, which are then required; `nil` if clients need none.
  package var clientIssuersFile: String?
  /// The protocols that the server offers (ALPN, RFC 7301), the preferred one first.
  package var protocols: [String] = []

  package init(_ certificates: [Certificate]) {
    self.certificates = certificates
  }
}

/// What the log says about a certificate that a server presents.
package struct ServerCertificate: Sendable {
  package var file: String
  /// The DNS names that it is for.
  package var names: [String]
  /// The last second in which it is valid, since 1970.
  package var lastSecond: Int64
}

/// What a handshake has agreed on.
package struct Agreement: Sendable {
  /// The protocol (ALPN, RFC 7301); `nil` if none was named.
  package var protocolName: String?
  /// The version of TLS, such as `1.3`.
  package var version: String
  /// The hosts that the client's requests may be for; `nil` for all, because it has asked for none.
  package var names: ServerNames?
}

/// The hosts that the requests on a connection may be for, after a handshake in which the client has asked for one.
package struct ServerNames: Hashable, Sendable {
  /// What the client has asked for (RFC 6066 §3). It has seen which certificate it gets for that.
  let asked: DNSName
  /// The names in that certificate.
  let certificate: Set<DNSName>

  /// Whether a host is among them.
  ///
  /// - Parameter host: its name, without a port.
  package func contain(_ host: some Sequence<UInt8>) -> Bool {
    let name = DNSName(host)
    return name == asked || certificate.contains(name)
      || name.pattern.map { certificate.contains($0) } == true
  }
}
