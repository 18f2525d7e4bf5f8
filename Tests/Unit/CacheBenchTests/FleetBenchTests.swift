// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPTypes
import Testing

@testable import CacheBench

@Suite(.timeLimit(.minutes(10))) struct FleetBenchTests {
  @Test func `the number in a path decides size, validator and delay`() {
    let all = (0..<2000).map { FleetContent(path: "/cold/\($0)") }
    #expect(all.allSatisfy { 128...65_536 ~= $0.bodyBytes || $0.bodyBytes == 524_288 })
    #expect(all.contains { $0.bodyBytes < 256 } && all.contains { $0.bodyBytes > 32_768 })
    #expect(Set(all.map { $0.fields[.eTag]?.prefix(1) }) == ["\"", "W", nil])
    #expect(all.contains { $0.fields[.lastModified] != nil })
    #expect(all.contains { $0.fields[.eTag] == nil && $0.fields[.lastModified] == nil })
    #expect(all.allSatisfy { 0..<1 ~= $0.delay && $0.fields[.cacheControl] == "max-age=3600" })
    #expect(all.map(\.bodyBytes) == (0..<2000).map { FleetContent(path: "/cold/\($0)").bodyBytes })
    #expect(FleetContent(path: FleetContent.readyPath).bodyBytes == 1024)
  }

  @Test func `targets name the origin requests, the local hits and the removals`() {
    func row(
      _ kind: BenchMeasurement.Kind, _ action: Action, _ label: String?, _ figures: [Metric: Double],
      byRound: [Double] = []
    ) -> BenchMeasurement {
      var one = BenchMeasurement(kind, action, .ours, figures)
      (one.label, one.byRound) = (label, byRound)
      return one
    }
    var report = Report(command: "fleet")
    report.measurements = [
      row(.fleet, .coldFleet, FleetLabel.privateCaches, [.originRequestsPerURL: 3]),
      row(.fleet, .coldFleet, FleetLabel.sharedTier, [.originRequestsPerURL: 1.01]),
      row(.fleet, .removal, FleetLabel.idle, [.p99Nanoseconds: 2e6]),
      row(.fleet, .removal, FleetLabel.underLoad, [.p99Nanoseconds: 60e6]),
      row(
        .proxy, .proxyHit, nil, [.processorNanoseconds: 10, .operationsPerSecond: 100], byRound: [10, 12]),
      row(
        .proxy, .proxyHit, FleetLabel.sharedTier, [.processorNanoseconds: 10, .operationsPerSecond: 90],
        byRound: [10, 12]),
    ]
    report.targets = report.fleetTargets
    #expect(report.targets.map(\.limit) == [1.02, 1.05, 0.95, 50e6, 50e6])
    #expect(report.targets.map(\.figure) == [1.01, 1, 0.9, 2e6, 60e6])
    #expect(report.targets.map(\.isMet) == [true, true, false, true, false])
    #expect(report.targets[0].note == "3.00x with private caches")
  }

  #if Redis
    private static var folder: URL {
      URL(fileURLWithPath: DiskChild.ownExecutable).deletingLastPathComponent()
    }

    private static func isBuilt(_ name: String) -> Bool {
      FileManager.default.isExecutableFile(atPath: folder.appendingPathComponent(name).path)
    }

    private static func isInstalled(_ name: String) -> Bool { InstalledProgram.path(of: name) != nil }

    /// Runs `cache-bench` as a process of its own: the other tests occupy the threads that serve tasks for many seconds.
    private static func report(_ arguments: [String]) async throws -> Report {
      let own = folder.appendingPathComponent("cache-bench").path
      let output = try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
          continuation.resume(
            with: Result { try ChildProcess.output(of: own, arguments + ["--json"], seconds: 500) })
        }
      }
      let file = try? ReportFile(name: "a", bytes: Array(output.utf8), path: "a")
      return try #require(file?.report, "\(output)")
    }

    @Test(
      "Two proxies get cold requests, removals and hits",
      .enabled("redis-server or wrk is not installed", { isInstalled("redis-server") && isInstalled("wrk") }),
      .enabled("the test reads /proc", { FileManager.default.fileExists(atPath: "/proc/self/stat") }),
      .enabled("httpcache is not built", { isBuilt("httpcache") && isBuilt("cache-bench") }))
    func endToEnd() async throws {
      let report = try await Self.report([
        "fleet", "--proxies", "2", "--urls", "50", "--requests", "200", "--removals", "3",
        "--origin-delay", "1", "--case", "hit", "--seconds", "1", "--rounds", "1", "--connections", "4",
        // A slow machine is not out of step.
        "--shared-trust", "60",
      ])
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
      .enabled("cache-bench is not built", { isBuilt("cache-bench") }))
    func shared() async throws {
      let report = try await Self.report([
        "shared", "--requests", "20", "--value-size", "1024", "--concurrency", "1",
      ])
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
      // A heartbeat may take one more.
      #expect(1..<1.5 ~= found[.roundTripsPerRequest] ?? 0)
      #expect(report.targets.map(\.limit) == [1.3, 1.3, 1.05, 1.05])
      #expect(report.text.contains("found in the shared tier, 1.00 KiB"))
    }
  #endif
}
