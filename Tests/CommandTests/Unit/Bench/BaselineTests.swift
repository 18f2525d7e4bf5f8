// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Foundation
import Testing

@testable import CacheBenchServers

@Suite(.timeLimit(.minutes(10))) struct BaselineTests {
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
    let expected = BenchMeasurement(
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
}
