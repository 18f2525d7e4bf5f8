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
