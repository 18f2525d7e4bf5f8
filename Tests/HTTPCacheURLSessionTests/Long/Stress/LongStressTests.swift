// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching
import Testing

/// `STRESS_REQUESTS` sets how many requests.
@Suite("Many thousand requests of all kinds, a hundred at once", .timeLimit(.minutes(60)))
struct LongStressTests {
  private static let requests =
    ProcessInfo.processInfo.environment["STRESS_REQUESTS"].flatMap { Int($0) } ?? 10_000

  @Test("Every answer is correct, and memory does not grow in the second half")
  func everything() async throws {
    try await Setting.with { request in
      await StressLoad.answer(request)
    } test: { setting async throws in
      #expect(await StressLoad.run(Self.requests, setting) == [])
      try await setting.cache.fetches.emptied()
    }
  }
}

/// Foundation on Linux ends the process when a cancellation meets the end of a task, or a redirect, at the wrong moment.
@Suite("Cancellation at every moment, in many rounds", .timeLimit(.minutes(60)))
struct LongCancellationTests {
  @Test(
    "A cancelled load ends once and affects no other load",
    arguments: CancellationLoad.Kind.allCases, CancellationLoad.Form.allCases)
  func cancelled(_ kind: CancellationLoad.Kind, _ form: CancellationLoad.Form) async throws {
    #expect(try await CancellationLoad.run(kind, form, rounds: 60) == [])
  }
}

#if os(Linux)
  @Suite("What many abandoned loads leave behind", .timeLimit(.minutes(30)))
  struct LongAbandonedTests {
    @Test("10,000 contents that are left leave no descriptor, no thread, and at most 1 KB each")
    func contents() async {
      await #expect(processExitsWith: .success) {
        let load = try await AbandonedLoad()
        try await load.leave(1000)
        try load.remember()
        let before = try ProcessUse.residentBytes
        try await load.leave(10_000)
        try await load.isSettled()
        #expect(try ProcessUse.residentBytes - before <= 10_000 << 10)
        await load.stop()
      }
    }

    @Test("1,000 suspended tasks leave no descriptor, no thread, and at most 16 KB each")
    func tasks() async {
      await #expect(processExitsWith: .success) {
        let load = try await AbandonedLoad()
        for _ in 1...2 { try await load.suspend(1000) }
        try load.remember()
        let before = try ProcessUse.residentBytes
        for _ in 1...2 { try await load.suspend(1000) }
        try await load.isSettled()
        let growth = try ProcessUse.residentBytes - before
        #expect(growth <= 2000 * 16 << 10, "\(growth)")
        await load.stop()
      }
    }
  }

  @Suite("What 2,000 accounts leave behind", .timeLimit(.minutes(10)))
  struct LongAccountsTests {
    @Test("The configurations and sessions of 2,000 accounts leave no descriptor, and at most 8 KB each")
    func accounts() async {
      await #expect(processExitsWith: .success) {
        let load = try await AccountLoad()
        try await load.run(accounts: 500)
        let before = try ProcessUse.residentBytes
        try await load.run(accounts: 1000)
        try await load.run(accounts: 1000, atOnce: 30)
        try await load.descriptorsAreClosed()
        #expect(try ProcessUse.residentBytes - before <= 2000 * 8 << 10)
        await load.stop()
      }
    }
  }
#endif
