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
    return try options.targets ? bench.targets() : bench.run(workloads)
  }

  @Test func `put, get and mixed are measured beside a raw file, files and SQLite, for each size`() throws {
    let report = try Self.report([.put, .get, .mixed], "--value-size 500 --value-size 300000")
    let yardsticks: [CacheName] = [.rawFile, .files] + (SQLiteLibrary.shared == nil ? [] : [.sqlite])
    for size in [500, 300_000] {
      for name in [.ours] + yardsticks {
        let some = report.measurements.filter { $0.cache == name && $0.valueBytes == size }
        #expect(Set(some.map(\.action)) == [.diskStore, .diskGet, .diskMixed], "\(name), \(size)")
        #expect(some.allSatisfy { $0.operationsPerSecond > 0 })
      }
      let ratios = report.ratios.filter { $0.valueBytes == size && $0.action == .diskGet }
      #expect(Set(ratios.map(\.yardstick)) == Set(yardsticks))
    }
    #expect(report.text.contains("disk get, 500 B"))
    #expect(try JSONDecoder().decode(Report.self, from: Data(report.json().utf8)).ratios == report.ratios)
  }

  @Test func `put, get and mixed are measured beside LMDB and RocksDB where they are asked for and there`()
    throws
  {
    var (flags, expected) = ("--value-size 5000 --beside raw", [CacheName.rawFile])
    if LMDBLibrary.shared != nil { (flags, expected) = (flags + " --beside lmdb", expected + [.lmdb]) }
    if RocksDBLibrary.shared != nil {
      (flags, expected) = (flags + " --beside rocksdb", expected + [.rocksDB])
    }
    let report = try Self.report([.put, .get, .mixed], flags)
    #expect(Set(report.measurements.map(\.cache)).isSuperset(of: [.ours] + expected))
    #expect(!report.measurements.contains { $0.cache == .files || $0.cache == .sqlite })
    for action in [Action.diskStore, .diskGet, .diskMixed] {
      #expect(report.measurements.filter { $0.action == action }.count == 1 + expected.count)
    }
  }

  @Test func `churn never uses more than the capacity, and says what is written for what is stored`() throws {
    let report = try Self.report([.churn], "--value-size 2000 --capacity 2000000")
    let figure = try #require(report.disk?.churn.first)
    #expect(figure.mostBytes <= 2_000_000)
    #expect(figure.mostBytes > 1_000_000)
    #expect(figure.liveShare > 0.3 && figure.liveShare <= 1)
    #expect(figure.spaceAmplification >= 1)
    if ProcessIO.now != nil { #expect(try #require(figure.writtenPerByte) >= 1) }
    #expect(report.text.contains("Churn at capacity"))
  }

  @Test func `a cold get is counted in reads`() throws {
    let figures = try Self.report([.cold], "--value-size 16384").disk?.coldGets ?? []
    guard ProcessIO.now != nil else { return }
    #expect(figures.map(\.cache) == [.ours, .rawFile])
    #expect(figures.allSatisfy { $0.readCallsPerGet >= 1 && $0.gets == 30 })
  }

  @Test func `opening is measured in processes of its own, closed or killed before`() throws {
    let report = try Self.report([.reopen], "--value-size 500")
    #expect(report.disk?.openings.map(\.ending) == [.closed, .killed])
    #expect(report.disk?.openings.allSatisfy { $0.entries == 30 } ?? false)
  }

  @Test func `every target of the disk has a row, and what was measured a verdict`() throws {
    let report = try Self.report([], "--targets --capacity 2000000")
    #expect(report.targets.count == 16)
    for row in report.targets where row.figure == nil {
      // What is not there cannot be measured.
      let isMissing = row.what.contains("SQLite") && SQLiteLibrary.shared == nil || ProcessIO.now == nil
      #expect(isMissing, "\(row.what)")
    }
    #expect(report.text.contains("Targets"))
  }
}
