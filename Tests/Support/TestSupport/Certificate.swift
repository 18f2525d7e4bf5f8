// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// A certificate that is its own root, and its key, in files.
package struct Certificate {
  /// What it is valid for.
  package enum Name: String, CaseIterable, Sendable {
    case loopback = "IP:127.0.0.1"
    case other = "DNS:other.example"
  }

  package let file: URL
  package let key: URL

  /// Makes a certificate with the openssl command.
  package init(in folder: URL, for name: Name = .loopback) async throws {
    let id = UUID().uuidString
    file = folder.appendingPathComponent("\(id).pem")
    key = folder.appendingPathComponent("\(id).key")
    let openssl = try await Command(words: [
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
      "2",
      "-subj", "/CN=HTTPCacheEngine test", "-addext", "subjectAltName=\(name.rawValue)", "-keyout", key.path,
      "-out", file.path,
    ]).run()
    guard openssl.status == 0 else { throw Failure(description: openssl.output) }
  }

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }
}

extension Certificate {
  /// Whether the openssl command is there.
  package static func canBeMade() async -> Bool {
    (try? await Command(words: ["openssl", "version"]).run().status) == 0
  }
}
