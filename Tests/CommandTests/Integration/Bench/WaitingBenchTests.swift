// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Testing

@testable import CacheBenchServers

@Suite(.timeLimit(.minutes(10))) struct WaitingBenchTests {
  @Test(
    "The origin alone and the proxy have a row for each load",
    .enabled(
      "httpcache is not built",
      { BuiltProgram.exists("httpcache") && BuiltProgram.exists("cache-bench-servers") }))
  func endToEnd() async throws {
    let report = try await BuiltProgram.report(
      "cache-bench-servers", "waiting --only private slow-user stream lost-connection --delay 20")
    let own = report.measurements.filter { $0.contender == .ours }
    let actions: [Action] = [
      .waitPrivate, .waitSlowUser, .waitStreamNoCache, .waitStream, .waitLostConnection,
    ]
    #expect(own.map(\.action) == actions && report.targets.count == own.count)
    #expect(report.measurements.filter { $0.contender == .directOrigin }.map(\.action) == actions)
    #expect(own.map { $0[.requests] } == [6, 5, 1, 1, 4])
    // The other requests are not measured: two rounds, and the first one of a slow user and of a stream.
    #expect(own.prefix(4).map { $0[.originRequests] } == [18, 6, 2, 2])
    #expect(own.map { $0[.failures] } == [0, 0, 0, 0, 1])
    #expect(own[0][.timesOfOrigin] != nil && report.text.contains("private, last round"))
  }
}
