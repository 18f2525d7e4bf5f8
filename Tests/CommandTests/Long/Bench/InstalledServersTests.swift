// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import ChildProcesses
import Foundation
import Testing

@testable import CacheBenchServers

/// Benchmarks that measure each server for a second or more, and so two cores for a minute and a half.
@Suite(.timeLimit(.minutes(10))) struct InstalledServersTests {
  @Test(
    "A hit, a revalidation and a miss are measured on every installed server that can do them",
    .enabled("wrk is not installed", { Program.installed("wrk") != nil }),
    .enabled("the test reads /proc", { FileManager.default.fileExists(atPath: "/proc/self/stat") }),
    .enabled(
      "httpcache is not built",
      { BuiltProgram.exists("httpcache") && BuiltProgram.exists("cache-bench-servers") }))
  func proxies() async throws {
    let options = try ProxyBenchOptions.parse([
      "--seconds", "1", "--rounds", "1", "--connections", "4", "--httpcache",
      "other=\(BuiltProgram.path("httpcache"))",
    ])
    let report = try await BuiltProgram.onThread {
      try ProxyCommand.report(
        [.hit, .revalidate, .miss], options, ProgressLine(isShown: false),
        executable: BuiltProgram.path("cache-bench-servers"))
    }
    let rows = report.measurements.filter { $0.kind == .proxy }
    // nginx has two configurations.
    let peers =
      (Program.installed("nginx") == nil ? 0 : 2)
      + ["varnishd", "traffic_server"].filter { Program.installed($0) != nil }.count
    let haproxy = Program.installed("haproxy") == nil ? 0 : 1
    #expect(rows.filter { $0.action == .proxyHit }.count == 3 + peers + haproxy)
    #expect(rows.filter { $0.action == .proxyMiss }.count == 2 + peers + haproxy)
    #expect(rows.filter { $0.action == .proxyRevalidate }.count == 2 + peers)
    for one in rows {
      #expect((one[.processorNanoseconds] ?? 0) > 0, "\(one.name)")
      #expect((one[.operationsPerSecond] ?? 0) > 0, "\(one.name)")
      #expect(one[.connections] == 4)
    }
    #expect(report.targets.count == 3)
    #expect(report.text.contains("bare SwiftNIO"))
  }

  @Test(
    "Two proxies get cold requests, removals and hits",
    .enabled(
      "redis-server or wrk is not installed",
      { Program.installed("redis-server") != nil && Program.installed("wrk") != nil }),
    .enabled("the test reads /proc", { FileManager.default.fileExists(atPath: "/proc/self/stat") }),
    .enabled(
      "httpcache is not built",
      { BuiltProgram.exists("httpcache") && BuiltProgram.exists("cache-bench-servers") }))
  func fleet() async throws {
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
