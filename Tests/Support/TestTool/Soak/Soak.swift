// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser

/// The soak test: real traffic through the proxy and the adapters, and a look at what grows.
struct Soak: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "soak",
    abstract: "Send requests of all kinds through the caches, and fail if memory or live objects grow.",
    discussion: """
      Eight processes run a cache: the proxy, a URLSession, AsyncHTTPClient, and the routes of a Hummingbird server, each in \
      memory only and with a disk. An origin process answers, and sometimes does not. Every response is checked. Each line of \
      the table shows one process.

      Exit status: 0 if the run passed, 1 if an answer was wrong or something grew.
      """,
    subcommands: [
      Run.self, OriginRole.self, ProxyRole.self, SessionRole.self, ClientRole.self, RoutesRole.self,
    ], defaultSubcommand: Run.self)

  struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Run the soak test.", shouldDisplay: false)
    @Option(help: "Duration of the run in seconds.") var seconds: Double = 600
    @Option(help: "Seed of the requests (default: random; the run prints it).") var seed: UInt64?
    @Option(
      help:
        "Number of clients of each server; each URLSession and AsyncHTTPClient has half as many (default: 64; 16 in a debug build, which is ten times slower, so that the origin answers well within its read timeout)."
    )
    var clients = Self.defaultClients
    @Option(help: "Origin read timeout in milliseconds.") var silence: Int64 = 3000
    @Option(help: "Memory capacity of each cache in MiB.") var memory = 32
    @Flag(
      help:
        "Give all but the URLSessions a shared tier on a Redis server that is killed and stopped at random. The two processes of a kind get the same requests."
    )
    var redis = false
    @Option(
      help:
        "Entry point to test, by number: \(EntryPoint.names.enumerated().map { "\($0.offset) \($0.element)" }.joined(separator: ", ")). May be repeated (default: all)."
    )
    var entryPoint: [Int] = []
    @Flag(help: "Let the proxies log to standard error, with the reason of each failure.") var verbose = false

    #if DEBUG
      private static let defaultClients = 16
    #else
      private static let defaultClients = 64
    #endif

    func validate() throws {
      guard seconds > 0, clients > 0, silence > 0, memory > 0 else {
        throw ValidationError("--seconds, --clients, --silence and --memory: expected more than 0")
      }
      guard entryPoint.allSatisfy(EntryPoint.names.indices.contains) else {
        throw ValidationError("--entry-point: expected 0 to \(EntryPoint.names.count - 1)")
      }
    }

    func run() async throws {
      let plan = Plan(
        seconds: seconds, seed: seed ?? UInt64.random(in: 0..<1 << 32), clients: clients, silence: silence,
        memory: memory, hasTier: redis,
        entryPoints: entryPoint.isEmpty ? Array(EntryPoint.names.indices) : entryPoint,
        isVerbose: verbose)
      put("seed \(plan.seed), \(Int(seconds)) seconds, \(Cell.count) cells in the matrix")
      let problems = try await Driver(plan: plan).run()
      put(problems.isEmpty ? "passed" : "failed: " + problems.joined(separator: "; "))
      if !problems.isEmpty { throw ExitCode.failure }
    }
  }
}
