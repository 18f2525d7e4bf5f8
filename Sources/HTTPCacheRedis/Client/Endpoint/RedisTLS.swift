// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOSSL

/// How connections to a server are encrypted.
package struct RedisTLS: Hashable, Sendable {
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
  /// The name in the server's certificate; `nil` for the host of the URL.
  package var serverName: String?

  package init() {}

  func makeContext() throws(RedisError) -> NIOSSLContext {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    configuration.certificateVerification =
      switch verification {
      case .full: .fullVerification
      case .issuer: .noHostnameVerification
      case .none: .none
      }
    if let issuersFile { configuration.trustRoots = .file(issuersFile) }
    do {
      switch (certificateFile, keyFile) {
      case (let certificate?, let key?):
        configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(certificate).map {
          .certificate($0)
        }
        configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: key, format: .pem))
      case (nil, nil): break
      default:
        throw RedisError(
          .invalidConfiguration, "a client certificate needs two files: the certificate and its key")
      }
      return try NIOSSLContext(configuration: configuration)
    } catch let error as RedisError {
      throw error
    } catch {
      let files = [issuersFile, certificateFile, keyFile].compactMap { $0 }.joined(separator: ", ")
      throw RedisError(
        .invalidConfiguration,
        "cannot use TLS with \(files.isEmpty ? "the system's issuers" : files): \(error)")
    }
  }
}
