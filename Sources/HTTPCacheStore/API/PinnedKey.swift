// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A key whose entries the disk does not evict, as ``CacheStore/pinned`` lists it.
public struct PinnedKey: Sendable, Hashable {
  /// The key.
  public let key: StoreKey
  /// Number of its variants on disk; 0 if none is stored at the moment.
  public let entryCount: Int
  /// Bytes that they occupy on disk.
  public let byteCount: Int
  /// Whether all of them are pinned. `false` if one was stored that would have exceeded
  /// ``StoreCapacity/pinned``.
  public let isProtected: Bool
}
