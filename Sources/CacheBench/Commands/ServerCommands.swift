// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser

/// `cache-bench client`.
struct ClientCommand: BenchCommand {
  static let configuration = CommandConfiguration(
    commandName: "client",
    abstract: "Measure requests through AsyncHTTPClient to a server on loopback: plain, missed and cached.",
    discussion: "The command needs the package trait AsyncHTTPClient.")

  @Option(help: "Number of requests of each kind.")
  var requests = 5000
  @Option(help: "Bytes of each body.")
  var valueSize = 1024
  @Flag(help: "Print the result as one JSON document.")
  var json = false

  func validate() throws {
    try Limits.require(requests, "requests", in: 1...1_000_000)
    try Limits.require(valueSize, "value-size", in: 1...(16 << 20))
  }

  func report(_ progress: ProgressLine) async throws -> Report {
    #if AsyncHTTPClient
      var report = Report(
        command: "client", parameters: Parameters(valueBytes: valueSize, requests: requests))
      report.measurements = try await ClientBench(
        requests: requests, valueSize: valueSize, progress: progress
      ).run()
      report.targets = report.clientTargets
      return report
    #else
      throw BenchError.unprepared("built without AsyncHTTPClient; build with --traits Benchmarks,AsyncHTTPClient")
    #endif
  }
}
