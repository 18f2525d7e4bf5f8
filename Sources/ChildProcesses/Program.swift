// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Finds programs.
package enum Program {
  /// Returns the path of a program of the system: from PATH, and from the folders of servers, which PATH may lack.
  package static func installed(_ name: String) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    let others = ["/usr/bin", "/usr/sbin", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/bin"]
    return (folders + others).lazy.map { $0 + "/" + name }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// Returns the path of a program of this package, which is built beside the running one.
  package static func built(_ name: String) -> String? {
    let own =
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")).map { [$0] } ?? []
    #if canImport(Darwin)
      let bundles = Bundle.allBundles.map(\.bundlePath).filter { $0.hasSuffix(".xctest") }
    #else
      // The tests are a program of their own.
      let bundles: [String] = []
    #endif
    return (own + CommandLine.arguments.prefix(1) + bundles).lazy
      .map { URL(fileURLWithPath: $0).deletingLastPathComponent().appendingPathComponent(name).path }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }
}
