// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import Foundation
import Testing

@testable import CacheBench

@Suite(.timeLimit(.minutes(10))) struct ReplayTests {
  private func trace(_ text: String) throws -> Trace {
    try Trace(name: "t", bytes: Array(text.utf8), path: "t")
  }

  /// Requests for keys of one letter, each of one byte.
  private func letters(_ text: String) throws -> Trace {
    try trace(text.map { "\($0) 1\n" }.joined())
  }

  @Test func `a trace is read with its keys, sizes and totals`() throws {
    let trace = try trace("a 10\nb\t20\r\na  10\nc 0")
    #expect(
      trace.requests == [
        .init(key: 0, bytes: 10), .init(key: 1, bytes: 20), .init(key: 0, bytes: 10), .init(key: 2, bytes: 0),
      ])
    #expect(trace.distinctKeys == 3)
    #expect(trace.distinctBytes == 30)
  }

  @Test(arguments: [
    ("", "empty"), ("a 1\nb\n", "line 2 has 1 word;"), ("a 1\n\nb 1\n", "line 2 is blank;"),
    ("a 1 2\n", "line 1 has 3 words;"),
    ("a x\n", "line 1"),
    ("a 1\nb -1\n", "line 2"), ("a 1.5\n", "line 1"), ("a 99999999999999999999\n", "line 1"),
    ("a 1073741825\n", "line 1"), ("a \u{1B}[31m\n", "line 1"),
    (String(repeating: "a", count: 70_000) + " 1\n", "line 1"),
  ])
  func `an invalid trace is refused with the line or the reason`(text: String, named: String) throws {
    let error = #expect(throws: FileError.self) { _ = try trace(text) }
    #expect(error?.exitCode == ExitCode(65))
    #expect(error?.description.contains(named) == true)
    #expect(error?.description.contains("\u{1B}") == false)
  }

  @Test func `a missing trace, or a directory, cannot be read`() {
    for path in ["/nonexistent/trace", "/"] {
      let error = #expect(throws: FileError.self) { _ = try Trace(path: path) }
      #expect(error?.exitCode == ExitCode(66))
    }
  }

  @Test func `a trace is read from a file`() throws {
    try TemporaryDirectory.with { directory in
      let path = directory + "/some.txt"
      try Data("a 1\nb 2\n".utf8).write(to: URL(fileURLWithPath: path))
      let trace = try Trace(path: path)
      #expect(trace.name == "some.txt")
      #expect(trace.distinctBytes == 3)
    }
  }

  // With room for two: a, b are misses; a hits; c puts b out; b is a miss and puts a out; c hits; a is a miss.
  @Test(arguments: [Contender.exactLRU, .ours])
  func `LRU gives the hits computed by hand`(policy: Contender) throws {
    let replayer = Replayer(trace: try letters("abacbca"), sizes: .replayUnits, shards: 1)
    let replay = try replayer.run(policy, capacityShare: 2.0 / 3)
    let expected: [Metric: Double] = [
      .capacity: 2, .requests: 7, .distinctKeys: 3, .hits: 2, .hitRatio: 2.0 / 7, .byteHitRatio: 2.0 / 7,
    ]
    for (metric, value) in expected { #expect(replay[metric] == value, "\(metric)") }
  }

  @Test func `with room for all keys, every policy hits every repeated key`() throws {
    for policy in Replayer.policies.map(\.value) {
      let replay = try Replayer(trace: try letters("abcabcabc"), sizes: .replayUnits, shards: 1)
        .run(policy, capacityShare: 1)
      #expect(replay[.hits] == 6, "\(policy)")
    }
  }

  @Test func `with real sizes, bytes count against the capacity and in the byte hit ratio`() throws {
    // Room for 60 of 120 bytes: the large one pushes out both small ones.
    let trace = try trace("a 10\nb 50\na 10\nc 60\na 10\nb 50\nb 50\n")
    let replay = try Replayer(trace: trace, sizes: .replayBytes).run(.exactLRU, capacityShare: 0.5)
    #expect(replay[.capacityBytes] == 60)
    #expect(replay[.hits] == 2)
    #expect(replay[.byteHitRatio] == 60.0 / 240)
  }

  @Test func `S3-FIFO hits frequent keys that LRU misses`() throws {
    // Keys that come once between keys that come often: S3-FIFO keeps those.
    var text = ""
    for round in 0..<200 {
      for key in 0..<10 { text += "hot\(key) 1\n" }
      for key in 0..<20 { text += "once\(round)-\(key) 1\n" }
    }
    let replayer = Replayer(trace: try trace(text), sizes: .replayUnits, shards: 1)
    let lru = try replayer.run(.ours, capacityShare: 20.0 / 4010)
    let s3fifo = try replayer.run(.oursS3FIFO, capacityShare: 20.0 / 4010)
    #expect(lru[.hits] == 0)
    #expect(try #require(s3fifo[.hitRatio]) > 0.2)
  }
}
