// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

#if TLS || Redis
  import NIOSSL

  /// What all connections of a server's clients share: the certificates and keys, read from their files, and the keys of the
  /// session tickets.
  package struct ServerContext: Sendable {
    /// What answers a handshake.
    private struct Identity: Sendable {
      let context: NIOSSLContext
      /// The names that the certificate is for.
      let names: Set<DNSName>
    }

    package let certificates: [ServerCertificate]
    /// For clients that ask for no name, or for one that no certificate has.
    private let first: Identity
    /// Each name has a context, and so its own keys for session tickets: a session must not be resumed for another name (RFC
    /// 6066 §3). The names that one pattern covers share theirs.
    private let byName: [DNSName: Identity]

    /// Reads the files.
    package init(_ options: ServerTLS) throws(TLSFault) {
      let issuers = try options.clientIssuersFile.map { file throws(TLSFault) in
        try PEM.certificates(file, .issuers)
      }
      var (found, byName): ([ServerCertificate], [DNSName: Identity]) = ([], [:])
      var first: Identity?
      for given in options.certificates {
        let chain = try PEM.certificates(given.file, .certificate)
        let key = try PEM.key(given.keyFile ?? given.file)
        let (leaf, names) = (chain[0], Set(chain[0].dnsNames))
        func identity() throws(TLSFault) -> Identity {
          Identity(context: try Self.makeContext(chain, key, options, issuers, file: given), names: names)
        }
        found.append(
          ServerCertificate(
            file: given.file, names: leaf.dnsNames.map(\.text), lastSecond: Int64(leaf.notValidAfter)))
        // Each key must belong to its certificate, also of those that no client can ask for.
        let own = try identity()
        first = first ?? own
        // The first certificate with a name has it.
        for name in names where byName[name] == nil { byName[name] = try identity() }
      }
      guard let first else {
        throw TLSFault(.certificate, "expected at least one certificate")
      }
      (certificates, self.first, self.byName) = (found, first, byName)
    }

    private static func makeContext(
      _ chain: [NIOSSLCertificate], _ key: NIOSSLPrivateKey, _ options: ServerTLS,
      _ issuers: [NIOSSLCertificate]?,
      file: ServerTLS.Certificate
    ) throws(TLSFault) -> NIOSSLContext {
      var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
      // Handshake closes the socket: nothing waits for it.
      configuration.shutdownTimeout = .milliseconds(100)
      configuration.minimumTLSVersion = options.requiresTLS13 ? .tlsv13 : .tlsv12
      configuration.applicationProtocols = options.protocols
      if let issuers {
        configuration.certificateVerification = .noHostnameVerification
        // Many clients choose their certificate by it.
        configuration.sendCANameList = true
        configuration.trustRoots = .certificates(issuers)
      }
      do {
        return try NIOSSLContext(configuration: configuration)
      } catch {
        throw TLSFault(.key, "the key in \(file.keyFile ?? file.file) does not belong to \(file.file)")
      }
    }

    /// Encrypts the channel of a client, whose handlers so far stay next to the socket.
    ///
    /// - Parameters:
    ///   - deadline: when the handshake must have ended.
    ///   - done: called once, on the event loop, before the first bytes after the handshake; with a ``TLSFailure`` if it failed.
    package func encrypt(
      _ channel: any Channel, by deadline: NIODeadline,
      done: @escaping (Result<Agreement, any Error>) -> Void
    ) throws {
      var names: ServerNames?
      let handshake = Handshake(by: deadline) { result in
        done(
          result.map { agreement in
            var agreement = agreement
            agreement.names = names
            return agreement
          })
      }
      let hello = HelloReader { [first, byName] name in
        let identity = name.flatMap { byName[$0] ?? $0.pattern.flatMap { byName[$0] } } ?? first
        names = name.map { ServerNames(asked: $0, certificate: identity.names) }
        let tls = NIOSSLServerHandler(context: identity.context)
        handshake.tls = tls
        return tls
      }
      try channel.pipeline.syncOperations.addHandlers(hello, handshake)
    }
  }

  extension NIOSSLCertificate {
    var dnsNames: [DNSName] {
      _subjectAlternativeNames().compactMap { name in
        guard case .dnsName = name.nameType else { return nil }
        return DNSName(name.contents)
      }
    }
  }
#else
  /// What all connections of a server's clients share: without the trait `TLS` there are none.
  package struct ServerContext: Sendable {
    package let certificates: [ServerCertificate]

    package init(_ options: ServerTLS) throws(TLSFault) { throw TLSFault.build }

    package func encrypt(
      _ channel: any Channel, by deadline: NIODeadline,
      done: @escaping (Result<Agreement, any Error>) -> Void
    ) throws {
      throw ChannelError.operationUnsupported
    }
  }
#endif
