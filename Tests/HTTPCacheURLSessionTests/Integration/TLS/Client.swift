// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import Loopback
import TestSupport

@testable import TestTool

/// Runs `TestTool load` in a mount namespace of its own, where the file with the root certificates is another one.
struct Client {
  /// Foundation on Linux reads root certificates from this file only, whatever the environment variables say.
  private static let systemRoots = "/etc/ssl/certs/ca-certificates.crt"
  /// With the rights of root, and for users who may make a user namespace.
  private static let namespaces = [
    ["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"],
  ]

  private let roots: URL
  private let directory: URL
  private let prefix: [String]

  /// - Parameters:
  ///   - folder: the folder for the cache and for the file with root certificates.
  ///   - trusted: the root certificates.
  init(in folder: URL, trusting trusted: [Certificate]) async throws {
    roots = folder.appendingPathComponent("roots.pem")
    directory = folder.appendingPathComponent("cache")
    let text = try trusted.map { try String(contentsOf: $0.file, encoding: .utf8) }.joined()
    try text.write(to: roots, atomically: false, encoding: .utf8)
    guard let namespace = await Self.namespace.value else {
      throw OtherProcess.Failure(description: "no mount namespace")
    }
    prefix = Self.replacing(Self.systemRoots, by: roots.path, in: namespace)
  }

  /// Loads URLs in a new process, with the cache that earlier processes used.
  func load(_ loads: [Load], isReachable: Bool = true) async throws -> [LoadResult] {
    let work = Work(directory: directory.path, isReachable: isReachable, loads: loads)
    return try await OtherProcess.run(work, prefix: prefix).results
  }

  // MARK: - What the system permits

  /// Whether a process of this user may replace the file with the root certificates for itself.
  static func isPermitted() async -> Bool { await namespace.value != nil }

  private static let namespace = Task { await findNamespace() }

  private static func findNamespace() async -> [String]? {
    let file = temporaryURL()
    defer { try? FileManager.default.removeItem(at: file) }
    guard (try? Data("roots".utf8).write(to: file)) != nil else { return nil }
    for namespace in namespaces {
      let words = replacing(systemRoots, by: file.path, in: namespace) + ["cat", systemRoots]
      if let end = try? await Command(words: words).run(), end.status == 0, end.output == "roots" {
        return namespace
      }
    }
    return nil
  }

  /// The beginning of a command that runs in a namespace where a file is replaced by another.
  private static func replacing(_ old: String, by new: String, in namespace: [String]) -> [String] {
    namespace + ["sh", "-c", #"mount --bind "$1" "$2" && shift 2 && exec "$@""#, "sh", new, old]
  }
}
