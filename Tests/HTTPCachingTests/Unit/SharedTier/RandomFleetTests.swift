// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Random faults of nodes and tier", .timeLimit(.minutes(10)))
struct RandomFleetTests {
  @Test("No node in step serves what was removed everywhere", arguments: [UInt64](0..<usually(20, long: 400)))
  func holds(seed: UInt64) async throws {
    func run(_ directory: FilePath?) async throws {
      var fleet = try await RandomFleet(seed: seed, in: directory)
      let violation = try await fleet.run(300)
      #expect(violation == nil, "\(fleet.report)")
      fleet.close()
    }
    // A removal on disk waits for the disk.
    if seed % 4 == 0 { try await withTemporaryDirectory(run) } else { try await run(nil) }
  }

  @Test("The same driver notices nodes that do not follow the log")
  func notices() async throws {
    var violations = 0
    for seed in 0..<20 as Range<UInt64> {
      var fleet = try await RandomFleet(seed: seed, isBroken: true)
      if try await fleet.run(300) != nil { violations += 1 }
    }
    #expect(violations >= 10)
  }

  @Test("The driver checks answers that come without validation")
  func checks() async throws {
    var (checked, confirmations) = (0, 0)
    for seed in 0..<20 as Range<UInt64> {
      var fleet = try await RandomFleet(seed: seed)
      _ = try await fleet.run(300)
      checked += fleet.checked
      confirmations += fleet.confirmations
    }
    #expect(checked > 500)
    #expect(confirmations > 30)
  }
}
