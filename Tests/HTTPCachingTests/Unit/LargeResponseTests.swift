// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

/// Set by `make test-large`; 64 MiB otherwise.
private let length = ProcessInfo.processInfo.environment["HTTPCACHE_LARGE_BYTES"].flatMap { Int($0) }

@Suite("Responses larger than memory", .timeLimit(.minutes(60)))
struct LargeResponseTests {
  @Test("A large response passes to the caller and to the disk, and back, in little memory")
  func passesThrough() async throws {
    let directory = temporaryURL()
    defer { try? FileManager.default.removeItem(at: directory) }
    let total = length ?? 64 << 20
    let store = try CacheStore(
      .init(memoryCapacity: 1 << 20, diskCapacity: total * 3, directory: FilePath(directory.path)))
    let cache = HTTPCache(
      store: store, configuration: HTTPCache.Configuration(),
      clock: ManualClock(Timestamp(seconds: 1_700_000_000)))
    let piece = (0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
    let sent = EventCount()
    let origin = MemoryOrigin { _, _ in
      .streamed(
        AsyncThrowingStream { sent.next() <= total / piece.count ? piece[...] : nil },
        [.cacheControl: "max-age=60", .contentLength: String(total)])
    }
    let before = PeakMemory.begin()
    for source in [CachedResponse.Source.network, .hit] {
      let response = try await cache.respond(to: .get(), transport: origin.transport)
      #expect(response.source == source)
      var received = 0
      var isRight = true
      for try await bytes in response.body {
        // Pieces lie as they were sent, or are a part of that; the first byte of each tells where.
        let offset = received % piece.count
        isRight = isRight && bytes.first == piece[offset]
        received += bytes.count
      }
      #expect(received == total && isRight)
    }
    #expect(store.usage.diskEntries == 1 && store.usage.diskBytes > total)
    store.close()
    // Only where no other test runs at the same time.
    if length != nil, let before, let after = PeakMemory.now {
      print("\(total >> 20) MiB passed through with \((after - before) >> 20) MiB of added memory")
      #expect(after - before < 32 << 20)
    }
  }
}
