// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore

extension ResponseStore {
  /// Invalidates the responses in some scopes: a group or an origin of a partition, or a partition.
  ///
  /// If there are many marks, it has them settled in the background. If they become too many before that, it waits.
  func mark(_ scopes: [StoreScope]) {
    guard !scopes.isEmpty else { return }
    store.mark(scopes)
    switch store.markPressure {
    case .low: break
    case .high:
      guard store.claimSettling() else { break }
      Task(executorPreference: BlockingExecutor.shared, priority: .utility) { [self] in
        settleMarks(from: .high)
      }
    // Another thread may have done it.
    case .tooHigh: settleMarks(from: .high)
    }
  }

  /// Removes the responses that are invalidated, so that their marks need not be kept.
  func settleMarks(from least: CacheStore.MarkPressure = .low) {
    store.settleMarks(from: least) { entry in
      guard let key = StoredKey(entry.key).cacheKey else { return [] }
      return entry.metadata.withUnsafeBytes { metadata in
        // Without a group, the scopes follow from the key.
        guard StoredResponse.mayHaveGroups(metadata.bytes) else { return key.scopes }
        return StoredResponse(decoding: metadata.bytes)?.scopes(under: key) ?? []
      }.map { StoreScope($0) }
    }
  }
}
