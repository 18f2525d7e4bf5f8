// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import Testing

@testable import CacheBenchServers

@Suite(.timeLimit(.minutes(10))) struct DatabasesTests {
  private static func report(_ line: String) throws -> Report {
    let words = "--keys 30 --rounds 2 --seconds 0.002 \(line)".split(separator: " ").map(String.init)
    return try DatabasesCommand.parse(words).report(ProgressLine(isShown: false))
  }

  @Test func `put, get and mixed are compared with each installed database`() throws {
    var (flags, expected) = ("--value-size 5000 --beside raw", [Contender.rawFile])
    for (flag, name) in [("sqlite", Contender.sqlite), ("lmdb", .lmdb), ("rocksdb", .rocksDB)]
    where name.isInstalled { (flags, expected) = ("\(flags) --beside \(flag)", expected + [name]) }
    let report = try Self.report(flags)
    let measurements = report.measurements.filter { $0.kind == .throughput }
    #expect(Set(measurements.map(\.contender)) == Set([.ours] + expected))
    for action in [Action.diskStore, .diskGet, .diskMixed] {
      #expect(measurements.filter { $0.action == action }.count == 1 + expected.count)
    }
    let ratios = report.measurements.filter { $0.kind == .ratio && $0.action == .diskGet }
    #expect(Set(ratios.compactMap { $0.against?.contender }) == Set(expected))
  }
}
