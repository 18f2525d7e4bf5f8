// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Interim responses", .timeLimit(.minutes(10)))
struct InterimTests {
  private static let hints = HTTPResponse(
    status: .init(code: 103), headerFields: [.server: "early"])

  private static func origin() -> MemoryOrigin {
    MemoryOrigin { _, number in
      TransportResponse(interim: HTTPResponse(status: .init(code: 102))) {
        TransportResponse(interim: hints) {
          .ok("\(number)", [.cacheControl: "max-age=60, stale-while-revalidate=60"])
        }
      }
    }
  }

  @Test("Interim responses reach the client in order, and only the final response is stored (RFC 9110 §15.2)")
  func passedOn() async throws {
    let setting = try Setting()
    let origin = Self.origin()
    let first = try await ask(setting, origin)
    #expect(first.log.all.map(\.status.code) == [102, 103])
    #expect(first.log.all.last?.headerFields[.server] == "early")
    #expect(first.response.head.headerFields[.server] == nil)

    let second = try await ask(setting, origin)
    #expect(second.log.all.isEmpty)
    #expect(second.response.source == .hit)
    #expect(second.response.head.status == .ok)
    #expect(origin.requests.count == 1)
  }

  @Test("Interim responses to a revalidation in the background reach no client")
  func notBehind() async throws {
    let setting = try Setting()
    let origin = Self.origin()
    _ = try await ask(setting, origin)
    setting.clock.advance(seconds: 70)
    let stale = try await ask(setting, origin)
    #expect(stale.response.source == .stale)
    try await origin.reach(2)
    try await setting.cache.fetches.emptied()
    #expect(stale.log.all.isEmpty)
  }

  private func ask(
    _ setting: Setting, _ origin: MemoryOrigin
  ) async throws -> (response: CachedResponse, log: Recorder<HTTPResponse>) {
    let log = Recorder<HTTPResponse>()
    let response = try await setting.cache.respond(
      to: .get(), interim: { log.add($0) }, transport: origin.transport)
    _ = try await response.body.collect(upTo: 1 << 10)
    return (response, log)
  }
}
