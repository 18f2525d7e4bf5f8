// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness

#if !Benchmarks
  #error("CacheBench needs the trait Benchmarks: pass --traits Benchmarks or set it in your .package")
#endif

/// `cache-bench`: the speed of the store, the cache and the `URLSession` adapter, compared with what they replace.
@main
struct CacheBench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache-bench",
    abstract:
      "Measure the HTTP cache, and compare it with URLCache, a locked Dictionary and others in the same run.",
    discussion: """
      Compare the ratios of one run: absolute figures differ between machines and between runs. Without a subcommand, \
      'quick' runs. 'cache-bench-servers' measures what needs servers, and checks targets. Exit status 74: the results \
      cannot be written to standard output.
      """,
    subcommands: [
      Quick.self, Throughput.self, Latency.self, Session.self, WorkloadCommand.self, ScaleCommand.self,
      MemoryCommand.self, DiskCommand.self, HashCommand.self, ReplayCommand.self, DiskChildCommand.self,
      ServersCommand.self,
    ],
    defaultSubcommand: Quick.self)
}

/// The commands of the other program: says where they are.
struct ServersCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "proxy", shouldDisplay: false,
    aliases: ["client", "routes", "shared", "waiting", "fleet", "databases", "targets", "baseline", "report"])

  @Argument(parsing: .allUnrecognized) var words: [String] = []

  func validate() throws {
    throw ValidationError(
      "this command is one of cache-bench-servers, which needs the trait ServerBenchmarks")
  }
}

// Foundation has types of these names, too.
typealias Measurement = BenchmarkHarness.Measurement
typealias Operation = BenchmarkHarness.Operation
