// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import SystemPackage

/// How much disk a store has that crashes.
package enum CrashRoom: CaseIterable, Sendable {
  /// Room for all there ever is.
  case ample
  case little

  package var capacity: Int { self == .ample ? 64 << 20 : 1 << 20 }

  package func configuration(_ directory: FilePath) -> CacheStore.Configuration {
    var configuration = CacheStore.Configuration(
      memoryCapacity: 0, diskCapacity: capacity, directory: directory)
    configuration.segmentSize = 64 << 10
    configuration.largeBodyThreshold = 6000
    return configuration
  }
}

/// What the environment asks of the tests of crashes.
package enum CrashEnvironment {
  /// How many rounds of each, if more than the usual ones are wanted: `make test-crash ROUNDS=200`.
  package static let rounds = number("HTTPCACHE_CRASH_ROUNDS")
  /// With `HTTPCACHE_CRASH_STORY` in the environment, a failure comes with all that was done before it.
  package static let isVerbose = number("HTTPCACHE_CRASH_STORY") != nil

  private static func number(_ name: String) -> Int? {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
  }
}

extension CrashModel {
  /// Looks at a store that was opened after a crash, whether it goes on, and closes it.
  ///
  /// - Parameter keepsFlushed: whether nothing that was flushed or synced can have been lost.
  package mutating func problems(of store: CacheStore, _ room: CrashRoom, keepsFlushed: Bool = true)
    -> [String]
  {
    defer { store.close() }
    var problems = check(
      store, nothingIsEvicted: room == .ample && keepsFlushed, keepsPinned: keepsFlushed)
    if store.usage.diskBytes > room.capacity { problems.append("\(store.usage.diskBytes) bytes are used") }
    let name = StoreKey("https://example.com/afterwards")
    let body = pattern(7, 100)
    store.insert(
      NewEntry(
        key: name, variant: VariantID(rawValue: 1), metadata: [7], body: body, storedAt: 1000, tiers: .all))
    let isThere = store.lookup(name).first.map {
      Array($0.metadata) == [7] && (try? $0.body.readAll()).map(Array.init) == body
    }
    if isThere != true { problems.append("it takes nothing") }
    store.remove(name)
    return problems
  }
}
