// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import CacheMutex
import Foundation
import HTTPCacheRedis
import HTTPTypes
import Loopback
import TestSupport

/// Starts everything, causes faults, and checks the answers.
struct DriverRole: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "drive", shouldDisplay: false)

  @Option(help: "Number of faults.") var rounds = 200
  @Option(help: "Seed of the faults.") var seed = UInt64.random(in: 0...999_999)
  @Flag(help: "Let the proxies ignore what others remove; then the driver must find a violation.") var deaf =
    false

  func run() async throws {
    guard RedisServer.isInstalled else { throw ValidationError(RedisServer.howToInstall) }
    print("seed \(seed), \(rounds) rounds\(deaf ? ", deaf" : "")")
    let tally = DriverTally()
    try await withTemporaryFolder { folder in
      try await RedisServer.with(["appendonly yes", "appendfsync everysec"]) { server in
        guard case .tcp(host: _, port: let redisPort) = server.address else {
          throw DriverFailure("Redis has no port")
        }
        let site = DriverSite()
        let origin = try await LoopbackOrigin.start { site.answer($0) }
        var nodes: [Node] = []
        for number in 0..<3 {
          nodes.append(
            Node(
              line: try await FaultLine(to: redisPort), origin: origin.port,
              // One of them has a disk, which a restart finds again.
              directory: number == 0 ? folder.appendingPathComponent("cache").path : nil, isDeaf: deaf))
        }
        for node in nodes { try await node.start() }
        let load = DriverLoad(nodes, site, tally)
        let traffic = Task { await load.run() }
        do {
          var faults = DriverFaults(nodes, server, tally, seed: seed)
          for round in 1...rounds where tally.violations.isEmpty {
            try await faults.cause()
            if round % 20 == 0 { print("round \(round): \(tally)") }
          }
        } catch {
          tally.violate("the driver failed: \(error)")
        }
        tally.stop()
        await traffic.value
        for node in nodes { await node.kill() }
        await origin.stop()
      }
    }
    print(tally)
    for violation in tally.violations { print("violation: \(violation)") }
    if tally.violations.isEmpty == deaf { throw ExitCode.failure }
  }
}

/// The origin: its paths have versions.
final class DriverSite: Sendable {
  static let paths = (0..<6).map { "/\($0)" }
  private let state = Mutex((current: [String: Int](), confirmed: [String: Int]()))

  func answer(_ request: LoopbackOrigin.Request) -> LoopbackOrigin.Response {
    let version = state.withLock { $0.current[request.target] ?? 1 }
    let tag = "\"\(version)\""
    let fields: HTTPFields = [.cacheControl: "max-age=3600", .eTag: tag]
    if request.fields[.ifNoneMatch] == tag {
      return LoopbackOrigin.Response(status: 304, fields: fields, body: "")
    }
    return LoopbackOrigin.Response(status: 200, fields: fields, body: "\(version)")
  }

  /// - Returns: the new version.
  func change(_ path: String) -> Int {
    state.withLock { state in
      state.current[path, default: 1] += 1
      return state.current[path] ?? 1
    }
  }

  func confirm(_ path: String, _ version: Int) {
    state.withLock { $0.confirmed[path] = max(version, $0.confirmed[path] ?? 1) }
  }

  func confirmed(_ path: String) -> Int { state.withLock { $0.confirmed[path] ?? 1 } }
}

/// What happened so far.
final class DriverTally: Sendable, CustomStringConvertible {
  private struct State {
    var counts: [String: Int] = [:]
    var violations: [String] = []
    var isStopped = false
  }

  private let state = Mutex(State())

  func count(_ name: String) { state.withLock { $0.counts[name, default: 0] += 1 } }
  func violate(_ text: String) { state.withLock { $0.violations.append(text) } }
  func stop() { state.withLock { $0.isStopped = true } }
  var isStopped: Bool { state.withLock { $0.isStopped } }
  var violations: [String] { state.withLock { $0.violations } }
  var description: String {
    state.withLock { state in
      state.counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }
  }
}

/// The requests of clients, and the removals.
struct DriverLoad: Sendable {
  private let nodes: [Node]
  private let site: DriverSite
  private let tally: DriverTally

  init(_ nodes: [Node], _ site: DriverSite, _ tally: DriverTally) {
    (self.nodes, self.site, self.tally) = (nodes, site, tally)
  }

