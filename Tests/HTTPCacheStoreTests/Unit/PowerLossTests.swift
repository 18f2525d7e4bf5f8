// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Recovery after a power loss", .timeLimit(.minutes(60)))
struct PowerLossTests {
  /// Each seed is a history of three losses; the middle of it is wherever the seed says, be it within a step.
  @Test(
    "A store is intact after a power loss, whichever unsynced writes survive",
    arguments: SimulatedFileSystem.Loss.allCases, CrashRoom.allCases)
  func lost(loss: SimulatedFileSystem.Loss, room: CrashRoom) throws {
    for seed in 0..<UInt64(CrashEnvironment.rounds ?? 2) {
      let problems = try Self.history(loss, room, seed: seed)
      #expect(problems.isEmpty, "\(loss), \(room), seed \(seed)")
    }
  }

  private static func history(
    _ loss: SimulatedFileSystem.Loss, _ room: CrashRoom, seed: UInt64
  ) throws -> [String] {
    var random = SplitMix64(seed: seed &* 77 &+ 5)
    var files = SimulatedFileSystem()
    var model = CrashModel()
    for _ in 0..<3 {
      let directory = FilePath("/simulated")
      let store = try CacheStore(room.configuration(directory), files: files)
      files.die(afterChanges: Int.random(in: 1..<400, using: &random))
      var workload = CrashWorkload(
        store: store, seed: random.next(), first: model.last + 1, largest: 40_000)
      for _ in 0..<2000 where !files.isDead {
        workload.step(
          begin: { model.begin($0) },
          // No caller hears what is acknowledged after the power has gone.
          end: { if !files.isDead { model.end($0) } },
          complain: { if !files.isDead { model.complain($0) } })
      }
      files = files.afterPowerLoss(loss, seed: random.next())
      // Where a later write is there and an earlier one is not, all before it is dropped: a cache may forget.
      let keepsFlushed = loss == .everything || loss == .tail
      let opened = try CacheStore(room.configuration(directory), files: files)
      let problems = model.problems(of: opened, room, keepsFlushed: keepsFlushed)
      if !problems.isEmpty {
        return problems + (CrashEnvironment.isVerbose ? [model.story.joined(separator: "; ")] : [])
      }
    }
    return []
  }
}
