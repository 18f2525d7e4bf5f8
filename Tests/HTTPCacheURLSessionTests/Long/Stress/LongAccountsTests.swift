// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if os(Linux)
  import Testing

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
