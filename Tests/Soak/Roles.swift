// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import HTTPCacheEngine
import HTTPCacheProxy
import HTTPCacheURLSession
import HTTPCaching
import Logging
import LoopbackOrigin

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Options of every child process.
struct RoleOptions: ParsableArguments {
  @Option(
    help:
      "Origin read timeout in milliseconds; a silent origin closes its connection a second later (default: 3000)."
  )
  var silence: Int64 = 3000
}

struct OriginRole: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "origin", shouldDisplay: false)
  @OptionGroup var options: RoleOptions

  func run() async throws {
    let server = try await Origin(silence: .milliseconds(options.silence + 1000)).start()
    put("port=\(server.port)")
    for await _ in commands() {}
    await server.stop()
  }
}

/// Options of both kinds of doors.
struct DoorOptions: ParsableArguments {
  @OptionGroup var role: RoleOptions
  @Option(help: "Port of the origin.") var origin: Int
  @Option(help: "Directory of the disk store (default: none, memory only).") var directory: String?
  @Option(help: "Memory capacity of the cache in MiB.") var memory: Int

  /// Removes the directory, also where the driver was killed, and the one around it with the last.
  func removeDirectory() {
    guard let directory else { return }
    try? FileManager.default.removeItem(atPath: directory)
    rmdir(URL(fileURLWithPath: directory).deletingLastPathComponent().path)
  }

  func cache(_ kind: CacheEngine.Configuration.Kind) throws -> HTTPCache {
    Allocator.keepCompact()
    var configuration = HTTPCache.Configuration(
      kind: kind, memoryCapacity: memory << 20, diskCapacity: DoorSizes.disk,
      directory: directory.map { FilePath($0) })
    configuration.transitCapacity = DoorSizes.transit
    return try HTTPCache(configuration)
  }
}

struct ProxyRole: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "proxy", shouldDisplay: false)
  @OptionGroup var options: DoorOptions

  func run() async throws {
    var configuration = ProxyConfiguration(
      listen: ProxyConfiguration.Address(host: "127.0.0.1", port: 0),
      origin: ProxyConfiguration.Address(host: "127.0.0.1", port: options.origin))
    configuration.timeouts.response = .milliseconds(options.role.silence)
    configuration.limits.idleOriginConnections = DoorSizes.idleOriginConnections
    let cache = try options.cache(.shared)
    let proxy = CachingProxy(
      configuration, cache: cache, logger: Logger(label: "soak") { _ in SwiftLogNoOpLogHandler() })
    let running = Task { try await proxy.run() }
    put("port=\(await proxy.addresses()?.first?.port ?? 0)")
    for await command in commands() where command == "report" { put([Column: Int].inside(cache).line) }
    running.cancel()
    try await running.value
    cache.close()
    options.removeDirectory()
  }
}

struct SessionRole: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "session", shouldDisplay: false)
  @OptionGroup var options: DoorOptions
  @Option(help: "Number of clients.") var clients: Int
  @Option(help: "Seed of the requests.") var seed: UInt64
  @Option(help: "Number of this entry point.") var door: Int

  func run() async throws {
    let cache = try options.cache(.private)
    let base = URLSessionConfiguration.ephemeral
    // Longer than a silent origin takes to close, so that a slow one on a busy machine does not look silent.
    base.timeoutIntervalForRequest = Double(options.role.silence) / 1000 * 2 + 2
    base.httpMaximumConnectionsPerHost = clients
    let tally = Tally()
    let draws = Draws(seed: seed, door: door)
    let client = SessionClient(
      session: URLSession(configuration: .caching(with: cache, base: base)), origin: options.origin,
      draws: draws, tally: tally, large: LargeCount())
    put("port=0")
    var running: [Task<Void, Never>] = []
    for await command in commands() {
      switch command {
      case "start": running = (0..<clients).map { _ in Task { await client.run() } }
      case "stop":
        tally.stop()
        for task in running { await task.value }
        put("stopped")
      default:
        var values = [Column: Int].inside(cache)
        (values[.requests], values[.cells]) = (tally.requests, draws.drawnCount)
        for failure in tally.takeFailures() { put("failure " + failure.replacing("\n", with: " ")) }
        put(values.line)
      }
    }
    cache.close()
    options.removeDirectory()
  }
}

/// One line on standard output, at once.
func put(_ line: String) {
  try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
}

/// The lines on standard input. They end with the driver, and a child ends with them.
private func commands() -> AsyncStream<String> {
  AsyncStream { continuation in
    Thread.detachNewThread {
      while let line = readLine() { continuation.yield(line) }
      continuation.finish()
    }
  }
}
