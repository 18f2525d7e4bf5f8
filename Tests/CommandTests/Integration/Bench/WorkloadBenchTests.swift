// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import HTTPCacheStore
import TestSupport
import Testing

@testable import CacheBench

@Suite(.timeLimit(.minutes(10))) struct WorkloadBenchTests {
  private static let flags = [
    "--keys", "300", "--value-size", "100", "--threads", "2", "--rounds", "2", "--seconds", "0.002",
  ]

  private func bench(_ more: [String] = [], readsBody: Bool = true) throws -> WorkloadBench {
    WorkloadBench(
      options: try WorkloadOptions.parse(Self.flags + more), readsBody: readsBody,
      progress: ProgressLine(isShown: false))
  }

  @Test(arguments: [true, false])
  func `get finds every key in every cache, with one thread and with two`(readsBody: Bool) throws {
    let measurements = try bench(readsBody: readsBody).run(.get)
    #expect(Set(measurements.map(\.action)) == [readsBody ? .getAndRead : .getByKey])
    let all: Set<Contender> = [
      .ours, .oursS3FIFO, .floor, .floorApart, .dictionary, .nodes, .nsCache,
    ]
    for threads in [1, 2] {
      let some = measurements.filter { $0[.threads] == Double(threads) && $0.kind == .throughput }
      #expect(Set(some.map(\.contender)) == all)
      #expect(some.count == all.count)
      for one in some {
        #expect(one[.hitRatio] == 1)
        #expect(try #require(one[.operations]) > 0)
        #expect(try #require(one[.processorNanoseconds]) > 0)
      }
    }
    let latencies = measurements.filter { $0.kind == .latency }
    #expect(Set(latencies.map(\.contender)) == all)
    for one in latencies {
      let curve = try #require(one.latencyCurve)
      #expect(curve.map(\.nanoseconds) == curve.map(\.nanoseconds).sorted())
      #expect(curve.first { $0.percent == 50 }.map { Double($0.nanoseconds) } == one[.p50Nanoseconds])
    }
  }

  @Test func `mixed stores missed keys and hits others`() throws {
    let measurements = try bench(["--distribution", "uniform", "--capacity", "0.5"]).run(.mixed)
    #expect(Set(measurements.map(\.contender)) == [.ours, .oursS3FIFO, .nodes, .nsCache])
    for one in measurements {
      #expect(one.action == .mixed)
      #expect(one[.capacityEntries] == 150)
      let ratio = try #require(one[.hitRatio])
      // Half of the keys have room.
      if one.contender == .ours || one.contender == .nodes { #expect((0.3...0.7).contains(ratio)) }
    }
  }

  @Test func `with room for all keys, mixed has only hits`() throws {
    for one in try bench(["--capacity", "1"]).run(.mixed) where one.contender == .nodes {
      #expect(one[.hitRatio] == 1)
    }
  }

  @Test func `decide is measured beside get, and judging a response separately`() throws {
    let bench = try bench()
    let decide = try bench.run(.decide)
    #expect(Set(decide.map(\.action)) == [.get, .decide])
    #expect(decide.allSatisfy { $0[.hitRatio] == 1 && $0[.threads] == 1 })
    #expect(Set(try bench.run(.judge).map(\.action)) == [.judge])
  }

  @Test func `a cache that loses entries ends the measurement`() throws {
    struct Forgetful: KeyedCache {
      func bodyCount(of key: StoreKey) -> Int? { nil }
      func bodyByte(of key: StoreKey) -> UInt8? { nil }
      func put(_ key: StoreKey, _ body: [UInt8]) -> Bool { true }
    }
    let bench = try bench()
    let arrivals = bench.draws(threads: 1, run: 1)
    for readsBody in [false, true] {
      let lane = Lane.get(.dictionary, Forgetful(), [], readsBody: readsBody, valueSize: 100)
      #expect(throws: BenchError.self) {
        _ = try bench.options.run.contest([lane.entrant(over: arrivals)], .throughput, keys: 300, threads: 1)
          .run(ProgressLine(isShown: false))
      }
    }
  }

  @Test func `a round continues where the previous one ended`() throws {
    let arrivals = Arrivals(Array(0..<7)[...])
    let seen = Recorder<Int>()
    let lane = Lane(name: .ours, action: .churn) { _ in
      { position in
        seen.add(position)
        return true
      }
    }
    _ = try bench().options.run.contest([lane.entrant(over: [arrivals])], .throughput, keys: 7, threads: 1)
      .run(ProgressLine(isShown: false))
    let positions = seen.all
    #expect(positions.count >= 2 * 16)
    #expect(positions.indices.allSatisfy { positions[$0] == $0 % 7 })
  }

  @Test func `the hash is measured in Swift, and with libxxhash if available, at each length`()
    throws
  {
    let options = try RoundOptions.parse(["--rounds", "2", "--seconds", "0.001"])
    let figures = try HashBench(options: options, progress: ProgressLine(isShown: false)).run()
    let names: [Contender] = XXH3.usesLibrary ? [.swiftHash, .libraryHash] : [.swiftHash]
    for length in [16.0, 64, 1024, 65_536] {
      let some = figures.filter { $0[.valueBytes] == length }
      #expect(some.map(\.contender) == names)
      #expect(some.allSatisfy { ($0[.nanoseconds] ?? 0) > 0 && $0[.hitRatio] == nil })
    }
    #expect(figures.ratios.count == (XXH3.usesLibrary ? 4 : 0))
    let text = Report(command: "hash", measurements: figures).text
    #expect(text.contains("hash, 16.0 B") && text.contains("hash, 64.0 KiB"))
  }

  @Test func `memory reports the bytes that each cache uses for an entry`() throws {
    let figures = try MemoryBench(keys: 500, valueSize: 1000, progress: ProgressLine(isShown: false)).run()
    #expect(figures.map(\.contender) == [.ours, .oursS3FIFO, .dictionary, .nodes, .nsCache, .urlCache])
    for one in figures {
      #expect(one[.entries] == 500)
      // Other tests run beside this one: only that keys and values are in it can be told.
      if let beyond = one[.accountedBeyond] { #expect((1...1000).contains(beyond)) }
    }
    #expect(figures[0][.accountedBytes] != nil)
  }

  @Test func `churn has no hit ratio`() throws {
    let measurements = try bench().run(.churn)
    #expect(Set(measurements.map(\.action)) == [.churn])
    #expect(measurements.allSatisfy { $0[.hitRatio] == nil })
  }
}
