// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import Testing

@testable import CacheBench

@Suite(.timeLimit(.minutes(10))) struct FlagTests {
  @Test(arguments: [
    "throughput --keys 0", "throughput --keys=-1", "throughput --keys 99999999999999999999",
    "throughput --keys many", "throughput --value-size 0", "throughput --value-size=-1",
    "throughput --threads 0", "throughput --threads 257", "throughput --seconds 0",
    "throughput --seconds=-1", "throughput --seconds nan", "throughput --seconds inf",
    "throughput --rounds 0", "throughput --seed=-1", "throughput --tier floppy",
    "throughput --distribution normal", "throughput --zipf-exponent 0", "throughput --zipf-exponent nan",
    "throughput --capacity 0", "throughput --disk-keys 0", "throughput --unknown", "throughput stray",
    "latency --keys 0", "latency --seconds 0", "session --requests 0", "session --value-size 0",
    "session --requests 1000001", "quick --keys 3", "nonsense",
    "workload --threads 0", "workload --threads 257", "workload --keys 0", "workload --keys 1 --threads 2",
    "workload --capacity=-1", "workload --capacity 0", "workload --capacity 1.1", "workload --capacity nan",
    "workload --shards 3", "workload --shards 2048", "workload --seconds 0", "workload --rounds=-1",
    "workload sing", "workload --baseline a",
    "workload --keys 100000000 --value-size 1073741824", "memory --keys 0", "memory --value-size 0",
    "memory --keys 100000000 --value-size 1073741824", "replay", "replay t --capacity 0",
    "replay t --capacity=-0.1", "replay t --generated zipf", "replay --generated lru",
    "replay --generated zipf --keys 0",
    "scale --keys 10", "scale --keys 10001", "scale --operations 7", "scale --eviction fifo",
    "replay --generated zipf --requests 0",
    "replay t --capacity 2", "replay t --eviction fifo", "replay t --sizes large", "replay t --shards 0",
    "disk sing", "disk --keys 0", "disk --value-size 0", "disk --capacity 1", "disk --seconds 0",
    "disk --rounds 0", "disk --beside oracle", "disk --beside sqlite", "disk --targets",
    "disk --keys 10000000 --value-size 67108864",
    "hash --rounds 0", "hash --keys 5", "report", "targets", "proxy", "--nonsense",
  ])
  func `a bad flag is a usage error`(line: String) {
    #expect(refusal(of: line, CacheBench.self) == 64)
  }

  @Test(arguments: [
    ("--keys 100000000 --value-size 1073741824", "--keys 100000000"),
    ("--tier both --keys 1 --disk-keys 1000000 --value-size 1073741824", "--disk-keys 1000000"),
  ])
  func `a run too large for memory is refused before it begins`(line: String, named: String) {
    let arguments = ["throughput"] + line.split(separator: " ").map(String.init)
    let error = #expect(throws: (any Error).self) { _ = try CacheBench.parseAsRoot(arguments) }
    guard let error else { return }
    #expect(CacheBench.exitCode(for: error).rawValue == 64)
    #expect(CacheBench.message(for: error).contains(named))
    #expect(CacheBench.message(for: error).contains("GiB"))
  }

  @Test func `a refusal names the flag, the value and the valid range`() {
    let error = #expect(throws: (any Error).self) {
      _ = try CacheBench.parseAsRoot(["latency", "--threads", "0"])
    }
    guard let error else { return }
    #expect(CacheBench.message(for: error) == "--threads: expected 1 to 256, found 0")
  }

  @Test(arguments: ["proxy hit --seconds 5", "targets", "report a.json"])
  func `a command of the other program is refused with its name`(line: String) {
    let error = #expect(throws: (any Error).self) {
      _ = try CacheBench.parseAsRoot(line.split(separator: " ").map(String.init))
    }
    #expect(error.map { CacheBench.message(for: $0).contains("cache-bench-servers") } == true)
  }

  @Test func `the default options are those that the targets assume`() throws {
    let options = try StoreOptions.parse([])
    #expect(options.keys == 10_000)
    #expect(options.run.valueSize == 1024)
    #expect(options.diskKeys == 100)
    #expect(options.threads == 1)
    #expect(options.run.distribution == .zipf)
    #expect(options.run.zipfExponent == 0.99)
    #expect(options.tier == .memory)
    #expect(!options.run.round.json)
    let workload = try WorkloadOptions.parse([])
    #expect(workload.keys == 1_000_000)
    #expect((1...8).contains(workload.threads))
  }

  @Test(arguments: [
    "throughput --keys 5 --value-size 100 --distribution uniform --threads 2 --seconds 0.5 --seed 7 --json",
    "latency --tier both --zipf-exponent 1.2 --capacity 100000 --rounds 3", "session --requests 5",
    "quick --json", "workload get --no-body", "workload judge",
    "workload get mixed --keys 10 --capacity 0.5 --shards 4",
    "memory --keys 5 --json",
    "replay t --capacity 0.1 --capacity 1 --eviction lru --sizes real --shards 16",
    "replay --generated shifting-zipf --keys 100 --requests 1000 --seed 3 --eviction belady-size",
    "disk", "disk put get --keys 10 --value-size 100 --value-size 200 --json",
    "disk churn --capacity 9000000", "disk --beside raw --beside files",
    "hash --seconds 0.5 --rounds 3 --json",
  ])
  func `valid flags are accepted`(line: String) throws {
    _ = try CacheBench.parseAsRoot(line.split(separator: " ").map(String.init))
  }

  @Test func `the default subcommand is quick`() throws {
    #expect(try CacheBench.parseAsRoot([]) is Quick)
  }

  @Test func `URLCache is left out with many keys, and the notes say so`() throws {
    let few = StoreBench(
      options: try StoreOptions.parse(["--tier", "both"]), kind: .latency, progress: ProgressLine())
    #expect(few.notes.isEmpty)
    let many = StoreBench(
      options: try StoreOptions.parse(["--keys", "50001", "--tier", "both", "--disk-keys", "501"]),
      kind: .latency, progress: ProgressLine())
    #expect(!many.options.includesURLCache)
    #expect(many.notes.count == 2)
  }
}
