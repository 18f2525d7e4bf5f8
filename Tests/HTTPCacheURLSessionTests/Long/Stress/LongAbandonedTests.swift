// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if os(Linux)
  import Testing

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
#endif
