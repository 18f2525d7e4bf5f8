// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import Testing

@testable import CacheBenchServers

@Suite(.timeLimit(.minutes(10))) struct BaselineRunTests {
  private static func report(_ path: String) async throws -> Report {
    let line =
      "--against \(path) --cache-bench \(BuiltProgram.path("cache-bench")) --rounds 2 --seconds 0.002 get mixed "
      + "--keys 300 --value-size 100 --threads 2"
    let words = line.split(separator: " ").map(String.init)
    return try await BuiltProgram.onThread {
      try BaselineCommand.parse(words).report(ProgressLine(isShown: false))
    }
  }

  @Test(
    "A baseline is measured in turns, with ratios by round for our contenders",
    .enabled("cache-bench is not built", { BuiltProgram.exists("cache-bench") }))
  func ratios() async throws {
    let report = try await Self.report("old=" + BuiltProgram.path("cache-bench"))
    let others = report.measurements.filter { $0.label == "old" }
    #expect(Set(others.map(\.contender)) == [.ours, .oursS3FIFO])
    #expect(others.count { $0.kind == .throughput } == 8)
    let ratios = report.measurements.filter { $0.kind == .ratio && $0.against?.label == "old" }
    #expect(ratios.count == others.count)
    for one in ratios {
      #expect(one.byRound.count == 2)
      #expect(one.against?.contender == one.contender && one.against?.action == one.action)
      #expect(try #require(one[.timesAsFast]) > 0)
      if one.against?.basis != .p50 {
        #expect(one.against?.basis == (one[.threads] == 1 ? .processorTime : .throughput))
      }
    }
    #expect(report.text.contains("HTTPCacheEngine (old)"))
    let yardsticks = report.measurements.filter { $0.contender == .nodes && $0.kind == .throughput }
    #expect(yardsticks.count == 4)
    let file = try ReportFile(name: "a", bytes: Array(report.json().utf8), path: "a")
    #expect(file.report.measurements == report.measurements)
  }

  @Test(
    "A program that is not cache-bench is named in the error",
    .enabled("cache-bench is not built", { BuiltProgram.exists("cache-bench") }),
    arguments: [
      ("/none", "is not a program that can be run"), ("/bin/echo", "printed no report of 'workload'"),
      ("/bin/false", "Its last lines: nothing"),
    ])
  func otherPrograms(path: String, text: String) async throws {
    let error = await #expect(throws: BenchError.self) { _ = try await Self.report(path) }
    #expect(error?.description.contains(text) == true, "\(error?.description ?? "")")
    #expect(error?.description.contains(path) == true)
  }
}
