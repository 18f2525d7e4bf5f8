// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import ChildProcesses
import Foundation
import HTTPTypes
import Loopback

/// Proxies that run at the same time in front of one origin.
struct Fleet: Sendable {
  /// The host of all requests: the proxies share what they store for it.
  static let host = "fleet.example"

  let ports: [Int]

  /// Starts proxies, runs a body when each of them serves its own content, and stops them.
  ///
  /// - Parameters:
  ///   - server: the program and its options.
  ///   - count: the number of proxies.
  static func with<Result>(
    _ server: ProxyServer, count: Int, originPort: Int, threads: Int, usesDisk: Bool = false,
    _ body: (Fleet) throws -> Result
  ) throws -> Result {
    try TemporaryDirectory.with { directory in
      var processes: [ChildProcess] = []
      defer { for process in processes { process.blockingStop() } }
      var ports: [Int] = []
      for number in 0..<count {
        var setup = ProxyServer.Setup(
          port: try LoopbackClient.freePort(), originPort: originPort, threads: threads, connections: 0,
          directory: directory + "/\(number)")
        setup.usesDisk = usesDisk
        try FileManager.default.createDirectory(atPath: setup.directory, withIntermediateDirectories: false)
        processes.append(try server.start(setup))
        ports.append(setup.port)
      }
      let fleet = Fleet(ports: ports)
      for port in ports { try fleet.awaitStored(FleetContent.readyPath, on: port) }
      let result = try body(fleet)
      for process in processes where !process.isRunning {
        throw BenchError.unprepared("\(server.name) ended early: \(process.lastWords)")
      }
      return result
    }
  }

  /// Requests a path until a proxy serves it from its own store. Before a proxy is in step with its tier, it validates
  /// what it has stored.
  func awaitStored(_ path: String, on port: Int) throws {
    let client = try LoopbackClient(port: port)
    func isStored() throws -> Bool {
      _ = try client.get(path, host: Self.host)
      return try Self.isStored(path, client)
    }
    let isReady = poll(for: 60) { (try? isStored()) ?? true }
    // Throws the error of the last attempt, if there was one.
    guard try isReady && isStored() else {
      throw BenchError.unprepared("127.0.0.1:\(port): the proxy does not store \(path)")
    }
  }

  /// Whether a proxy serves a path from its own store. The proxy asks neither the tier nor the origin.
  static func isStored(_ path: String, _ client: LoopbackClient) throws -> Bool {
    let response = try client.get(path, host: host, fields: ["Cache-Control: only-if-cached"])
    guard response.status == 200 || response.status == 504 else {
      throw BenchError.unexpected(what: "only-if-cached \(path)", found: "status \(response.status)")
    }
    return response.status == 200
  }
}

/// What the origin of a fleet answers: size, validator and delay depend on the number at the end of the path.
struct FleetContent {
  static let readyPath = "/ready"

  let bodyBytes: Int
  let fields: HTTPFields
  /// The origin's time for a response, as a share of the maximum.
  let delay: Double

  /// From 128 bytes to 64 KiB. Content of one URL in a hundred is so large that the tier stores it in pieces.
  init(path: String) {
    var fields: HTTPFields = [.cacheControl: "max-age=3600", .contentType: "text/plain"]
    guard let number = path.split(separator: "/").last.flatMap({ UInt64($0) }) else {
      (bodyBytes, self.fields, delay) = (1024, fields, 0)
      return
    }
    var generator = SplitMix64(seed: number)
    // Small sizes are frequent, as on the web.
    let size = Int(128 * pow(512, generator.nextUnit()))
    bodyBytes = generator.nextUnit() < 0.01 ? 512 << 10 : size
    switch generator.next() % 4 {
    case 0: fields[.eTag] = "\"\(number)\""
    case 1: fields[.eTag] = "W/\"\(number)\""
    case 2: fields[.lastModified] = "Wed, 01 Jan 2025 00:00:00 GMT"
    default: break
    }
    self.fields = fields
    delay = generator.nextUnit()
  }

  static func origin(delay: Duration) async throws -> LoopbackOrigin {
    try await LoopbackOrigin.start { request in
      let content = FleetContent(path: request.target)
      if content.delay > 0 { try? await Task.sleep(for: delay * content.delay) }
      return .init(
        fields: content.fields, bytes: [UInt8](repeating: UInt8(ascii: "x"), count: content.bodyBytes))
    }
  }
}

/// The labels of what is measured in a fleet.
enum FleetLabel {
  static let privateCaches = "private caches"
  static let sharedTier = "shared tier"
  static let idle = "idle"
  static let underLoad = "under load"
}
