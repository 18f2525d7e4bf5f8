// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheURLSession
import TestSupport
import Testing

@Suite("A session with the cache beside a plain one", .timeLimit(.minutes(60)))
struct DifferentialTests {
  @Test(
    "What differs from a plain session, cold, as a hit and revalidated, has a reason",
    arguments: WireCases.allCases,
    [false, true])
  func differences(_ kind: WireCases, onDisk: Bool) async throws {
    try await withTemporaryDirectory { folder in
      try await Differential.with(kind.all, in: onDisk ? folder : nil) { differential in
        for number in differential.cases.indices {
          let faults = try await differential.faults(number)
          #expect(faults == [])
        }
      }
    }
  }
}
