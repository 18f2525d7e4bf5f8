// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness

/// `cache-bench-servers client`.
struct ClientCommand: BenchCommand {
  static let configuration = CommandConfiguration(
    commandName: "client",
    abstract: "Measure requests through AsyncHTTPClient to a server on loopback: plain, missed and cached.")

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
    var report = Report(
      command: "client", parameters: Parameters(valueBytes: valueSize, requests: requests))
    report.measurements = try await ClientBench(
      requests: requests, valueSize: valueSize, progress: progress
    ).run()
    report.targets = report.clientTargets
    return report
  }
}

/// `cache-bench-servers routes`.
struct RoutesCommand: BenchCommand {
  static let configuration = CommandConfiguration(
    commandName: "routes",
    abstract:
      "Measure the processor time of a cached route of a Hummingbird server, compared with routes without a cache.",
    discussion: """
      The other routes respond with a constant, and with JSON that is encoded each time. The servers run as processes on \
      loopback. wrk generates the load and must be installed. Linux only: the processor time is read from /proc.
      """)

  @Option(help: "Seconds of each round of each server.")
  var seconds = 2
  @Option(help: "Number of rounds; in each, the servers take turns.")
  var rounds = 5
  @Option(help: "Number of concurrent connections.")
  var connections = 32
  @Flag(help: "Print the result as one JSON document.")
  var json = false

  func validate() throws {
    try Limits.require(seconds, "seconds", in: 1...3600)
    try Limits.require(rounds, "rounds", in: 1...1000)
    try Limits.require(connections, "connections", in: 1...9000)
  }

  func report(_ progress: ProgressLine) throws -> Report {
    var report = Report(
      command: "routes", parameters: Parameters(threads: 1, seconds: Double(seconds), rounds: rounds))
    report.measurements = try RoutesBench(
      seconds: seconds, rounds: rounds, connections: connections,
      generator: try LoadGenerator.installed(), progress: progress
    ).run()
    report.measurements += report.measurements.proxyRatios
    report.targets = report.routeTargets
    return report
  }
}
