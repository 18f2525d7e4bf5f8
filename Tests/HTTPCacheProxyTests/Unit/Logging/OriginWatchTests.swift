// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import InMemoryLogging
import Logging
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("What the proxy logs of its origin", .timeLimit(.minutes(10)))
struct OriginWatchTests {
  @Test("Many failed requests cause one warning, and the first answer a notice with their number")
  func failures() async throws {
    let handler = InMemoryLogHandler()
    let watch = OriginWatch(
      SiteStatistics(), Logger(label: "test") { _ in handler },
      clock: ManualClock(Timestamp(seconds: 1_000_000)))
    for _ in 1...20 {
      await #expect(throws: OriginError.self) {
        try await watch.observe { throw OriginError(.connectionTerminated, "the origin is gone") }
      }
    }
    for _ in 1...3 { try await watch.observe {} }
    #expect(handler.entries.map(\.level) == [.warning, .notice])
    #expect(handler.entries.last?.message == "the origin answers again")
    #expect(handler.entries.last?.metadata["failures"] == "19")
  }

  @Test("A shortage in the proxy is not logged as a failure of the origin")
  func shortage() async throws {
    let handler = InMemoryLogHandler()
    let watch = OriginWatch(
      SiteStatistics(), Logger(label: "test") { _ in handler },
      clock: ManualClock(Timestamp(seconds: 1_000_000)))
    await #expect(throws: OriginError.self) {
      try await watch.observe { throw OriginError(.proxyInternalError, "no descriptor is left") }
    }
    try await watch.observe {}
    #expect(
      handler.entries.map(\.message) == [
        "no descriptor is left", "connections to the origin can be opened again",
      ])
    #expect(handler.entries.first?.metadata["kind"] == "proxy_internal_error")
  }
}
