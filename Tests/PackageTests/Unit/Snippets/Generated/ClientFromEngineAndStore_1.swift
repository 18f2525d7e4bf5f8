// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

private func ClientFromEngineAndStore_1() async throws {
  func candidates(for request: HTTPRequest, in store: CacheStore) throws -> [StoredResponse] {
    guard let key = CacheKey(request) else { return [] }
    return store.lookup(StoreKey(key.bytes)).compactMap { entry in
      StoredResponse(decoding: entry.metadata[...], contentLength: Int64(entry.body.count))
    }
  }
}
