// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import ChildProcesses
import Foundation
import HTTPCacheStore
import SystemPackage
import TestSupport
import Testing

@Suite("Recovery after a killed process", .timeLimit(.minutes(60)))
struct CrashTests {
  @Test(
    "A store whose process was killed is intact, without removed entries, and within its capacity",
    arguments: CrashRoom.allCases)
  func killed(room: CrashRoom) async throws {
    let executable = try #require(Program.built("TestTool"), "TestTool is not beside the tests")
    try await withTemporaryFolder { folder in
      var model = CrashModel()
      var store = folder.appendingPathComponent("0")
      var random = SplitMix64(seed: UInt64(room.capacity))
      for round in 0..<(CrashEnvironment.rounds ?? 10) {
        let steps = Int.random(in: 1...400, using: &random)
        let seed = Int.random(in: 0...1_000_000, using: &random)
        try await Self.run(
          executable, on: store.path, seed: seed, capacity: room.capacity,
          syncsRemovals: round.isMultiple(of: 4), killedAfter: steps, &model)
        // Either what was looked at and closed goes on, or what was left behind.
        var looked = store
        if !Bool.random(using: &random) {
          looked = folder.appendingPathComponent("copy \(round)")
          try FileManager.default.copyItem(at: store, to: looked)
        }
        let opened = try CacheStore(room.configuration(FilePath(looked.path)))
        let problems = model.problems(of: opened, room)
        if looked != store { try FileManager.default.removeItem(at: looked) }
        #expect(problems.isEmpty, "round \(round), seed \(seed), killed after \(steps) steps")
        if !problems.isEmpty {
          (store, model) = (folder.appendingPathComponent("\(round + 1)"), CrashModel())
        }
      }
    }
  }

  /// Runs a process until it has told of so many steps, and kills it.
  private static func run(
    _ executable: String, on directory: String, seed: Int, capacity: Int, syncsRemovals: Bool,
    killedAfter steps: Int, _ model: inout CrashModel
  ) async throws {
    let process = try ChildProcess(
      executable,
      [
        "crash", directory, "--seed", "\(seed)", "--first", "\(model.last + 1)", "--capacity", "\(capacity)",
        "--largest", "100000",
      ] + (syncsRemovals ? ["--syncs-removals"] : []), errors: .inherited)
    var done = 0
    // What it had told before it died comes before the end.
    for try await line in process.output.lines {
      model.read(line)
      if line == "+" || line == "-" { done += 1 }
      if done == steps { process.kill() }
    }
    let end = try await process.endOrKill()
    if end != .signalled(SIGKILL) {
      model.complain("the process ended by itself: \(end), after \(done) steps")
    }
  }
}
