// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if os(Linux)
  import Foundation
  import HTTPCacheURLSession
  import TestSupport
  import Testing

  @Suite("What many accounts leave behind", .timeLimit(.minutes(10)))
  struct AccountsTests {
    // In a process of its own, because its descriptors are counted.
    @Test("The configurations and sessions of 100 accounts leave no descriptor and no cache open")
    func accounts() async {
      await #expect(processExitsWith: .success) {
        let load = try await AccountLoad()
        for _ in 0..<10 { try await load.run(accounts: 10) }
        #expect(try await load.settledDescriptors() <= load.firstDescriptors)
        await load.stop()
      }
    }

    @Test("A cache that nothing uses any longer releases its directory, without close()")
    func release() async {
      await #expect(processExitsWith: .success) {
        let load = try await AccountLoad()
        let folder = temporaryURL()
        defer { try? FileManager.default.removeItem(at: folder) }
        try await load.openAndForget(folder)
        // Foundation releases the session's queue later.
        try await eventually {
          (try? HTTPCache(.init(diskCapacity: 4 << 20, directory: folder)))?.close() != nil
        }
        await load.stop()
      }
    }
  }
#endif
