// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness

/// `cache-bench-servers shared`.
struct SharedCommand: BenchCommand {
  static let configuration = CommandConfiguration(
    commandName: "shared",
    abstract:
      "Measure responses that are found in a shared tier on Redis, compared with the same bytes fetched alone.",
    discussion: """
      The command starts redis-server, which must be installed, on a Unix domain socket or a port of 127.0.0.1, and stops \
      it.
      """)

  @Option(help: "Number of responses of each size.")
  var requests = 2000
  @Option(help: "Bytes of each body; several values measure several sizes.")
  var valueSize = [1024, 16 << 10, 256 << 10]
  @Option(help: "Requests in flight at a time, in addition to one at a time.")
  var concurrency = 32
  @Flag(help: "Use a port of 127.0.0.1 instead of a Unix domain socket.")
  var tcp = false
  @Flag(help: "Print the result as one JSON document.")
  var json = false

  func validate() throws {
    try Limits.require(requests, "requests", in: 1...100_000)
    for size in valueSize { try Limits.require(size, "value-size", in: 1...(256 << 10)) }
    try Limits.require(concurrency, "concurrency", in: 1...1000)
  }

  func report(_ progress: ProgressLine) async throws -> Report {
    var report = Report(command: "shared", parameters: Parameters(requests: requests))
    report.measurements = try await SharedBench(
      requests: requests, sizes: valueSize, concurrency: concurrency, usesTCP: tcp, progress: progress
    ).run()
    report.targets = report.sharedTargets
    return report
  }
}
