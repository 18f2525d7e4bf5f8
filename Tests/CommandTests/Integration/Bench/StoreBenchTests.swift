// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import Foundation
import Testing

@testable import CacheBench

@Suite(.timeLimit(.minutes(10))) struct StoreBenchTests {
  /// A run as small as can be, of everything that `throughput` and `latency` measure.
  static func report(_ kind: BenchMeasurement.Kind, _ flags: String = "") throws -> Report {
    let options = try StoreOptions.parse(
      "--keys 40 --disk-keys 4 --value-size 100 --tier both --rounds 2 --seconds 0.002 \(flags)"
        .split(separator: " ").map(String.init))
    return try StoreBench(options: options, kind: kind, progress: ProgressLine(isShown: false)).report()
  }

  @Test func `throughput measures the engine and the yardsticks, and compares them`() throws {
    let report = try Self.report(.throughput)
    let measurements = report.measurements.filter { $0.kind == .throughput }
    func actions(_ contender: Contender) -> Set<Action> {
      Set(measurements.filter { $0.contender == contender }.map(\.action))
    }
    #expect(
      actions(.ours) == [
        .get, .getByKey, .decide, .miss, .store, .storeAgain, .judgeAndStore, .diskGet, .diskStore,
      ])
    #expect(actions(.urlCache) == [.get, .miss, .store, .storeAgain, .diskGet, .diskStore])
    #expect(actions(.dictionary) == [.get, .getByKey, .miss, .store, .storeAgain])
    #expect(actions(.floor) == [.get, .getByKey, .miss, .store])
    for one in measurements {
      #expect(try #require(one[.operationsPerSecond]) > 0)
      #expect(one.byRound.count == 2)
      #expect(one[.p50Nanoseconds] == nil)
    }
    let ratios = report.measurements.filter { $0.kind == .ratio }
    #expect(ratios.count + measurements.count == report.measurements.count)
    let targets = ratios.filter { $0[.target] != nil }
    #expect(Set(targets.map(\.action)) == [.get, .storeAgain, .diskGet, .diskStore])
    #expect(targets.allSatisfy { $0.against?.contender == .urlCache })
    #expect(report.measurements.first { $0[.bytesOfHead] != nil }?.contender == .ours)
  }

  @Test func `lookups of stored keys all hit, and lookups of absent keys all miss`() throws {
    let report = try Self.report(.throughput, "--threads 2 --distribution uniform")
    for one in report.measurements where one.kind == .throughput {
      switch one.action {
      case .get, .getByKey, .decide, .diskGet: #expect(one[.hitRatio] == 1)
      case .miss: #expect(one[.hitRatio] == 0)
      default: #expect(one[.hitRatio] == nil)
      }
    }
  }

  @Test func `too small a capacity costs hits and is not an error`() throws {
    let report = try Self.report(.throughput, "--capacity 10000")
    let get = try #require(report.measurements.first(.get, .ours))
    #expect(try #require(get[.hitRatio]) < 1)
    #expect(report.measurements.first(.mixed, .ours) != nil)
    #expect(report.notes.contains { $0.contains("capacity") })
  }

  @Test func `each latency has percentiles`() throws {
    let report = try Self.report(.latency)
    let latencies = report.measurements.filter { $0.kind == .latency }
    #expect(!latencies.isEmpty)
    #expect(latencies.allSatisfy { $0[.p50Nanoseconds] != nil && $0[.maxNanoseconds] != nil })
    #expect(report.text.contains("p99.9"))
    #expect(report.text.contains("reading the clock"))
  }

  @Test func `the JSON report is one document with units in its names`() throws {
    let report = try Self.report(.latency)
    let document = try #require(
      try JSONSerialization.jsonObject(with: Data(report.json().utf8)) as? [String: Any])
    #expect(
      Set(document.keys) == [
        "format", "command", "machine", "parameters", "measurements", "targets", "notes",
      ])
    #expect(document["format"] as? Int == 3)
    let machine = try #require(document["machine"] as? [String: Any])
    #expect((machine["cores"] as? Int ?? 0) > 0)
    #expect(machine["operatingSystem"] is String)
    #expect(machine["swiftCompiler"] is String)
    #expect(machine["clockNanoseconds"] is Double)
    let parameters = try #require(document["parameters"] as? [String: Any])
    #expect(parameters["keys"] as? Int == 40)
    #expect(parameters["valueBytes"] as? Int == 100)
    let measurements = try #require(document["measurements"] as? [[String: Any]])
    let first = try #require(measurements.first)
    for name in ["kind", "action", "contender", "figures", "byRound", "latencyCurve"] {
      #expect(first[name] != nil, "\(name)")
    }
    let figures = try #require(first["figures"] as? [String: Any])
    #expect(
      Set(figures.keys) == [
        "entries", "valueBytes", "threads", "operations", "operationsPerSecond", "nanoseconds",
        "p50Nanoseconds", "p90Nanoseconds", "p99Nanoseconds", "p999Nanoseconds", "maxNanoseconds",
        "bytesBeyondKeyAndBody", "bytesOfHead",
      ])
    let again = try JSONDecoder().decode(Report.self, from: Data(report.json().utf8))
    #expect(again.measurements == report.measurements)
  }
}