  func run() async {
    await withTaskGroup(of: Void.self) { group in
      for node in nodes {
        for _ in 0..<2 { group.addTask { while !tally.isStopped { await read(node) } } }
      }
      for _ in 0..<2 { group.addTask { while !tally.isStopped { await remove() } } }
    }
  }

  private func read(_ node: Node) async {
    guard let port = node.ports?.clients, let path = DriverSite.paths.randomElement() else {
      try? await Task.sleep(for: .milliseconds(20))
      return
    }
    let mayFail = node.mayFail
    let least = site.confirmed(path)
    do {
      let answer = try await Client.send("GET", path, port: port)
      tally.count(answer.isUnvalidated ? "read without validation" : "read with the origin")
      guard answer.status == 200, let version = Int(answer.body) else {
        return tally.violate("status \(answer.status) for \(path): '\(answer.body)' \(answer.fields)")
      }
      if answer.isUnvalidated, version < least {
        tally.violate(
          "version \(version) of \(path) without validation, after \(least) was removed everywhere")
      }
    } catch {
      if !mayFail, !node.mayFail { tally.violate("a request failed: \(error)") }
      try? await Task.sleep(for: .milliseconds(20))
    }
    try? await Task.sleep(for: .milliseconds(2))
  }

  private func remove() async {
    guard let node = nodes.randomElement(), let port = node.ports?.admin,
      let path = DriverSite.paths.randomElement()
    else { return }
    let version = site.change(path)
    let url = "http://fleet.test\(path)"
    let way = ["url=\(url)", "url=\(url)&soft", "prefix=\(url)", "all"].randomElement() ?? "all"
    do {
      let answer = try await Client.send(
        "POST", "/purge?\(way)", host: "localhost", accept: "application/json", port: port)
      guard answer.status == 200 else {
        return tally.violate("status \(answer.status) for a removal: \(answer.body)")
      }
      if answer.body.contains("\"everywhere\"") {
        site.confirm(path, version)
        tally.count("removal everywhere")
      } else {
        tally.count("removal not confirmed")
      }
    } catch {
      tally.count("removal failed")
    }
    try? await Task.sleep(for: .milliseconds(20))
  }
}

/// The faults.
struct DriverFaults {
  private enum Fault: String, CaseIterable {
    case killNode, stopNode, cutNode, holdNode, delayNode, killRedis, loseRedis, stopRedis
  }

  private let nodes: [Node]
  private let server: RedisServer
  private let tally: DriverTally
  private var random: SplitMix64

  init(_ nodes: [Node], _ server: RedisServer, _ tally: DriverTally, seed: UInt64) {
    (self.nodes, self.server, self.tally) = (nodes, server, tally)
    random = SplitMix64(seed: seed)
  }

  /// Causes a fault, waits for a while, and ends it.
  mutating func cause() async throws {
    let fault = Fault.allCases[Int.random(in: 0..<Fault.allCases.count, using: &random)]
    let node = nodes[Int.random(in: 0..<3, using: &random)]
    // Shorter and longer than a node trusts itself.
    let time = Duration.milliseconds(Int.random(in: 100...3500, using: &random))
    tally.count(fault.rawValue)
    switch fault {
    case .killNode:
      node.mayFail = true
      await node.kill()
      try await Task.sleep(for: time / 4)
      try await node.start()
      node.mayFail = false
    case .stopNode:
      node.mayFail = true
      node.stop()
      try await Task.sleep(for: time)
      node.resume()
      try await Task.sleep(for: .milliseconds(50))
      node.mayFail = false
    case .cutNode: try await set(node, .cut, for: time)
    case .holdNode: try await set(node, .held, for: time)
    case .delayNode: try await set(node, .delayed(milliseconds: 50), for: time)
    case .killRedis:
      await server.kill()
      try await Task.sleep(for: time / 4)
      try await server.start()
    case .loseRedis:
      await server.kill()
      try server.removeData()
      try await Task.sleep(for: time / 4)
      try await server.start()
    case .stopRedis:
      server.stop()
      try await Task.sleep(for: time)
      server.resume()
    }
    // Some time in which everything is as it should be.
    try await Task.sleep(for: .milliseconds(Int.random(in: 200...1500, using: &random)))
  }

  private func set(_ node: Node, _ mode: FaultLine.Mode, for time: Duration) async throws {
    node.line.mode = mode
    try await Task.sleep(for: time)
    node.line.mode = .open
  }
}
