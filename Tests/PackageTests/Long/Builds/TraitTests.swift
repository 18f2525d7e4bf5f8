// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import TestSupport
import Testing

/// A package that depends on this one, made and resolved by the package manager.
@Suite("Packages that depend on this one", .serialized, .timeLimit(.minutes(20)))
struct TraitTests {
  /// What is always needed.
  private static let base: Set = ["swift-http-types", "swift-http-structured-headers", "swift-system"]

  @Test("With default traits, the README's package resolves three dependencies, builds and runs")
  func defaultTraits() async throws {
    try await withTemporaryFolder { folder in
      let package = try Dependent(in: folder, traits: nil)
      print("building a package that depends on HTTPCacheURLSession; takes one to three minutes")
      let start = ContinuousClock.now
      let build = try await package.swift(["build"])
      print("built it in \(ContinuousClock.now - start)")
      try #require(build.status == 0, "\(build.output)")
      #expect(try package.resolved() == Self.base)
      // Not even a warning that libhiredis, which only the trait Redis needs, is missing.
      #expect(!build.output.contains("hiredis"), "\(build.output)")

      let run = try await package.swift(["run", "--skip-build", "Dependent"])
      #expect(run.status == 0)
      #expect(run.output.hasSuffix("not stored\n"), "\(run.output)")
    }
  }

  @Test("With the trait Proxy, SwiftNIO is resolved, and dependencies of other traits are not")
  func proxyTrait() async throws {
    try await withTemporaryFolder { folder in
      let package = try Dependent(in: folder, traits: ["Proxy"])
      let resolve = try await package.swift(["package", "resolve"])
      try #require(resolve.status == 0, "\(resolve.output)")
      let resolved = try package.resolved()
      #expect(resolved.isSuperset(of: Self.base.union(["swift-nio", "swift-nio-http2"])))
      #expect(
        resolved.isDisjoint(with: ["hdrhistogram-swift", "swift-argument-parser", "swift-nio-ssl"]))
    }
  }

  @Test("With the trait Hummingbird, Hummingbird is resolved, and dependencies of other traits are not")
  func hummingbirdTrait() async throws {
    try await withTemporaryFolder { folder in
      let package = try Dependent(in: folder, traits: ["Hummingbird"])
      let resolve = try await package.swift(["package", "resolve"])
      try #require(resolve.status == 0, "\(resolve.output)")
      let resolved = try package.resolved()
      #expect(resolved.isSuperset(of: Self.base.union(["hummingbird", "swift-nio", "swift-log"])))
      #expect(resolved.isDisjoint(with: ["hdrhistogram-swift", "swift-argument-parser"]))
    }
  }

  @Test("With the trait Redis, SwiftNIO and its TLS are resolved, and dependencies of other traits are not")
  func redisTrait() async throws {
    try await withTemporaryFolder { folder in
      let package = try Dependent(in: folder, traits: ["Redis"])
      let resolve = try await package.swift(["package", "resolve"])
      try #require(resolve.status == 0, "\(resolve.output)")
      let resolved = try package.resolved()
      #expect(resolved.isSuperset(of: Self.base.union(["swift-nio", "swift-nio-ssl"])))
      #expect(
        resolved.isDisjoint(with: [
          "async-http-client", "hdrhistogram-swift", "hummingbird", "swift-argument-parser",
          "swift-log", "swift-nio-http2",
        ]))
    }
  }
}

/// The package: a program of the README's lines.
private struct Dependent {
  let folder: URL

  init(in folder: URL, traits: [String]?) throws {
    self.folder = folder
    let quoted = traits.map { ", traits: [\($0.map { "\"\($0)\"" }.joined(separator: ", "))]" } ?? ""
    let manifest = """
      // swift-tools-version: 6.2
      import PackageDescription

      let package = Package(
        name: "Dependent",
        platforms: [.macOS(.v15)],
        dependencies: [.package(name: "HTTPCacheEngine", path: "\(Repository.root.path)"\(quoted))],
        targets: [
          .executableTarget(
            name: "Dependent",
            dependencies: [.product(name: "HTTPCacheURLSession", package: "HTTPCacheEngine")])
        ]
      )
      """
    // Asks for what is stored only: a session without the cache would open a connection.
    let program = """
      import Foundation
      import HTTPCacheURLSession
      #if canImport(FoundationNetworking)
        import FoundationNetworking
      #endif

      let cache = try HTTPCache(.init(memoryCapacity: 64 << 20))
      let session = URLSession(configuration: .caching(with: cache))

      var request = URLRequest(url: URL(string: "http://127.0.0.1:1/")!)
      request.cachePolicy = .returnCacheDataDontLoad
      do {
        _ = try await session.data(for: request)
        print("stored")
      } catch let error as URLError where error.code == .resourceUnavailable {
        print("not stored")
      }
      """
    let sources = folder.appendingPathComponent("Sources/Dependent")
    try FileManager.default.createDirectory(at: sources, withIntermediateDirectories: true)
    try Data(manifest.utf8).write(to: folder.appendingPathComponent("Package.swift"))
    try Data(program.utf8).write(to: sources.appendingPathComponent("main.swift"))
  }

  /// Runs the package manager, which leaves the processor to the tests that wait for it.
  func swift(_ words: [String]) async throws -> Command.Result {
    let paths = [
      "--package-path", folder.path, "--scratch-path", folder.appendingPathComponent("build").path,
    ]
    let (command, arguments) = (words[0], words.dropFirst())
    // `swift package` and `swift run` take these before their own arguments.
    return try await Command(
      words: ["nice", "-n", "19", ProcessInfo.processInfo.environment["SWIFT"] ?? "swift", command] + paths
        + arguments,
      timeLimit: .seconds(15 * 60)
    ).run()
  }

  /// The packages that were resolved.
  func resolved() throws -> Set<String> {
    struct Resolved: Decodable {
      struct Pin: Decodable { var identity: String }
      var pins: [Pin]
    }
    let data = try Data(contentsOf: folder.appendingPathComponent("Package.resolved"))
    return Set(try JSONDecoder().decode(Resolved.self, from: data).pins.map(\.identity))
  }
}
