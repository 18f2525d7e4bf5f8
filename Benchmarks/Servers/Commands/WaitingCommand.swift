// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import Foundation

/// `cache-bench-servers waiting`.
struct WaitingCommand: BenchCommand {
  static let configuration = CommandConfiguration(
    commandName: "waiting",
    abstract:
      "Measure how long clients of 'httpcache proxy' wait for each other, and compare it with nginx and Varnish.",
    discussion: """
      Requests for one URL at the same time make one request to the origin, if its response can answer all of them. Each \
      case measures what the clients wait for when it cannot, or when the origin is slow, and how many requests reach the \
      origin. The first row of each case has the same clients without a proxy: the ideal where nothing can be shared. nginx \
      and Varnish are measured if they are installed; nginx with proxy_cache_lock, and stale responses during an update. The \
      cases from 'microcaching' on are those that rules are for: httpcache is measured without rules, and with one. A \
      failed request has another status than the origin's response, or no response.
      """)

  @Option(parsing: .upToNextOption, help: "Cases to run.")
  var only: [WaitingCase] = WaitingCase.allCases
  @Option(
    help: ArgumentHelp(
      "The origin's time for a slow response, in milliseconds.",
      discussion:
        "'long-poll' takes three times as long, and the slow request of 'slow-user' ten times. 'hang', 'short-lived' and "
        + "'unshared' have fixed times."))
  var delay = 300
  @Option(help: "Threads that serve connections, of each server.")
  var threads = 2
  @Option(
    help: ArgumentHelp(
      "The httpcache to measure (default: the one beside this program); may be repeated with labels.",
      valueName: "[label=]path"))
  var httpcache: [LabelledProgram] = []
  @Flag(help: "Print the result as one JSON document.")
  var json = false

  func validate() throws {
    try Limits.require(delay, "delay", in: 10...1500)
    try Limits.require(threads, "threads", in: 1...256)
    try ProxyBenchOptions.requireLabels(httpcache)
  }

  func report(_ progress: ProgressLine) async throws -> Report {
    let found = try ProxyField.found(httpcache, beside: OwnProgram.path)
    let servers = found.servers.filter {
      [.ours, .varnish].contains($0.contender) || $0.contender == .nginx && $0.label == nil
    }
    let delay = Duration.milliseconds(delay)
    var report = Report(command: "waiting", parameters: Parameters(threads: threads))
    report.measurements = try await WaitingBench(
      cases: only, delay: delay, threads: threads, servers: servers, progress: progress
    ).run()
    report.targets = report.waitingTargets(only.flatMap { $0.loads(delay) })
    report.notes =
      found.notes + [
        "nginx has proxy_cache_lock, proxy_cache_use_stale updating error, and proxy_max_temp_file_size 0; in the cases for "
          + "rules also proxy_cache_use_stale timeout http_503 and proxy_cache_background_update."
      ]
    return report
  }
}
