// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness

#if !ServerBenchmarks
  #error("this target needs the trait ServerBenchmarks: pass --traits ServerBenchmarks")
#endif

/// `cache-bench-servers`: what needs servers, clients or databases, and what reads the results of `cache-bench`.
@main
struct CacheBenchServers: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache-bench-servers",
    abstract:
      "Measure the HTTP cache in servers and clients, compare it with databases, and check targets and baselines.",
    discussion: """
      'targets' and 'baseline' run cache-bench as a process. 'report' writes a page from the results of both commands. \
      Compare the ratios of one run: absolute figures differ between machines and between runs. Exit status \
      74: the results cannot be written to standard output.
      """,
    subcommands: [
      ProxyCommand.self, ClientCommand.self, RoutesCommand.self, SharedCommand.self, FleetCommand.self,
      WaitingCommand.self, DatabasesCommand.self, TargetsCommand.self, BaselineCommand.self,
      ReportCommand.self,
      ServerChildCommand.self,
    ])
}

// Foundation has a type of this name, too.
typealias Measurement = BenchmarkHarness.Measurement
