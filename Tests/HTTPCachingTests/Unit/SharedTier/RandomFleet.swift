// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheEngine
import HTTPTypes
import SystemPackage
import TestSupport

@testable import HTTPCaching

/// Does at random what may happen to three nodes with a shared tier, and compares each answer with what it may be.
///
/// The origin numbers the versions of each path. A change at the origin is followed by a removal at some node. Once that is
/// confirmed to have reached all nodes, no node in step may answer with an older version without validation.
struct RandomFleet {
  private static let paths = ["/a/1", "/a/2", "/b/1"]

  private static let lease = Duration.milliseconds(2)

  private static let languages = ["de", "fr", "en"]

  private struct Held {
    var gate: Gate
    var task: Task<Void, Never>
  }

  private struct Awaited {
    var node: Int
    var path: String
    var version: Int
  }

  private var random: SplitMix64
  private var fleet: SharedFleet
  /// The origin of each path, whose responses have one shape.
  private let origins: [String: MemoryOrigin]
  private let isBroken: Bool
  /// The lowest version of each path that may be served without validation.
  private var confirmed: [String: Int] = [:]
  private var awaited: [Awaited] = []
  private var held: [Held] = []
  private let directories: [FilePath?]
  private var story: [String] = []
  /// Answers that were checked because they came without validation.
  private(set) var checked = 0
  /// Removals that were confirmed.
  private(set) var confirmations = 0

  /// - Parameters:
  ///   - directory: a directory for the nodes with a disk, which are drawn; `nil` for no such nodes.
  ///   - isBroken: whether the nodes do not follow the log.
  init(seed: UInt64, in directory: FilePath? = nil, isBroken: Bool = false) async throws {
    random = SplitMix64(seed: seed)
    var origins: [String: MemoryOrigin] = [:]
    for path in Self.paths { origins[path] = MemoryOrigin(ResponseShape(drawnBy: &random)) }
    self.origins = origins
    self.isBroken = isBroken
    fleet = try await SharedFleet(0)
    var directories: [FilePath?] = []
    for node in 0..<3 {
      directories.append(Bool.random(using: &random) ? directory?.appending("\(node)") : nil)
    }
    self.directories = directories
    for node in 0..<3 {
      fleet.nodes.append(try makeNode(node))
      repair(node)
    }
    await fleet.step()
  }

  private func makeNode(_ node: Int) throws -> SharedFleet.Node {
    try fleet.makeNode(directory: directories[node]) { $0.sharedTier?.lease = Self.lease }
  }

  /// What was done at last, for the message of a failure.
  var report: String {
    let setting =
      Self.paths.map { "\($0): \(origin($0).shape)" }
      + directories.enumerated().map { "node \($0): \($1 == nil ? "memory" : "disk")" }
    return (setting + story.suffix(60)).joined(separator: "\n")
  }

  /// Closes the caches, so that nothing uses their directories.
  func close() { for node in fleet.nodes { node.cache.close() } }

  private func origin(_ path: String) -> MemoryOrigin { origins[path] ?? MemoryOrigin(ResponseShape()) }

  private func repair(_ node: Int) { fleet.nodes[node].tier.fault = isBroken ? .emptyingRecords : .none }

