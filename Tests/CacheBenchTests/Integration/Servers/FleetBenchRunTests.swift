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
    "Two proxies get cold requests, removals and hits",
    .enabled("redis-server or wrk is not installed", { isInstalled("redis-server") && isInstalled("wrk") }),
    .enabled("the test reads /proc", { FileManager.default.fileExists(atPath: "/proc/self/stat") }),
    .enabled(
      "httpcache is not built",
      { BuiltProgram.exists("httpcache") && BuiltProgram.exists("cache-bench-servers") }))
  func endToEnd() async throws {
    let report = try await BuiltProgram.report(
      "cache-bench-servers",
      "fleet --proxies 2 --urls 50 --requests 200 --removals 3 --origin-delay 1 --case hit --seconds 1 --rounds 1 "
        // A slow machine is not out of step.
        + "--connections 4 --shared-trust 60")
    let cold = report.measurements.filter { $0.action == .coldFleet }
    #expect(cold.map(\.label) == [FleetLabel.privateCaches, FleetLabel.sharedTier])
    for one in cold {
      let (distinct, fetched) = (one[.distinctKeys] ?? 0, one[.originRequests] ?? 0)
      #expect(one[.requests] == 200)
      #expect(1...50 ~= distinct && distinct...200 ~= fetched, "\(one.figures)")
      #expect(one[.originRequestsPerURL] == fetched / distinct)
    }
    let removals = report.measurements.filter { [.removal, .purge].contains($0.action) }
    #expect(removals.map(\.action) == [.removal, .purge, .removal, .purge])
    #expect(
      removals.map(\.label) == [
        FleetLabel.idle, FleetLabel.idle, FleetLabel.underLoad, FleetLabel.underLoad,
      ])
    for one in removals {
      #expect(one[.requests] == 3)
      #expect((one[.p50Nanoseconds] ?? 0) > 0 && one.latencyCurve != nil)
      #expect((one[.operationsPerSecond] != nil) == (one.label == FleetLabel.underLoad))
    }
    let hits = report.measurements.filter { $0.kind == .proxy }
    #expect(hits.map(\.action) == [.proxyHit, .proxyHit])
    #expect(hits.map(\.label) == [nil, FleetLabel.sharedTier])
    #expect(report.targets.count == 5 && report.targets.allSatisfy { $0.figure != nil })
    #expect(report.text.contains("cold, URLs by zipf"))
  }

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
