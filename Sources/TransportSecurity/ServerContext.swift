// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

#if TLS || Redis
  import NIOSSL

  /// What all connections of a server's clients share: the certificates and keys, read from their files, and the keys of the
  /// session tickets.
  package struct ServerContext: Sendable {
    package let certificates: [ServerCertificate]
    private let context: NIOSSLContext

    /// Reads the files.
    package init(_ options: ServerTLS) throws(TLSFault) {
      var (found, byName): ([ServerCertificate], [DNSName: NIOSSLContextConfigurationOverride]) = ([], [:])
      var first: NIOSSLContextConfigurationOverride?
      for given in options.certificates {
        let chain = try PEM.certificates(given.file, .certificate)
        var identity = NIOSSLContextConfigurationOverride()
        identity.certificateChain = chain.map { .certificate($0) }
        identity.privateKey = .privateKey(try PEM.key(given.keyFile ?? given.file))
        let leaf = chain[0]
        found.append(
          ServerCertificate(
            file: given.file, names: leaf.dnsNames.map(\.text), lastSecond: Int64(leaf.notValidAfter)))
        // The first certificate with a name has it.
        for name in leaf.dnsNames where byName[name] == nil { byName[name] = identity }
        first = first ?? identity
        // Each key must belong to its certificate, also of those that few clients ask for.
        _ = try Self.makeContext(identity, options, file: given)
      }
      guard let first, let own = options.certificates.first else {
        throw TLSFault(.certificate, "expected at least one certificate")
      }
      certificates = found
      context = try Self.makeContext(first, options, file: own) { [byName] in
        if options.certificates.count == 1 { return }
        $0.sslContextCallback = { client, promise in
          let name = client.serverHostname.map { DNSName($0.utf8) }
          promise.succeed(
            name.flatMap { byName[$0] } ?? name?.pattern.flatMap { byName[$0] } ?? .noChanges)
        }
      }
    }

    private static func makeContext(
      _ identity: NIOSSLContextConfigurationOverride, _ options: ServerTLS, file: ServerTLS.Certificate,
      _ configure: (inout TLSConfiguration) -> Void = { _ in }
    ) throws(TLSFault) -> NIOSSLContext {
      guard let chain = identity.certificateChain, let key = identity.privateKey else {
        throw TLSFault(.certificate, "no certificate in \(file.file)")
      }
      var configuration = TLSConfiguration.makeServerConfiguration(certificateChain: chain, privateKey: key)
      // Handshake closes the socket: nothing waits for it.
      configuration.shutdownTimeout = .milliseconds(100)
      configuration.minimumTLSVersion = options.requiresTLS13 ? .tlsv13 : .tlsv12
      configuration.applicationProtocols = options.protocols
      if let issuers = options.clientIssuersFile {
        configuration.certificateVerification = .noHostnameVerification
        // Many clients choose their certificate by it.
        configuration.sendCANameList = true
        configuration.trustRoots = .certificates(try PEM.certificates(issuers, .issuers))
      }
      configure(&configuration)
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
      let handler = NIOSSLServerHandler(context: context)
      try channel.pipeline.syncOperations.addHandlers(handler, Handshake(handler, by: deadline, done: done))
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
