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

  @Test(
    "httpcache is measured without and with the rule of a case, and the limits hold for the latter",
    .enabled(
      "httpcache is not built",
      { BuiltProgram.exists("httpcache") && BuiltProgram.exists("cache-bench-servers") }))
  func rules() async throws {
    let report = try await BuiltProgram.report(
      "cache-bench-servers", "waiting --only reload no-lifetime failing cookies codings")
    let own = report.measurements.filter { $0.contender == .ours }
    #expect(own.map(\.label) == Array(repeating: [nil, "rules"], count: 5).flatMap { $0 })
    let ruled = own.filter { $0.label == "rules" }
    // All that reload at once wait for one validation, which the rule spares them; a failing origin is asked each time.
    #expect(ruled.map { $0[.originRequests] } == [0, 20, 10, 1, 2])
    #expect(ruled.map { $0[.failures] } == [0, 0, 0, 0, 0])
    let without = own.filter { $0.label == nil }
    #expect(without.dropFirst().map { $0[.originRequests] } == [0, 10, 10, 7])
    #expect(without.map { $0[.failures] } == [0, 0, 10, 0, 0])
    #expect((1..<2000).contains(without[0][.originRequests] ?? 0))
    #expect(report.targets.map(\.isMet) == Array(repeating: true, count: report.targets.count))
    #expect(report.targets.count == 9)
  }
}
