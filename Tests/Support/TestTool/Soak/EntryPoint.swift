// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// One of the processes whose memory is looked at, as the driver sees it.
final class EntryPoint {
  /// A way into the cache; each has a entry point with a cache in memory, and one with a disk.
  enum Kind: String, CaseIterable {
    case proxy, session, client, routes

    /// Whether the clients run in the entry point's process: they get each content whole.
    var runsClients: Bool { self == .session || self == .client }
    /// Whether it has the shared tier, if there is one: a URLSession's cache is private.
    var sharesTier: Bool { self != .session }
  }

  let name: String
  let kind: Kind
  let child: Child
  let draws: Draws
  let tally = Tally()
  let sizes: EntryPointSizes
  private(set) var samples: [Sample] = []
  private var clients: [Task<Void, Never>] = []
  private let port: Int

  static let names = Kind.allCases.flatMap { ["\($0) memory", "\($0) disk"] }

  /// Whether an entry point has an origin of HTTP/2: one proxy of two has.
  static func usesHTTP2(_ number: Int) -> Bool { names[number] == "\(Kind.proxy) disk" }

  /// - Parameters:
  ///   - number: the position in ``names``.
  ///   - origin: the port of the origin.
  init(_ number: Int, origin: Int, directory: String, tier: String?, plan: Plan) async throws {
    kind = Kind.allCases[number / 2]
    name = Self.names[number]
    // Both processes of a kind make the same requests if the tier lets one have what the other has.
    let sequence = kind.sharesTier && tier != nil ? number / 2 * 2 : number
    draws = Draws(seed: plan.seed, entryPoint: sequence)
    let usesHTTP2 = Self.usesHTTP2(number)
    let clients = kind.runsClients ? Swift.max(1, plan.clients / 2) : plan.clients
    var arguments = [
      kind.rawValue, "--origin", "\(origin)", "--silence", "\(plan.silence)",
      "--memory", "\(plan.memory)",
    ]
    if usesHTTP2 { arguments.append("--origin-http2") }
    if kind == .proxy, plan.isVerbose { arguments.append("--verbose") }
    if number % 2 == 1 { arguments += ["--directory", "\(directory)/\(number)"] }
    if kind.sharesTier, let tier { arguments += ["--shared", tier] }
    if kind.runsClients {
      arguments += ["--clients", "\(clients)", "--seed", "\(plan.seed)", "--entry-point", "\(sequence)"]
    }
    child = try Child(name, arguments)
    port = try await child.port()
    let base = [Column: Int].outside(child.id)[.fds]
    sizes = EntryPointSizes(
      memory: plan.memory << 20, clients: clients, kind: kind, baseDescriptors: base,
      hasTier: kind.sharesTier && tier != nil, usesHTTP2: usesHTTP2,
      // Alone, it finds only what it has stored there and evicted.
      findsInTier: plan.entryPoints.contains(number ^ 1))
  }

  func start(_ plan: Plan) {
    if kind.runsClients { return child.tell("start") }
    clients = (0..<sizes.clients).map { number in
      let client = ProxyClient(
        port: port, draws: draws, tally: tally, keepsAlive: number % 2 == 0,
        usesHTTP2: kind == .proxy && number % 4 > 1,
        patience: .milliseconds(plan.silence * 4 + 30_000))
      return Task { await client.run() }
    }
  }

  /// Lets the clients make no more requests.
  func stop() {
    tally.stop()
    if kind.runsClients { child.tell("stop") }
  }

  /// Waits until each client has the answer to its last request.
  func finish() async throws {
    for client in clients { await client.value }
    if kind.runsClients { while try await child.line() != "stopped" {} }
  }

  func sample(at time: Double) async throws -> Sample {
    child.tell("report")
    var line = try await child.line()
    while line.hasPrefix("failure ") {
      tally.add(String(line.dropFirst(8)))
      line = try await child.line()
    }
    var values = [Column: Int](line: line).merging(.outside(child.id)) { first, _ in first }
    if !kind.runsClients { (values[.requests], values[.cells]) = (tally.requests, draws.drawnCount) }
    samples.append(Sample(time: time, values: values))
    return samples[samples.count - 1]
  }
}
