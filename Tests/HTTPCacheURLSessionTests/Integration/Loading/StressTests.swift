// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import Testing

@Suite("Many concurrent requests of all kinds", .timeLimit(.minutes(10)))
struct StressTests {
  /// More requests run in ``LongStressTests``.
  @Test("Every answer is correct")
  func everything() async throws {
    try await Setting.with { request in
      await StressLoad.answer(request)
    } test: { setting async throws in
      #expect(await StressLoad.run(600, setting) == [])
      try await setting.cache.fetches.emptied()
    }
  }
}
