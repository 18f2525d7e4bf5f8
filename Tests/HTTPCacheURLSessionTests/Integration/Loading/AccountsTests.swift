// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if os(Linux)
  import Foundation
  import FoundationNetworking
  import TestSupport
  import Testing

  @testable import HTTPCacheURLSession

  @Suite("What many accounts leave behind", .timeLimit(.minutes(10)))
  struct AccountsTests {
    // In a process of its own, because its descriptors are counted.
    @Test("The configurations and sessions of 100 accounts leave no descriptor and no cache open")
    func accounts() async {
      await #expect(processExitsWith: .success) {
        let load = try await AccountLoad()
        try await load.run(accounts: 50)
        try await load.run(accounts: 50, atOnce: 10)
        try await load.descriptorsAreClosed()
        await load.stop()
      }
    }

    @Test("An idle session to origins ends after its time, and one in use does not")
    func idle() async throws {
      let sessions = OriginSessions(idleTime: .milliseconds(20), idleLimit: 8)
      let other = URLSessionConfiguration.ephemeral
      let used = sessions.lease(.init(other, nil))
      for _ in 1...3 { _ = sessions.lease(.init(.default, nil)) }
      #expect(sessions.count == 2)
      try await eventually { sessions.count == 1 }
      withExtendedLifetime(used) {}
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
