// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import ChildProcesses
import Foundation
import Testing

@testable import CacheBenchServers

@Suite(.timeLimit(.minutes(10))) struct ProxyBenchRunTests {
  @Test func `the output of a program is read when it has ended`() async throws {
    let output = try await BuiltProgram.onThread {
      try ChildProcess.output(of: "/bin/sh", ["-c", "echo a; echo b >&2"])
    }
    #expect(output == "a\nb\n")
    #expect(throws: ChildProcessError.self) { try ChildProcess.output(of: "/none", []) }
  }

  @Test func `the processor time of this process grows`() throws {
    guard FileManager.default.fileExists(atPath: "/proc/self/stat") else { return }
    let before = try #require(ProcessTree.processorNanoseconds(of: getpid()))
    var sum = 0
    // It works until it has used a tick, however long it has to wait for the processor.
    while (ProcessTree.processorNanoseconds(of: getpid()) ?? .max) <= before {
      for number in 0..<100_000 { sum &+= number }
    }
    BlackHole.take(sum)
  }

  @Test(
    "A hit, a revalidation and a miss are measured on every installed server that can do them",
    .enabled("wrk is not installed", { Program.installed("wrk") != nil }),
    .enabled("the test reads /proc", { FileManager.default.fileExists(atPath: "/proc/self/stat") }),
    .enabled(
      "httpcache is not built",
      { BuiltProgram.exists("httpcache") && BuiltProgram.exists("cache-bench-servers") }))
  func endToEnd() async throws {
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
}
