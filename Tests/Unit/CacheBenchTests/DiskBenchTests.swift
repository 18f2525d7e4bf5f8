// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import Testing

@testable import CacheBench

@Suite(.timeLimit(.minutes(10))) struct DiskBenchTests {
  private static func report(_ workloads: [DiskWorkload], _ flags: String) throws -> Report {
    let options = try DiskOptions.parse(
      "--keys 30 --rounds 2 --seconds 0.002 \(flags)".split(separator: " ").map(String.init))
    var bench = DiskBench(options: options, progress: ProgressLine(isShown: false))
    bench.executable =
      URL(fileURLWithPath: bench.executable).deletingLastPathComponent()
      .appendingPathComponent("cache-bench").path
    return try bench.run(workloads)
  }

  @Test func `put, get and mixed are compared with a raw file, files and SQLite at each size`() throws {
    let report = try Self.report([.put, .get, .mixed], "--value-size 500 --value-size 300000")
    let yardsticks: [Contender] = [.rawFile, .files] + (Contender.sqlite.isInstalled ? [.sqlite] : [])
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

  @Test func `put, get and mixed are compared with LMDB and RocksDB if requested and installed`()
    throws
  {
    var (flags, expected) = ("--value-size 5000 --beside raw", [Contender.rawFile])
    for (flag, name) in [("lmdb", Contender.lmdb), ("rocksdb", .rocksDB)] where name.isInstalled {
      (flags, expected) = ("\(flags) --beside \(flag)", expected + [name])
    }
    let measurements = try Self.report([.put, .get, .mixed], flags).measurements.filter {
      $0.kind == .throughput
    }
    #expect(Set(measurements.map(\.contender)).isSuperset(of: [.ours] + expected))
    #expect(!measurements.contains { $0.contender == .files || $0.contender == .sqlite })
    for action in [Action.diskStore, .diskGet, .diskMixed] {
      #expect(measurements.filter { $0.action == action }.count == 1 + expected.count)
    }
  }

  @Test func `a library that lacks a function, or is missing, is an error that names the library`() {
    let library = SystemLibrary(["libc.so.6", "/usr/lib/libSystem.B.dylib"], prefix: "absent_")
    let missing = SystemLibrary(["libabsent.so"], prefix: "absent_")
    for (library, expected) in [(library, "absent_open"), (missing, "libabsent.so")] {
      let error = #expect(throws: BenchError.self) {
        let function: @convention(c) () -> Int32 = try library("open")
        _ = function()
      }
      #expect(error?.description.contains(expected) == true)
      #expect(error.map { CacheBench.exitCode(for: $0).rawValue } == 1)
    }
  }

  @Test func `churn stays within the capacity and reports the bytes written per byte stored`() throws {
    let report = try Self.report([.churn], "--value-size 2000 --capacity 2000000")
    let churn = try #require(report.measurements.first { $0.kind == .churn })
    let most = try #require(churn[.mostBytes])
    #expect(most > 1_000_000 && most <= 2_000_000)
    let live = try #require(churn[.liveShare])
    #expect(live > 0.3 && live <= 1)
    #expect(try #require(churn[.spaceAmplification]) >= 1)
    if ProcessIO.now != nil { #expect(try #require(churn[.writtenPerByte]) >= 1) }
    #expect(report.text.contains("Churn at capacity"))
  }

  @Test func `a cold get is measured in read calls`() throws {
    let gets = try Self.report([.cold], "--value-size 16384").measurements
    guard ProcessIO.now != nil else { return }
    #expect(gets.map(\.contender) == [.ours, .rawFile])
    #expect(gets.allSatisfy { ($0[.readCallsPerGet] ?? 0) >= 1 && $0[.operations] == 30 })
  }

  @Test func `opening is measured in separate processes, after closing and after a kill`() throws {
    let report = try Self.report([.reopen], "--value-size 500")
    #expect(report.measurements.map(\.action) == [.reopenClosed, .reopenKilled])
    #expect(report.measurements.allSatisfy { $0[.entries] == 30 })
  }

  @Test func `every disk target has a row, and every measurable one a figure`() throws {
    let report = try Self.report([], "--targets --capacity 2000000")
    #expect(report.targets.count == 16)
    for row in report.targets where row.figure == nil {
      // What is not there cannot be measured.
      let isMissing = row.what.contains("SQLite") && !Contender.sqlite.isInstalled || ProcessIO.now == nil
      #expect(isMissing, "\(row.what)")
    }
    #expect(report.text.contains("Targets"))
  }
}
