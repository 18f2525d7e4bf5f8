// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser

/// The soak test: real traffic through the proxy and through `URLSession`, and a look at what grows.
@main
struct Soak: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "Soak",
    abstract: "Sends requests of all kinds through the caches and fails if memory or live objects grow.",
    discussion: """
      Four processes run a cache: the proxy and a URLSession, each in memory only and with a disk. An origin process \
      answers, and sometimes does not. Every response is checked. Each line of the table shows one process.

      Exit status: 0 if the run passed, 1 if an answer was wrong or something grew.
      """,
    subcommands: [Run.self, OriginRole.self, ProxyRole.self, SessionRole.self], defaultSubcommand: Run.self)

  struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Runs the soak test.", shouldDisplay: false)
    @Option(help: "Seconds that the clients run.") var seconds: Double = 600
    @Option(help: "The seed of the requests (default: a random one, which is printed).") var seed: UInt64?
    @Option(help: "Clients of each proxy; each URLSession has half as many.") var clients = 64
    @Option(help: "Milliseconds to wait for a silent origin.") var silence: Int64 = 3000
    @Option(help: "The memory capacity of each cache in MiB.") var memory = 32
    @Option(
      help:
        "A door to test, by its number: \(Door.names.enumerated().map { "\($0.offset) \($0.element)" }.joined(separator: ", ")). Repeat it for several (default: all)."
    )
    var door: [Int] = []

    func validate() throws {
      guard seconds > 0, clients > 0, silence > 0, memory > 0 else {
        throw ValidationError("--seconds, --clients, --silence and --memory must be greater than 0")
      }
      guard door.allSatisfy(Door.names.indices.contains) else {
        throw ValidationError("--door must be a number from 0 to \(Door.names.count - 1)")
      }
    }

    func run() async throws {
      let plan = Plan(
        seconds: seconds, seed: seed ?? UInt64.random(in: 0..<1 << 32), clients: clients, silence: silence,
        memory: memory, doors: door.isEmpty ? Array(Door.names.indices) : door)
      put("seed \(plan.seed), \(Int(seconds)) seconds, \(Cell.count) cells in the matrix")
      let problems = try await Driver(plan: plan).run()
      put(problems.isEmpty ? "passed" : "failed: " + problems.joined(separator: "; "))
      if !problems.isEmpty { throw ExitCode.failure }
    }
  }
}
