// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if TLS || Redis
  import HTTPCacheEngine
  import HTTPCaching
  import NIOCore
  import NIOSSL
#endif

/// Why a TLS connection could not be made, or has failed.
package struct TLSFailure: Error, Hashable, CustomStringConvertible {
  package enum Kind: String, CaseIterable, Sendable {
    /// The peer's certificate is not the one that was expected.
    case certificate
    /// The peer has refused the connection with an alert (RFC 8446 §6).
    case alert
    /// The peer does not speak TLS, or no version or cipher of this side.
    case negotiation
    /// The peer has closed the connection during the handshake.
    case ended
    /// The handshake took too long.
    case timeout
    /// The peer has closed the connection without saying so in TLS: what was read may be incomplete (RFC 8446 §6.1).
    case truncated
  }

  package var kind: Kind
  package var description: String

  package init(_ kind: Kind, _ description: String) {
    (self.kind, self.description) = (kind, description)
  }
}

#if TLS || Redis
  extension TLSFailure {
    /// Explains an error of TLS; `nil` for another error.
    ///
    /// - Parameters:
    ///   - certificate: what the server has sent, if it has got so far.
    ///   - name: the name that the certificate must have.
    ///   - isInHandshake: whether the handshake has not ended yet.
    ///   - now: tests whether the certificate is valid.
    package init?(
      _ error: any Error, certificate: NIOSSLCertificate?, name: String, isInHandshake: Bool,
      now: Timestamp = SystemCacheClock.shared.now
    ) {
      switch error {
      case NIOSSLError.uncleanShutdown:
        self.init(.truncated, "the peer closed the connection without saying so in TLS")
      case NIOSSLError.handshakeFailed(let error): self.init(error, certificate, name, isInHandshake, now)
      case let error as BoringSSLError: self.init(error, certificate, name, isInHandshake, now)
      case let error as NIOSSLExtraError where error == .failedToValidateHostname:
        self.init(.certificate, "the certificate is not for '\(name)'\(Self.names(certificate))")
      default: return nil
      }
    }

    private init(
      _ error: BoringSSLError, _ certificate: NIOSSLCertificate?, _ name: String, _ isInHandshake: Bool,
      _ now: Timestamp
    ) {
      guard case .sslError(let stack) = error else {
        self.init(
          isInHandshake ? .ended : .truncated,
          isInHandshake
            ? "the connection ended during the TLS handshake" : "the TLS connection ended: \(error)")
        return
      }
      if stack.contains(.eofDuringHandshake) || stack.isEmpty {
        self.init(.ended, "the peer closed the connection during the TLS handshake")
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
        self.init(.alert, "the peer refused the connection with the alert \(name)\(hint)")
      } else if reasons.contains("CERTIFICATE_VERIFY_FAILED") {
        self.init(.certificate, Self.text(of: certificate, name, now))
      } else if reason == "WRONG_VERSION_NUMBER" || reason == "HTTP_REQUEST" {
        self.init(.negotiation, "the peer does not speak TLS on this port")
      } else {
        self.init(.negotiation, "the TLS \(isInHandshake ? "handshake" : "connection") failed: \(reason)")
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
      // The names come from the peer, and go to the log.
      let text = names.prefix(8).joined(separator: ", ").utf8.prefix(512).map {
        (0x20...0x7E).contains($0) ? $0 : 0x3F
      }
      return ", but for " + String(decoding: text, as: UTF8.self)
    }
  }
#endif

/// An outbound event of a channel with TLS: it ends without a word in TLS, so that the peer knows that bytes are missing.
package struct AbruptEnd: Sendable {
  package init() {}
}
