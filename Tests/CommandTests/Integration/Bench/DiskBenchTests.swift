// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct DiskBenchTests {
  private static func report(_ workload: String, _ flags: String) async throws -> Report {
    // A process of its own: it counts the reads and writes of the whole process.
    try await BuiltProgram.report(
      "cache-bench", "disk \(workload) --keys 30 --rounds 2 --seconds 0.002 \(flags)")
  }

  private static let isCounted = FileManager.default.fileExists(atPath: "/proc/self/io")

  @Test func `put, get and mixed are compared with a raw file and files at each size`() async throws {
    let report = try await Self.report("put get mixed", "--value-size 500 --value-size 300000")
    let yardsticks: [Contender] = [.rawFile, .files]
    let ratios = report.measurements.filter { $0.kind == .ratio }
    for size in [500, 300_000] {
      for name in [.ours] + yardsticks {
        let some = report.measurements.filter {
          $0.kind == .throughput && $0.contender == name && $0[.valueBytes] == Double(size)
        }
        #expect(Set(some.map(\.action)) == [.diskStore, .diskGet, .diskMixed], "\(name), \(size)")
        #expect(some.allSatisfy { ($0[.operationsPerSecond] ?? 0) > 0 })
      }
      let some = ratios.filter { $0[.valueBytes] == Double(size) && $0.action == .diskGet }
      #expect(Set(some.compactMap { $0.against?.contender }) == Set(yardsticks))
    }
    #expect(report.text.contains("disk get, 500 B"))
    let again = try JSONDecoder().decode(Report.self, from: Data(report.json().utf8))
    #expect(again.measurements == report.measurements)
  }

  @Test func `every operation on disk is measured for a number of entries`() async throws {
    let report = try await BuiltProgram.report(
      "cache-bench", "scale --keys 10000 --operations 100 --tier both")
    let rows = report.measurements.filter(\.action.isOnDisk)
    #expect(rows.map(\.action) == [.diskStore, .diskGet, .diskOpen, .diskChurn, .diskPurge, .diskRemoveAll])
    #expect(
      rows.allSatisfy { $0.kind == .scale && $0[.entries] == 10_000 && $0[.processorNanoseconds] ?? 0 > 0 })
    #expect(try #require(rows.first?[.residentBeyond]) > 0)
    #expect(report.measurements.count == rows.count + 5)
  }

  @Test func `put, get and mixed are compared with the requested yardstick only`() async throws {
    let measurements = try await Self.report("put get mixed", "--value-size 5000 --beside raw").measurements
    #expect(Set(measurements.map(\.contender)) == [.ours, .rawFile])
  }

  @Test func `churn stays within the capacity and reports the bytes written per byte stored`() async throws {
    let report = try await Self.report("churn", "--value-size 2000 --capacity 2000000")
    let churn = try #require(report.measurements.first { $0.kind == .churn })
    let most = try #require(churn[.mostBytes])
    #expect(most > 1_000_000 && most <= 2_000_000)
    let live = try #require(churn[.liveShare])
    #expect(live > 0.3 && live <= 1)
    #expect(try #require(churn[.spaceAmplification]) >= 1)
    if Self.isCounted { #expect(try #require(churn[.writtenPerByte]) >= 1) }
    #expect(report.text.contains("Churn at capacity"))
  }

  @Test func `a cold get is measured in read calls`() async throws {
    let gets = try await Self.report("cold", "--value-size 16384").measurements
    guard Self.isCounted else { return }
    #expect(gets.map(\.contender) == [.ours, .rawFile])
    #expect(gets.allSatisfy { ($0[.readCallsPerGet] ?? 0) >= 1 && $0[.operations] == 30 })
  }

  @Test func `opening is measured in separate processes, after closing and after a kill`() async throws {
    let report = try await Self.report("reopen", "--value-size 500")
    #expect(report.measurements.map(\.action) == [.reopenClosed, .reopenKilled])
    #expect(report.measurements.allSatisfy { $0[.entries] == 30 })
  }
}
