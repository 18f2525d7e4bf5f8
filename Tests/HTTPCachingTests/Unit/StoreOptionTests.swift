// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheStore
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Options of a cache's own store", .timeLimit(.minutes(10)))
struct StoreOptionTests {
  @Test(
    "With a disk, memory keeps content up to the threshold, and at most 1/64 of the disk",
    arguments: [
      (256 << 10, nil as Int?, true), ((256 << 10) + 1, nil, false), (600_000, 600_000, true),
      (600_001, 600_000, false), (1 << 20, 8 << 20, true), ((1 << 20) + 1, 8 << 20, false), (1, 0, false),
    ])
  func largeBodyThreshold(size: Int, threshold: Int?, isInMemory: Bool) async throws {
    try await withTemporaryDirectory { directory in
      var configuration = HTTPCache.Configuration(
        memoryCapacity: 32 << 20, diskCapacity: 64 << 20, directory: directory)
      if let threshold { configuration.store.largeBodyThreshold = threshold }
      for isStored in [false, true] {
        // Opened again, so that the second lookup finds the response on disk only.
        let cache = try HTTPCache(configuration)
        let answer = try await cache.respond(to: .get()) { _, _ in
          .ok(String(repeating: "x", count: size), [.cacheControl: "max-age=86400"])
        }
        #expect(try await answer.body.collect(upTo: .max).count == size)
        #expect(answer.source == (isStored ? .hit : .network))
        #expect(cache.store.usage.memoryEntries == (isInMemory ? 1 : 0))
        #expect((cache.storedResponse(for: .get())?.body.isInMemory ?? false) == isInMemory)
        cache.close()
      }
    }
  }

  @Test("A cache over an open store has that store's configuration, and shows and changes its capacity")
  func openStore() async throws {
    let store = try CacheStore(.init(memoryCapacity: 1 << 20))
    let cache = HTTPCache(store: store, configuration: .init(memoryCapacity: 5 << 20))
    #expect(cache.configuration.store.memoryCapacity == 1 << 20)
    #expect(cache.capacity.memory == 1 << 20 && cache.usage.memoryEntries == 0)
    for _ in 0..<2 { _ = try await cache.respond(to: .get()) { _, _ in .ok("a") } }
    #expect(cache.usage.memoryEntries == 1 && cache.statistics.memoryHits == 1)
    cache.setCapacity(memory: 2 << 20)
    #expect(cache.capacity.memory == 2 << 20 && cache.usage.memoryEntries == 1)
    cache.setCapacity(memory: 0)
    #expect(cache.capacity.memory == 0 && cache.usage.memoryEntries == 0)
  }

  @Test("A threshold below 0 is refused")
  func negativeThreshold() {
    var configuration = HTTPCache.Configuration()
    configuration.store.largeBodyThreshold = -1
    #expect(throws: StoreError.self) { try HTTPCache(configuration) }
  }
}
