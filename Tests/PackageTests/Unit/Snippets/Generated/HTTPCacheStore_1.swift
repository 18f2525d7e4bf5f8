// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheStore

private func HTTPCacheStore_1() async throws {
  let store = try CacheStore(.init(memoryCapacity: 64 << 20, diskCapacity: 1 << 30, directory: "/var/tmp/my-store"))
  store.insert(
    NewEntry(key: StoreKey("a"), variant: VariantID(rawValue: 0), metadata: [1, 2], body: Array("hello".utf8), storedAt: 0))
  if let entry = store.lookup(StoreKey("a")).first {
    print(try entry.body.readAll().count)  // 5
  }
  store.close()
  _ = store
}
