// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Values that an application stores or sends")
struct CodingTests {
  static let statuses: [CacheStatus] = {
    var hit = CacheStatus(cache: "a", isHit: true, timeToLive: .seconds(-5), reason: .staleWhileDisconnected)
    hit.age = .seconds(12)
    return [
      hit,
      CacheStatus(
        cache: "my \"own\" cache", forward: .varyMiss, forwardStatus: 200, timeToLive: .seconds(60),
        isStored: true,
        isCollapsed: false, reason: .storedWithLifetime),
      CacheStatus(cache: "b", forward: .uriMiss, isCollapsed: true), CacheStatus(cache: "c"),
    ]
  }()

  @Test("A cache status is the same after it was coded", arguments: statuses)
  func status(status: CacheStatus) throws {
    let data = try JSONEncoder().encode(status)
    #expect(try JSONDecoder().decode(CacheStatus.self, from: data) == status)
  }

  @Test("A text that is not a member of Cache-Status is refused", arguments: ["", "a; b c", "=", ";hit"])
  func badStatus(text: String) throws {
    let data = try JSONEncoder().encode(["field": text])
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(CacheStatus.self, from: data) }
  }

  @Test("A listed response has the same properties after it was coded")
  func listed() async throws {
    let clock = ManualClock(Timestamp(secondsSince1970: 1_800_000_000))
    let cache = try HTTPCache(.init(kind: .private), clock: clock)
    let request = HTTPRequest.get("/a?b=c")
    _ = try await cache.respond(to: request) { _, _ in .ok("content", [.cacheControl: "max-age=60"]) }
    var count = 0
    for await response in cache.storedResponses() {
      let data = try JSONEncoder().encode(response)
      let read = try JSONDecoder().decode(HTTPCache.ListedResponse.self, from: data)
      #expect(
        read.url == response.url && read.partition == response.partition && read.method == response.method)
      #expect(
        read.status == response.status && read.contentLength == 7 && read.isComplete == response.isComplete)
      #expect(read.memoryBytes == response.memoryBytes && read.diskBytes == response.diskBytes)
      #expect(read.storedAt == clock.now)
      #expect(try JSONEncoder().encode(read).count == data.count)
      count += 1
    }
    #expect(count == 1)
    let changed = Data(#"{"url": "", "method": "GET", "status": 7}"#.utf8)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(HTTPCache.ListedResponse.self, from: changed)
    }
  }

  @Test("A cache with a clock of its own reads that")
  func clock() async throws {
    let clock = ManualClock(Timestamp(secondsSince1970: 1_800_000_000))
    let cache = try HTTPCache(.init(kind: .private), clock: clock)
    let origin = MemoryOrigin { _, _ in .ok("a", [.cacheControl: "max-age=60"]) }
    for (seconds, expected) in [(0, CachedResponse.Source.network), (59, .hit), (2, .network)] {
      clock.advance(seconds: Int64(seconds))
      #expect(try await cache.respond(to: .get("/"), transport: origin.transport).source == expected)
    }
  }
}
