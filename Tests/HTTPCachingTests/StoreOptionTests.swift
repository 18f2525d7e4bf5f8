// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import Testing

@testable import HTTPCacheStore

@Suite("Options of a cache's own store", .timeLimit(.minutes(10)))
struct StoreOptionTests {
  @Test(
    "The store of a cache has the options of the cache's configuration", arguments: EvictionPolicy.allCases,
    DiskAdmission.allCases)
  func passedOn(eviction: EvictionPolicy, admission: DiskAdmission) throws {
    var configuration = HTTPCache.Configuration(memoryCapacity: 1 << 20)
    #expect(configuration.eviction == .lru && configuration.diskAdmission == .everything)
    configuration.eviction = eviction
    configuration.diskAdmission = admission
    configuration.sync = .everyStore
    configuration.diskObserver = { _ in }
    let store = try HTTPCache(configuration).store
    #expect(store.configuration.sync == .everyStore && store.configuration.diskObserver != nil)
    #expect(store.configuration.eviction == eviction && store.configuration.diskAdmission == admission)
  }
}
