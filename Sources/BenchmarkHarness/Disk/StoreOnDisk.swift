// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import SystemPackage

/// Our store without memory: each lookup reads from the disk.
package final class StoreOnDisk: DiskCache {
  package let data: Dataset
  package let store: CacheStore

  package init(_ data: Dataset, capacity: Int, directory: String) throws {
    self.data = data
    store = try CacheStore(
      .init(memoryCapacity: 0, diskCapacity: capacity, directory: FilePath(directory)))
  }

  package func close() { store.close() }

  package func put(_ number: Int) -> Bool { put(data.key(number), data.body(number)) }

  package func put(_ key: StoreKey, _ body: [UInt8]) -> Bool {
    let entry = NewEntry(
      key: key, variant: Dataset.variant, metadata: data.head, body: body,
      storedAt: data.now.milliseconds, tiers: .disk)
    return store.insert(entry).id != nil
  }

  package func get(_ number: Int) -> Int? {
    guard let entry = store.lookup(data.key(number)).first, entry.tier == .disk else { return nil }
    return (try? entry.body.readAll())?.count
  }
}
