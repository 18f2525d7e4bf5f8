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
