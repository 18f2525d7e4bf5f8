// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if os(Linux)
  import Testing

  @Suite("What abandoned loads leave behind", .timeLimit(.minutes(10)))
  struct AbandonedTests {
    // In a process of its own, because its descriptors and threads are counted.
    @Test("300 contents that are left, and 60 suspended tasks, leave no descriptor and no thread")
    func abandoned() async {
      await #expect(processExitsWith: .success) {
        let load = try await AbandonedLoad()
        try await load.leave(300)
        try await load.suspend(60)
        try await load.isSettled()
        await load.stop()
      }
    }
  }
#endif
