// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import Testing

@testable import CacheBench

@Suite(.timeLimit(.minutes(10))) struct BaselineTests {
  // MARK: - Reports

  private static func report(format: Int, _ rows: String) -> Data {
    Data(#"{"format": \#(format), "machine": {"isOptimized": true}, "measurements": [\#(rows)]}"#.utf8)
  }

  @Test(arguments: [
    (
      2,
      #"{"action": "getAndRead", "cache": "oursS3FIFO", "measuring": "throughput", "entries": 5, "threads": 2, "#
        + #""operations": 9, "operationsPerSecond": 4e6, "operationsPerSecondByRound": [4e6], "processorNanoseconds": 7}"#
    ),
    (
      3,
      #"{"action": "get and read a byte", "contender": "HTTPCacheEngine, S3-FIFO", "kind": "throughput", "byRound": [4e6], "#
        + #""figures": {"entries": 5, "threads": 2, "operations": 9, "operationsPerSecond": 4e6, "#
        + #""processorNanoseconds": 7, "nanoseconds": 250}}"#
    ),
  ])
  func `throughput is read from reports of both formats`(format: Int, row: String) throws {
    let report = try AnyReport(Self.report(format: format, row))
    let expected = Measurement(
      .throughput, .getAndRead, .oursS3FIFO,
      [
        .entries: 5, .threads: 2, .operations: 9, .operationsPerSecond: 4e6, .processorNanoseconds: 7,
        .nanoseconds: 250,
      ])
    #expect(report.measurements == [expected])
    #expect(report.isOptimized)
  }

  @Test func `the percentiles of format 2 are figures`() throws {
    let row =
      #"{"action": "decide", "cache": "ours", "measuring": "latency", "threads": 1, "operationsPerSecond": 1e6, "#
      + #""latency": {"p50Nanoseconds": 500, "p99Nanoseconds": 900, "maxNanoseconds": 1000}}"#
    let one = try #require(AnyReport(Self.report(format: 2, row)).measurements.first)
    #expect(one.kind == .latency && one.action == .decide && one.contender == .ours)
    #expect(one[.p50Nanoseconds] == 500 && one[.p99Nanoseconds] == 900 && one[.nanoseconds] == 500)
  }

  @Test func `rows that this version does not know are left out`() throws {
    let rows = [
      #"{"action": "sing", "cache": "ours", "measuring": "throughput"}"#,
      #"{"action": "get", "contender": "elsewhere", "kind": "throughput", "figures": {}}"#,
      #"{"action": "get", "contender": "HTTPCacheEngine", "kind": "ratio", "figures": {}}"#,
    ]
    #expect(try AnyReport(Self.report(format: 3, rows.joined(separator: ","))).measurements.isEmpty)
  }

  @Test(arguments: [
    "", "no JSON", "{}", #"{"format": 1, "machine": {"isOptimized": true}, "measurements": []}"#,
    #"{"format": 3, "machine": {"isOptimized": true}, "measurements": [{"kind": 1}]}"#,
  ])
  func `another document is no report`(text: String) {
    #expect(throws: DecodingError.self) { try AnyReport(Data(text.utf8)) }
  }

  // MARK: - Programs

  private static let folder = URL(fileURLWithPath: DiskChild.ownExecutable).deletingLastPathComponent()
  private static let program = folder.appendingPathComponent("cache-bench").path
  private static var isBuilt: Bool { FileManager.default.isExecutableFile(atPath: program) }

  private static func command(_ flags: String) throws -> WorkloadCommand {
    let line = "get mixed --keys 300 --value-size 100 --threads 2 --rounds 2 --seconds 0.002 " + flags
    return try #require(
      try WorkloadCommand.parseAsRoot(line.split(separator: " ").map(String.init)) as? WorkloadCommand)
  }

  /// Runs a comparison on its own thread, because it waits for other processes, and the tests share few threads.
  private static func report(_ flags: String) async throws -> Report {
    let command = try command(flags)
    return try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          with: Result { try command.report(ProgressLine(isShown: false), executable: program) })
      }
    }
  }

  @Test(
    "A baseline is measured in turns, with ratios by round for our contenders",
    .enabled("cache-bench is not built", { isBuilt }))
  func ratios() async throws {
    let report = try await Self.report("--baseline old=\(Self.program)")
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
    .enabled("cache-bench is not built", { isBuilt }),
    arguments: [
      ("/none", "is not a program that can be run"), ("/bin/echo", "printed no report of 'workload'"),
      ("/bin/false", "Its last line: nothing"),
    ])
  func otherPrograms(path: String, text: String) async throws {
    let error = await #expect(throws: BenchError.self) { _ = try await Self.report("--baseline \(path)") }
    #expect(error?.description.contains(text) == true, "\(error?.description ?? "")")
    #expect(error?.description.contains(path) == true)
  }
}
