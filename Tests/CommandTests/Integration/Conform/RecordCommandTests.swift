// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import httpcache

@Suite("httpcache record", .timeLimit(.minutes(10)))
struct RecordCommandTests {
  @Test("An unreachable server ends the command with status 1")
  func unreachable() async throws {
    try await withTemporaryFolder { folder in
      let words = ["record", "http://127.0.0.1:1/", "--folder", folder.path + "/recorded"]
      var command = try #require(try HTTPCacheCommand.parseAsRoot(words) as? any AsyncParsableCommand)
      await #expect(throws: ExitCode(1)) { try await command.run() }
    }
  }
}
