// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness

/// The flags of `fleet`.
struct FleetOptions: ParsableArguments {
  @Option(help: "Number of proxies.")
  var proxies = 4
  @Option(help: "Number of URLs that the cold requests are drawn from, by zipf 0.99.")
  var urls = 10_000
  @Option(help: "Number of cold requests.")
  var requests = 400_000
  @Option(help: "Number of removals, in an idle fleet and again under load.")
  var removals = 500
  @Option(help: "Maximum time of the origin for a cold response, in milliseconds. Each URL has its own.")
  var originDelay = 10
  @Option(help: "The option --shared-trust of the proxies, in seconds.")
  var sharedTrust = 2
  @Option(name: .customLong("case"), help: "Case of 'proxy' that measures local hits; may be repeated.")
  var cases: [ProxyCase] = [.hit, .zipf]
  @OptionGroup var proxy: ProxyBenchOptions

  func validate() throws {
    try Limits.require(proxies, "proxies", in: 2...64)
    try Limits.require(urls, "urls", in: 1...10_000_000)
    try Limits.require(requests, "requests", in: 1...100_000_000)
    try Limits.require(removals, "removals", in: 1...1_000_000)
    try Limits.require(originDelay, "origin-delay", in: 0...10_000)
    try Limits.require(sharedTrust, "shared-trust", in: 1...86_400)
    guard proxy.httpcache.allSatisfy({ $0.label == nil }) else {
      throw ValidationError("--httpcache: 'fleet' measures one program; give its path without a label")
    }
  }
}

/// `cache-bench-servers fleet`.
struct FleetCommand: BenchCommand {
  static let configuration = CommandConfiguration(
    commandName: "fleet",
    abstract:
      "Measure several 'httpcache proxy' with a shared tier on Redis: origin requests, local hits, and removals.",
    discussion: """
      A cold fleet gets requests at random proxies, with a shared tier and with private caches: how many reach the origin. \
      Sizes are 128 bytes to 64 KiB, and sometimes 512 KiB, with a strong ETag, a weak one, Last-Modified, or no validator. \
      Then URLs are purged through one proxy until the others have removed them, in an idle fleet and under load. At last, \
      local hits of a proxy with the tier and of one without take turns, as in 'proxy'. Redis, the origin and the proxies run \
      on loopback. redis-server and wrk must be installed. Linux only: the processor time is read from /proc.
      """)

  @OptionGroup var options: FleetOptions
  var json: Bool { options.proxy.json }

  func report(_ progress: ProgressLine) async throws -> Report {
    try ProxyCommand.requireProcessorTimes()
    let bench = FleetBench(
      options: options,
      server: try ProxyField.ours(options.proxy.httpcache, beside: OwnProgram.path)[0],
      generator: try LoadGenerator.installed(), progress: progress)
    var report = Report(
      command: "fleet",
      parameters: Parameters(
        threads: options.proxy.threads, seconds: Double(options.proxy.seconds),
        rounds: options.proxy.rounds, seed: options.proxy.seed, requests: options.requests))
    report.measurements = try await bench.run()
    report.measurements += report.measurements.proxyRatios
    report.targets = report.fleetTargets
    report.notes = [
      "The time of a removal begins when PURGE is sent. It ends for each other proxy when that answers only-if-cached "
        + "with 504; it is asked each half millisecond.",
      "Under load, wrk requests one stored URL from all \(options.proxies) proxies as fast as they answer: the "
        + "requests/s of these rows.",
    ]
    return report
  }
}
