// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore

/// A store entry with the application's own bytes for one response.
///
/// It refers to that response's entry by id, so a response that replaces the entry has no annotation. The old
/// annotation is then evicted like any unused entry.
struct Annotation: Sendable {
  let bytes: [UInt8]
  let id: EntryID

  init(_ bytes: [UInt8], of id: EntryID) {
    self.bytes = bytes
    self.id = id
  }

  func entry(beside entry: NewEntry) -> NewEntry {
    NewEntry(
      key: StoreKey(CacheKey.annotationKey(of: entry.key.bytes)), variant: entry.variant,
      metadata: Self.metadata(of: id), body: bytes,
      storedAt: entry.storedAt, tiers: entry.tiers)
  }

  /// Returns the annotation of an entry.
  static func find(beside entry: StoredEntry, in store: CacheStore) -> [UInt8]? {
    let metadata = metadata(of: entry.id)
    let found = store.lookup(StoreKey(CacheKey.annotationKey(of: entry.storeKey.bytes))).first {
      $0.metadata.elementsEqual(metadata)
    }
    return (try? found?.body.readAll()).map { Array($0) }
  }

  private static func metadata(of id: EntryID) -> [UInt8] { RecordMark.annotation.record(id.rawValue) }
}
