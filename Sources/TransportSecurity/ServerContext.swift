// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import NIOCore

#if TLS || Redis
  import NIOSSL

  /// What all connections of a server's clients share: the certificates and keys, read from their files, and the keys of the
  /// session tickets.
  package struct ServerContext: Sendable {
    /// What the log says about a certificate.
    package struct Certificate: Sendable {
      package var file: String
      /// The DNS names that it is for.
      package var names: [String]
      /// The last second in which it is valid, since 1970.
      package var lastSecond: Int64
    }

    package let certificates: [Certificate]
    private let context: NIOSSLContext

    /// Reads the files.
    package init(_ options: ServerTLS) throws(TLSFault) {
      var found: [(certificate: Certificate, identity: NIOSSLContextConfigurationOverride)] = []
      for given in options.certificates {
        let chain = try PEM.certificates(given.file, .certificate)
        var identity = NIOSSLContextConfigurationOverride()
        identity.certificateChain = chain.map { .certificate($0) }
        identity.privateKey = .privateKey(try PEM.key(given.keyFile ?? given.file))
        let leaf = chain[0]
        found.append(
          (
            Certificate(
              file: given.file, names: leaf.dnsNames.map(\.lowercasedASCII),
              lastSecond: Int64(leaf.notValidAfter)), identity
          ))
        // Each key must belong to its certificate, also of those that few clients ask for.
        _ = try Self.makeContext(identity, options, file: given)
      }
      guard let first = found.first, let own = options.certificates.first else {
        throw TLSFault(.certificate, "expected at least one certificate")
      }
      certificates = found.map(\.certificate)
      context = try Self.makeContext(first.identity, options, file: own) {
        if found.count == 1 { return }
        let byName = Self.byName(found)
        $0.sslContextCallback = { client, promise in
          promise.succeed(client.serverHostname.flatMap { Self.find($0, in: byName) } ?? .noChanges)
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

    /// The first certificate with a name has it.
    private static func byName(
      _ found: [(certificate: Certificate, identity: NIOSSLContextConfigurationOverride)]
    ) -> [String: NIOSSLContextConfigurationOverride] {
      Dictionary(
        found.flatMap { found in found.certificate.names.map { ($0, found.identity) } },
        uniquingKeysWith: { first, _ in first })
    }

    /// Finds a name, or the wildcard with its first label (RFC 9525 §6.3).
    private static func find<Identity>(_ name: String, in identities: [String: Identity]) -> Identity? {
      let name = name.lowercasedASCII
      return identities[name] ?? name.firstIndex(of: ".").flatMap { identities["*" + name[$0...]] }
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
    var dnsNames: [String] {
      _subjectAlternativeNames().compactMap { name in
        guard case .dnsName = name.nameType else { return nil }
        return String(decoding: name.contents, as: UTF8.self)
      }
    }
  }
#else
  package struct Agreement: Sendable {
    package var protocolName: String?
    package var version: String
  }

  /// What all connections of a server's clients share: without the trait `TLS` there are none.
  package struct ServerContext: Sendable {
    package struct Certificate: Sendable {
      package var file: String
      package var names: [String]
      package var lastSecond: Int64
    }

    package let certificates: [Certificate]

    package init(_ options: ServerTLS) throws(TLSFault) { throw TLSFault.build }

    package func encrypt(
      _ channel: any Channel, by deadline: NIODeadline,
      done: @escaping (Result<Agreement, any Error>) -> Void
    ) throws {
      throw ChannelError.operationUnsupported
    }
  }
#endif
