// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation

/// A certificate that is its own root, and its key, in files.
package struct Certificate {
  /// What it is valid for.
  package enum Name: String, CaseIterable, Sendable {
    case loopback = "IP:127.0.0.1"
    case other = "DNS:other.example"
    case wildcard = "DNS:*.wild.example"
    case pair = "DNS:one.example,DNS:two.example"
    /// Valid in January 2020.
    case expired = "IP:127.0.0.1,DNS:expired.example"
  }

  package let file: URL
  package let key: URL

  /// Makes a certificate with the openssl command.
  package init(in folder: URL, for name: Name = .loopback) async throws {
    let id = UUID().uuidString
    file = folder.appendingPathComponent("\(id).pem")
    key = folder.appendingPathComponent("\(id).key")
    let subject = [
      "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=HTTPCacheEngine test",
      "-addext", "subjectAltName=\(name.rawValue)", "-keyout", key.path,
    ]
    if name != .expired {
      try await Self.openssl(["req", "-x509", "-days", "2", "-out", file.path] + subject)
      return
    }
    // `req` knows no dates.
    let request = folder.appendingPathComponent("\(id).csr")
    try await Self.openssl(["req", "-out", request.path] + subject)
    let issuer = folder.appendingPathComponent("\(id).cnf")
    try Data(
      """
      [ca]
      default_ca = a
      [a]
      database = \(folder.path)/\(id).db
      new_certs_dir = \(folder.path)
      rand_serial = yes
      default_md = sha256
      policy = p
      copy_extensions = copy
      [p]
      commonName = supplied

      """.utf8
    ).write(to: issuer)
    try Data().write(to: folder.appendingPathComponent("\(id).db"))
    try await Self.openssl([
      "ca", "-selfsign", "-batch", "-notext", "-config", issuer.path, "-startdate", "20200101000000Z",
      "-enddate", "20200201000000Z", "-keyfile", key.path, "-in", request.path, "-out", file.path,
    ])
  }

  private static func openssl(_ words: [String]) async throws {
    let command = try await Command(words: ["openssl"] + words).run()
    guard command.status == 0 else { throw Failure(description: command.output) }
  }

  private init(_ content: Content, in folder: URL) throws {
    let id = UUID().uuidString
    file = folder.appendingPathComponent("\(id).pem")
    key = folder.appendingPathComponent("\(id).key")
    try content.file.write(to: file)
    try content.key.write(to: key)
  }

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  // MARK: - Shared certificates

  private struct Content {
    var file: Data
    var key: Data
  }

  private static let shared = Mutex<[Name: Task<Content, any Error>]>([:])

  /// Writes the certificate that all tests of a process use for a name. It is made once, as openssl takes its time.
  package static func shared(in folder: URL, for name: Name = .loopback) async throws -> Certificate {
    let task = shared.withLock { shared in
      let task =
        shared[name]
        ?? Task {
          try await withTemporaryFolder { folder in
            let made = try await Certificate(in: folder, for: name)
            return Content(file: try Data(contentsOf: made.file), key: try Data(contentsOf: made.key))
          }
        }
      shared[name] = task
      return task
    }
    return try Certificate(try await task.value, in: folder)
  }
}

extension Certificate {
  /// Whether the openssl command is there.
  package static func canBeMade() async -> Bool {
    (try? await Command(words: ["openssl", "version"]).run().status) == 0
  }
}
