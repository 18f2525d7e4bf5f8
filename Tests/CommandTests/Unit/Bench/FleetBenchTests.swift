// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPTypes
import Testing

@testable import CacheBenchServers

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
}
