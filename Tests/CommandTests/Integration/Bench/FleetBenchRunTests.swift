// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import ChildProcesses
import Foundation
import Testing

@testable import CacheBenchServers

@Suite(.timeLimit(.minutes(10))) struct FleetBenchRunTests {
  private static func isInstalled(_ name: String) -> Bool { Program.installed(name) != nil }

  @Test(
    "Responses in the tier are found in one round trip",
    .enabled("redis-server is not installed", { isInstalled("redis-server") }),
    .enabled("cache-bench-servers is not built", { BuiltProgram.exists("cache-bench-servers") }))
  func shared() async throws {
    let report = try await BuiltProgram.report(
      "cache-bench-servers", "shared --requests 20 --value-size 1024 --concurrency 1")
    #expect(
      report.measurements.map(\.action) == [
        .fetchFromRedis, .fetchFromRedis, .sharedHit, .localHit, .localHitBesideTier,
      ])
    #expect(report.measurements.map(\.contender) == [.hiredis, .redisClient, .ours, .ours, .ours])
    for one in report.measurements {
      #expect(one.kind == .shared && (one[.nanoseconds] ?? 0) > 0)
    }
    let found = try #require(report.measurements.first { $0.action == .sharedHit })
    #expect(found[.valueBytes] == 1024 && found[.concurrency] == 1 && found[.requests] == 19)
    // Heartbeats take more, as many as the machine takes time for.
    #expect((found[.roundTripsPerRequest] ?? 0) >= 1)
    #expect(report.targets.map(\.limit) == [1.3, 1.3, 1.05, 1.05])
    #expect(report.text.contains("found in the shared tier, 1.00 KiB"))
  }
}
