// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if TLS || Redis
  import NIOSSL

  /// Reads the files of certificates and keys.
  enum PEM {
    static func certificates(
      _ file: String, _ part: TLSFault.Part
    ) throws(TLSFault) -> [NIOSSLCertificate] {
      let found: [NIOSSLCertificate]
      do {
        found = try NIOSSLCertificate.fromPEMFile(file)
      } catch {
        throw TLSFault(part, "cannot read certificates in PEM from \(file)")
      }
      if found.isEmpty { throw TLSFault(part, "no certificate in \(file)") }
      return found
    }

    static func key(_ file: String) throws(TLSFault) -> NIOSSLPrivateKey {
      do {
        return try NIOSSLPrivateKey(file: file, format: .pem)
      } catch {
        throw TLSFault(.key, "cannot read a private key in PEM, without a passphrase, from \(file)")
      }
    }
  }
#endif
