// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import NIOCore

#if TLS || Redis
  import NIOSSL
  import NIOTLS

  /// What all encrypted connections to a server share: the certificates and keys, read from their files.
  package struct ClientContext: Sendable {
    private let context: NIOSSLContext
    private let options: ClientTLS

    /// Reads the files.
    package init(_ options: ClientTLS) throws(ClientTLS.Fault) {
      self.options = options
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.minimumTLSVersion = .tlsv12
      // A server may answer the end of a connection by closing it, but need not (RFC 8446 §6.1).
      configuration.shutdownTimeout = .seconds(1)
      configuration.certificateVerification =
        switch options.verification {
        case .full: .fullVerification
        case .issuer: .noHostnameVerification
        case .none: .none
        }
      if let file = options.issuersFile {
        configuration.trustRoots = .certificates(try Self.certificates(file, .issuers))
      }
      switch (options.certificateFile, options.keyFile) {
      case (let certificate?, let key?):
        configuration.certificateChain = try Self.certificates(certificate, .certificate).map {
          .certificate($0)
        }
        configuration.privateKey = .privateKey(try Self.key(key))
      case (nil, nil): break
      case (_?, nil):
        throw ClientTLS.Fault(
          .certificate, "a client certificate needs two files: the certificate and its key")
      case (nil, _?):
        throw ClientTLS.Fault(.key, "a client certificate needs two files: the certificate and its key")
      }
      if let name = options.serverName, name.isEmpty || name.utf8.count > 253 || SocketAddress.isIP(name) {
        throw ClientTLS.Fault(.serverName, "expected a host name, found '\(name)'")
      }
      do {
        context = try NIOSSLContext(configuration: configuration)
      } catch {
        let files = [options.certificateFile, options.keyFile].compactMap { $0 }.joined(separator: " and ")
        throw ClientTLS.Fault(
          .key, files.isEmpty ? "TLS cannot be used: \(error)" : "\(files) do not belong together")
      }
    }

    private static func certificates(
      _ file: String, _ part: ClientTLS.Fault.Part
    ) throws(ClientTLS.Fault) -> [NIOSSLCertificate] {
      let found: [NIOSSLCertificate]
      do {
        found = try NIOSSLCertificate.fromPEMFile(file)
      } catch {
        throw ClientTLS.Fault(part, "cannot read certificates in PEM from \(file)")
      }
      if found.isEmpty { throw ClientTLS.Fault(part, "no certificate in \(file)") }
      return found
    }

    private static func key(_ file: String) throws(ClientTLS.Fault) -> NIOSSLPrivateKey {
      do {
        return try NIOSSLPrivateKey(file: file, format: .pem)
      } catch {
        throw ClientTLS.Fault(.key, "cannot read a private key in PEM, without a passphrase, from \(file)")
      }
    }

    /// Makes the handler that encrypts a connection: the one next to the socket.
    ///
    /// - Parameter host: the name or the address that is connected to, if it has one.
    package func makeHandler(to host: String?) throws -> NIOSSLClientHandler {
      // TLS does not announce an address: the certificate must have it (RFC 6066 §3).
      let name = options.serverName ?? host.flatMap { SocketAddress.isIP($0) ? nil : $0 }
      return try NIOSSLClientHandler(context: context, serverHostname: name)
    }

    /// Encrypts a channel that is being made, and that reads only when it is told to.
    ///
    /// - Parameters:
    ///   - host: the name or the address that is connected to.
    ///   - deadline: when the handshake must have ended.
    /// - Returns: the end of the handshake, or a ``TLSFailure``.
    package func encrypt(
      _ channel: any Channel, to host: String, by deadline: NIODeadline
    ) throws -> EventLoopFuture<Void> {
      let handler = try makeHandler(to: host)
      let done = channel.eventLoop.makePromise(of: Void.self)
      try channel.pipeline.syncOperations.addHandlers(
        handler, ClientHandshake(handler, options, host: host, by: deadline, done))
      return done.futureResult
    }
  }

  /// Waits for the end of the handshake, and says why a connection has failed.
  private final class ClientHandshake: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    private let tls: NIOSSLClientHandler
    private let options: ClientTLS
    private let host: String
    private let deadline: NIODeadline
    /// `nil` after the handshake.
    private var done: EventLoopPromise<Void>?
    private var timer: Scheduled<Void>?

    init(
      _ tls: NIOSSLClientHandler, _ options: ClientTLS, host: String, by deadline: NIODeadline,
      _ done: EventLoopPromise<Void>
    ) {
      self.tls = tls
      self.options = options
      self.host = host
      self.deadline = deadline
      self.done = done
    }

    func channelActive(context: ChannelHandlerContext) {
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      timer = context.eventLoop.scheduleTask(deadline: deadline) {
        let (handshake, context) = bound.value
        handshake.end(.failure(TLSFailure(.timeout, "the TLS handshake has not ended in time")))
        context.close(promise: nil)
      }
      context.read()
      context.fireChannelActive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if case TLSUserEvent.handshakeCompleted = event {
        // SwiftNIO's TLS also accepts the address, whatever name was asked for.
        if options.verification == .full, let name = options.serverName,
          tls.peerCertificate?.isFor(name) != true
        {
          return errorCaught(context: context, error: NIOSSLExtraError.failedToValidateHostname)
        }
        end(.success(()))
      }
      context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      let failure = TLSFailure(error, certificate: tls.peerCertificate, name: options.serverName ?? host)
      guard done != nil else { return context.fireErrorCaught(failure ?? error) }
      end(.failure(failure ?? TLSFailure(.ended, "the connection ended during the TLS handshake: \(error)")))
      context.close(promise: nil)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      context.close(mode: mode, promise: promise)
      // The channel closes when the server's answer is read, or after a second.
      if mode == .all { context.read() }
    }

    func channelInactive(context: ChannelHandlerContext) {
      end(.failure(ChannelError.ioOnClosedChannel))
      context.fireChannelInactive()
    }

    /// A channel that lost to another address of the same host was never active.
    func handlerRemoved(context: ChannelHandlerContext) {
      end(.failure(ChannelError.ioOnClosedChannel))
    }

    private func end(_ result: Result<Void, any Error>) {
      timer?.cancel()
      timer = nil
      done.take()?.completeWith(result)
    }
  }

  extension NIOSSLCertificate {
    /// Whether a DNS name of the certificate is this one, or has `*` as its first label instead (RFC 9525 §6.3).
    fileprivate func isFor(_ name: String) -> Bool {
      let name = name.lowercasedASCII
      let rest = name.firstIndex(of: ".").map { name[$0...] }
      return _subjectAlternativeNames().contains { other in
        guard case .dnsName = other.nameType else { return false }
        let other = String(decoding: other.contents, as: UTF8.self).lowercasedASCII
        return other == name || other.hasPrefix("*.") && other.dropFirst() == rest
      }
    }
  }

  extension SocketAddress {
    fileprivate static func isIP(_ host: String) -> Bool {
      (try? SocketAddress(ipAddress: host, port: 0)) != nil
    }
  }

  extension TLSFailure {
    /// Explains an error of TLS; `nil` for another error.
    ///
    /// - Parameters:
    ///   - certificate: what the server has sent, if it has got so far.
    ///   - name: the name that the certificate must have.
    ///   - now: tests whether the certificate is valid.
    package init?(
      _ error: any Error, certificate: NIOSSLCertificate?, name: String,
      now: Timestamp = SystemCacheClock.shared.now
    ) {
      switch error {
      case NIOSSLError.uncleanShutdown:
        self.init(.truncated, "the server closed the connection without saying so in TLS")
      case NIOSSLError.handshakeFailed(let error): self.init(error, certificate, name, now)
      case let error as BoringSSLError: self.init(error, certificate, name, now)
      case let error as NIOSSLExtraError where error == .failedToValidateHostname:
        self.init(.certificate, "the certificate is not for '\(name)'\(Self.names(certificate))")
      default: return nil
      }
    }

    private init(
      _ error: BoringSSLError, _ certificate: NIOSSLCertificate?, _ name: String, _ now: Timestamp
    ) {
      guard case .sslError(let stack) = error else {
        self.init(.ended, "the connection ended during the TLS handshake")
        return
      }
      if stack.contains(.eofDuringHandshake) || stack.isEmpty {
        self.init(.ended, "the server closed the connection during the TLS handshake")
        return
      }
      // Such as `error:1000007d:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at handshake.cc:320`.
      let reasons = stack.map { error in
        String("\(error)".split(separator: "OPENSSL_internal:").last?.prefix { $0 != " " } ?? "")
      }
      let reason = reasons.first ?? ""
      if let alert = reasons.lazy.compactMap({ $0.split(separator: "_ALERT_").dropFirst().first }).first {
        // In the words of RFC 8446 §6.2.
        let name = alert.lowercasedASCII
        let hint = name == "certificate_required" ? ": set a client certificate" : ""
        self.init(.alert, "the server refused the connection with the alert \(name)\(hint)")
      } else if reasons.contains("CERTIFICATE_VERIFY_FAILED") {
        self.init(.certificate, Self.text(of: certificate, name, now))
      } else if reason == "WRONG_VERSION_NUMBER" || reason == "HTTP_REQUEST" {
        self.init(.negotiation, "the server does not speak TLS on this port")
      } else {
        self.init(.negotiation, "the TLS handshake failed: \(reason)")
      }
    }

    /// Says what is wrong with a certificate that was not accepted.
    private static func text(
      of certificate: NIOSSLCertificate?, _ name: String, _ now: Timestamp
    ) -> String {
      guard let certificate else { return "the certificate of '\(name)' is not accepted" }
      let (first, last) = (Int64(certificate.notValidBefore), Int64(certificate.notValidAfter))
      let until = HTTPDate(secondsSince1970: last).fieldValue
      if now.seconds > last { return "the certificate of '\(name)' has expired: it was valid until \(until)" }
      if now.seconds < first {
        let since = HTTPDate(secondsSince1970: first).fieldValue
        return "the certificate of '\(name)' is not valid yet: it is valid from \(since) until \(until)"
      }
      return """
        no trusted issuer has signed the certificate of '\(name)', or one of its issuers has expired; it is valid until \
        \(until)
        """
    }

    private static func names(_ certificate: NIOSSLCertificate?) -> String {
      guard let certificate else { return "" }
      let names = certificate._subjectAlternativeNames().compactMap { name -> String? in
        switch name.nameType {
        case .dnsName: String(decoding: name.contents, as: UTF8.self)
        case .ipAddress:
          (try? SocketAddress(packedIPAddress: ByteBuffer(bytes: name.contents), port: 0))?.ipAddress
        default: nil
        }
      }
      if names.isEmpty { return ", and names no host" }
      // Whoever made the certificate chose the names, and they go to the log.
      let text = names.prefix(8).joined(separator: ", ").utf8.prefix(512).map {
        (0x20...0x7E).contains($0) ? $0 : 0x3F
      }
      return ", but for " + String(decoding: text, as: UTF8.self)
    }
  }
#else
  /// What all encrypted connections to a server share: without the trait `TLS` there are none.
  package struct ClientContext: Sendable {
    package init(_ options: ClientTLS) throws(ClientTLS.Fault) {
      throw ClientTLS.Fault(.build, "this program was built without TLS: build it with the trait TLS")
    }

    package func encrypt(
      _ channel: any Channel, to host: String, by deadline: NIODeadline
    ) throws -> EventLoopFuture<Void> {
      throw ChannelError.operationUnsupported
    }
  }
#endif
