// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

#if TLS || Redis
  import NIOSSL

  /// What all encrypted connections to a server share: the certificates and keys, read from their files.
  package struct ClientContext: Sendable {
    private let context: NIOSSLContext
    private let options: ClientTLS

    /// Reads the files.
    package init(_ options: ClientTLS) throws(TLSFault) {
      self.options = options
      var configuration = TLSConfiguration.makeClientConfiguration()
      // Handshake closes the socket: nothing waits for it.
      configuration.shutdownTimeout = .milliseconds(100)
      configuration.minimumTLSVersion = .tlsv12
      configuration.certificateVerification =
        switch options.verification {
        case .full: .fullVerification
        case .issuer: .noHostnameVerification
        case .none: .none
        }
      configuration.applicationProtocols = options.protocols
      if let file = options.issuersFile {
        configuration.trustRoots = .certificates(try PEM.certificates(file, .issuers))
      }
      switch (options.certificateFile, options.keyFile) {
      case (let certificate?, let key?):
        configuration.certificateChain = try PEM.certificates(certificate, .certificate).map {
          .certificate($0)
        }
        configuration.privateKey = .privateKey(try PEM.key(key))
      case (nil, nil): break
      case (_?, nil):
        throw TLSFault(
          .certificate, "a client certificate needs two files: the certificate and its key")
      case (nil, _?):
        throw TLSFault(.key, "a client certificate needs two files: the certificate and its key")
      }
      if let name = options.serverName, name.isEmpty || name.utf8.count > 253 || SocketAddress.isIP(name) {
        throw TLSFault(.serverName, "expected a host name, found '\(name)'")
      }
      do {
        context = try NIOSSLContext(configuration: configuration)
      } catch {
        let files = [options.certificateFile, options.keyFile].compactMap { $0 }.joined(separator: " and ")
        throw TLSFault(
          .key, files.isEmpty ? "TLS cannot be used: \(error)" : "\(files) do not belong together")
      }
    }

    /// Encrypts a channel that is being made.
    ///
    /// - Parameters:
    ///   - host: the name or the address that is connected to, if it has one.
    ///   - deadline: when the handshake must have ended.
    /// - Returns: what the handshake has agreed on, or a ``TLSFailure``.
    package func encrypt(
      _ channel: any Channel, to host: String?, by deadline: NIODeadline
    ) throws -> EventLoopFuture<Agreement> {
      // TLS does not announce an address: the certificate must have it (RFC 6066 §3).
      let name = options.serverName ?? host.flatMap { SocketAddress.isIP($0) ? nil : $0 }
      let handler = try NIOSSLClientHandler(context: context, serverHostname: name)
      let required = options.verification == .full ? name : nil
      let done = channel.eventLoop.makePromise(of: Agreement.self)
      let handshake = Handshake(handler, name: name ?? host ?? "", by: deadline) { handler in
        // SwiftNIO's TLS also accepts the address, whatever name was asked for.
        guard let required, handler.peerCertificate?.isFor(required) != true else { return }
        throw NIOSSLExtraError.failedToValidateHostname
      } done: {
        done.completeWith($0)
      }
      do {
        try channel.pipeline.syncOperations.addHandlers(handler, handshake)
      } catch {
        done.fail(error)
        throw error
      }
      return done.futureResult
    }
  }

  extension NIOSSLCertificate {
    /// Whether the certificate has this name, or a pattern that covers it. A common name does not count.
    fileprivate func isFor(_ host: String) -> Bool {
      let name = DNSName(host.utf8)
      return dnsNames.contains { $0 == name || $0 == name.pattern }
    }
  }

  extension SocketAddress {
    fileprivate static func isIP(_ host: String) -> Bool {
      (try? SocketAddress(ipAddress: host, port: 0)) != nil
    }
  }
#else
  /// What all encrypted connections to a server share: without the trait `TLS` there are none.
  package struct ClientContext: Sendable {
    package init(_ options: ClientTLS) throws(TLSFault) {
      throw TLSFault.build
    }

    package func encrypt(
      _ channel: any Channel, to host: String?, by deadline: NIODeadline
    ) throws -> EventLoopFuture<Agreement> {
      throw ChannelError.operationUnsupported
    }
  }
#endif
