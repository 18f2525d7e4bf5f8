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
      'quick' runs. 'cache-bench-servers' measures what needs servers, and checks targets.
      """,
    subcommands: [
      Quick.self, Throughput.self, Latency.self, Session.self, WorkloadCommand.self, MemoryCommand.self,
      DiskCommand.self, HashCommand.self, ReplayCommand.self, DiskChildCommand.self,
    ],
    defaultSubcommand: Quick.self)
}

// Foundation has types of these names, too.
typealias Measurement = BenchmarkHarness.Measurement
typealias Operation = BenchmarkHarness.Operation
