// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import Foundation
import TestSupport
import Testing

@testable import CacheBenchServers

@Suite(.timeLimit(.minutes(10))) struct TargetsTests {
  private static func report(_ line: String) async throws -> Report {
    let all = "--cache-bench \(BuiltProgram.path("cache-bench")) --rounds 2 --seconds 0.002 \(line)"
    let words = all.split(separator: " ").map(String.init)
    return try await BuiltProgram.onThread {
      try TargetsCommand.parse(words).report(ProgressLine(isShown: false))
    }
  }

  @Test(
    "Every target of the hot path is measured and has a verdict",
    .enabled("cache-bench is not built", { BuiltProgram.exists("cache-bench") }))
  func hotPath() async throws {
    let directory = temporaryURL()
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let trace = directory.appendingPathComponent("trace")
    try Data((0..<200).map { "k\($0 * $0 % 37) \($0 % 7)\n" }.joined().utf8).write(to: trace)
    let report = try await Self.report("--keys 200 --value-size 100 --threads 2 --trace \(trace.path)")
    #expect(report.targets.count == 16)
    // Whether two threads gain anything depends on what else the machine does.
    for one in report.targets where !one.what.hasSuffix("2 threads: throughput against 1 thread") {
      #expect(one.isMet != nil, "\(one.what)")
    }
    #expect(report.text.contains("get and read a byte of the body, 1 thread: time against the floor"))
    #expect(report.text.contains("met"))
  }

  @Test(
    "Every target of the disk has a row, and every measurable one a figure",
    .enabled("cache-bench is not built", { BuiltProgram.exists("cache-bench") }))
  func disk() async throws {
    let report = try await Self.report("--disk --keys 30 --capacity 2000000")
    #expect(report.targets.count == 16)
    let isCounted = FileManager.default.fileExists(atPath: "/proc/self/io")
    for row in report.targets where row.figure == nil {
      // What is not there cannot be measured.
      #expect(row.what.contains("SQLite") && !Contender.sqlite.isInstalled || !isCounted, "\(row.what)")
    }
    #expect(report.text.contains("Targets"))
  }
}