  private mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }

  /// Takes steps.
  ///
  /// - Returns: what an answer violated; `nil` if nothing did.
  mutating func run(_ steps: Int) async throws -> String? {
    for _ in 0..<steps {
      if let violation = try await step() { return violation }
    }
    for held in held {
      held.gate.open()
      await held.task.value
    }
    return nil
  }

  private mutating func step() async throws -> String? {
    let node = below(3)
    let path = Self.paths[below(3)]
    switch below(1000) {
    case ..<400: return try await read(path, node)
    case ..<470: remove(path, node)
    case ..<600: try await takeStep(node)
    case ..<800: await fleet.nodes[node].step()
    case ..<880: await confirm()
    case ..<915: fleet.clock.advance(seconds: Int64(below(3)))
    case ..<930: fault(node)
    case ..<960:
      repair(node)
      story.append("repair \(node)")
    case ..<975: hold(path, node)
    case ..<990: await release()
    case ..<995: try restart(node)
    default: loseSomething()
    }
    return nil
  }

  private mutating func read(_ path: String, _ node: Int) async throws -> String? {
    let isInStep = fleet.nodes[node].link.isInStep(at: fleet.clock.now)
    let fields: HTTPFields = [.acceptLanguage: Self.languages[below(3)]]
    let (asked, origin) = (fleet.nodes[node], origin(path))
    // The node may wait for a lease that a failing node has left.
    let answer = try await fleet.clock.endingSleeps(upTo: Self.lease) {
      try await asked.get(path, from: origin, fields: fields)
    }
    let (response, text) = (answer.response, answer.text)
    story.append(
      "read \(path) at \(node): \(text) \(response.source) \(isInStep ? "in step" : "out of step")")
    guard let version = Int(text) else { return text }
    guard response.source == .hit || response.source == .stale else { return nil }
    if !isInStep { return "a node out of step answered without validation" }
    checked += 1
    let least = confirmed[path] ?? 1
    return version < least ? "version \(version) of \(path), after \(least) was confirmed" : nil
  }

  private mutating func remove(_ path: String, _ node: Int) {
    origin(path).change()
    let cache = fleet.nodes[node].cache
    let target = TargetURI(scheme: "https", authority: "example.test", path: path)
    let way = below(7)
    switch way {
    case 0: cache.remove(.patterns([.prefix("https://example.test" + path)]))
    case 1: cache.remove(.origin(of: target))
    case 2: cache.expire(.target(of: .get(path)))
    case 3: cache.remove(.all)
    case 4 where origin(path).shape.hasGroup: cache.remove(.group("g", of: target), counting: true)
    default: cache.remove(.target(of: .get(path)))
    }
    story.append("remove \(path) at \(node), way \(way): \(origin(path).contents.count)")
    awaited.append(Awaited(node: node, path: path, version: origin(path).contents.count))
  }

  private mutating func confirm() async {
    for node in 0..<3 where awaited.contains(where: { $0.node == node }) {
      guard await fleet.nodes[node].cache.confirmRemovals(within: .zero) == .everywhere else { continue }
      for done in awaited where done.node == node {
        confirmed[done.path] = max(confirmed[done.path] ?? 1, done.version)
      }
      confirmations += 1
      awaited.removeAll { $0.node == node }
      story.append("confirmed at \(node)")
    }
  }

  private mutating func takeStep(_ node: Int) async throws {
    let link = fleet.nodes[node].link
    let kind = below(4)
    story.append("step \(kind) at \(node)")
    switch kind {
    case 0: await link.deliverRemovals()
    case 1: await link.heartbeat()
    case 2: await link.follow(waiting: .zero)
    default: await link.drainWrites()
    }
  }

  private mutating func fault(_ node: Int) {
    let faults: [InMemorySharedTier.Fault] = [.failing, .losingAnswers]
    let fault = faults[below(2)]
    fleet.nodes[node].tier.fault = fault
    story.append("\(fault) at \(node)")
  }

  private mutating func hold(_ path: String, _ node: Int) {
    guard held.count < 3 else { return }
    let gate = Gate()
    let (cache, transport) = (fleet.nodes[node].cache, origin(path).transport)
    story.append("hold \(path) at \(node)")
    held.append(
      Held(
        gate: gate,
        task: Task {
          let response = try? await cache.respond(
            to: .get(path), policy: .reloadIgnoringLocalCacheData
          ) { request, body in
            // After the version is decided.
            let response = try await transport(request, body)
            await gate.wait()
            return response
          }
          _ = try? await response?.body.collect(upTo: .max)
        }))
  }

  private mutating func release() async {
    guard !held.isEmpty else { return }
    let one = held.removeFirst()
    await one.gate.arrived(1)
    one.gate.open()
    await one.task.value
    story.append("release")
  }

  /// Ends a node as SIGKILL does, and begins another in its place.
  private mutating func restart(_ node: Int) throws {
    story.append("restart \(node)")
    // What the node had not told anyone is lost with it.
    awaited.removeAll { $0.node == node }
    fleet.nodes[node].tier.fault = .failing
    // The next one opens the same directory.
    fleet.nodes[node].cache.close()
    fleet.nodes[node] = try makeNode(node)
    repair(node)
  }

  private mutating func loseSomething() {
    switch below(3) {
    case 0:
      fleet.server.loseEverything()
      story.append("lose everything")
    case 1:
      fleet.server.trimLog(1 + below(4))
      story.append("trim")
    default:
      fleet.server.loseEntries()
      story.append("lose entries")
    }
  }
}
