// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Handlers in the same process", .timeLimit(.minutes(10)))
struct LocalOriginTests {
  private func respond(
    _ setting: Setting, _ origin: MemoryOrigin, _ fields: HTTPFields = [:], background: MemoryOrigin? = nil
  ) async throws -> CachedResponse {
    let response = try await setting.cache.respond(
      to: .get(fields: fields), body: .empty, partition: nil,
      from: LocalOrigin(background: background?.transport), handler: origin.transport)
    _ = try await response.body.collect(upTo: .max)
    return response
  }

  private let staleable: HTTPFields = [.cacheControl: "max-age=60, stale-while-revalidate=60"]

  @Test("Without a background transport, a stale response is revalidated before its use")
  func foreground() async throws {
    let setting = try Setting(kind: .shared)
    let origin = MemoryOrigin { [staleable] _, number in .ok("\(number)", staleable) }
    _ = try await respond(setting, origin)
    setting.clock.advance(seconds: 90)
    let response = try await respond(setting, origin)
    #expect(response.source == .network)
    #expect(origin.requests.count == 2)
  }

  @Test(
    "A response to HEAD from the store knows the length of the stored content",
    arguments: [
      [.cacheControl: "max-age=60"], [.cacheControl: "max-age=60", .vary: "Accept"],
    ] as [HTTPFields])
  func lengthForHead(fields: HTTPFields) async throws {
    let setting = try Setting(kind: .shared)
    let origin = MemoryOrigin { _, _ in .ok("content", fields) }
    _ = try await respond(setting, origin)
    var request = HTTPRequest.get()
    request.method = .head
    let response = try await setting.cache.respond(
      to: request, body: .empty, partition: nil, from: LocalOrigin(), handler: origin.transport)
    #expect(response.source == .hit)
    #expect(response.storedLength == 7 && response.body.length == 0)
  }

  @Test("A background revalidation uses its own transport")
  func background() async throws {
    let setting = try Setting(kind: .shared)
    let origin = MemoryOrigin { [staleable] _, number in .ok("front \(number)", staleable) }
    let background = MemoryOrigin { [staleable] _, number in .ok("back \(number)", staleable) }
    _ = try await respond(setting, origin, background: background)
    setting.clock.advance(seconds: 90)
    #expect(try await respond(setting, origin, background: background).source == .stale)
    try await setting.cache.fetches.emptied()
    let response = try await respond(setting, origin, background: background)
    #expect(response.source == .hit)
    #expect(response.body.bytes.map { Array($0) } == Array("back 1".utf8))
    #expect(origin.requests.count == 1)
  }

  @Test(
    "A response is stored if a field declares it cacheable",
    arguments: [("max-age=60", true), ("public", true), ("no-cache", true), (nil, false)])
  func undeclared(cacheControl: String?, isStored: Bool) async throws {
    let setting = try Setting(kind: .shared)
    let origin = MemoryOrigin { _, _ in
      var fields: HTTPFields = [.eTag: "\"a\"", .lastModified: "Mon, 01 Jan 2001 00:00:00 GMT"]
      fields[.cacheControl] = cacheControl
      return .ok("a", fields)
    }
    let response = try await respond(setting, origin)
    #expect(response.isPassedThrough == !isStored)
    #expect(response.body.length == (isStored ? 1 : 0))
  }

  @Test(
    "A newer response displaces the stored one as it does for an origin on the network, also if it is not stored",
    arguments: [200, 204, 302, 404, 405, 410, 451, 501, 401, 403, 429, 502], [false, true])
  func displaced(status: Int, isInBackground: Bool) async throws {
    var responses: [[Int]] = []
    for isLocal in [false, true] {
      let setting = try Setting(kind: .shared)
      let lifetime = isInBackground ? "max-age=60, stale-while-revalidate=600" : "max-age=60"
      let origin = MemoryOrigin { _, number in
        switch number {
        case 1: .ok("1", [.cacheControl: "\(lifetime), stale-if-error=600"], status: .ok)
        case 2: .ok("2", [:], status: HTTPResponse.Status(code: status))
        default: .ok("3", [:], status: .internalServerError)
        }
      }
      var statuses: [Int] = []
      for _ in 1...3 {
        let response =
          isLocal
          ? try await respond(setting, origin, background: isInBackground ? origin : nil)
          : try await setting.get(from: origin).response
        statuses.append(response.head.status.code)
        try await setting.cache.fetches.emptied()
        setting.clock.advance(seconds: 90)
      }
      responses.append(statuses)
    }
    #expect(responses[0] == responses[1])
  }

  @Test("If the leader is abandoned, one of the requests that wait for it leads the next fetch")
  func abandoned() async throws {
    let setting = try Setting(kind: .shared)
    let gate = Gate()
    let origin = MemoryOrigin { _, number in
      if number == 1 {
        await gate.wait()
        throw TransportAbandoned()
      }
      return .ok("\(number)")
    }
    let leader = Task { try await respond(setting, origin) }
    await gate.arrived(1)
    try await withThrowingTaskGroup(of: CachedResponse.Source.self) { group in
      for _ in 0..<20 { group.addTask { try await respond(setting, origin).source } }
      try await setting.cache.fetches.followers(20)
      gate.open()
      for try await source in group { #expect(source == .network || source == .hit) }
    }
    await #expect(throws: CancellationError.self) { try await leader.value }
    #expect(origin.requests.count == 2)
  }

  @Test("Requests wait for one response that cannot be shared, and the next ones for none")
  func unshared() async throws {
    let setting = try Setting(kind: .shared)
    let gate = Gate()
    let origin = MemoryOrigin { _, number in
      if number > 1 { await gate.wait() }
      return .ok("\(number)", [.cacheControl: "private"])
    }
    _ = try await respond(setting, origin)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<10 { group.addTask { _ = try await respond(setting, origin) } }
      await gate.arrived(10)
      gate.open()
      try await group.waitForAll()
    }
    #expect(origin.requests.count == 11)
  }
}
