// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension CacheStore {
  /// Marks scopes: entries that belong to one of them, and were stored before, are outdated from now on. Returns when
  /// the marks would survive a crash (see ``Configuration/sync``).
  ///
  /// The entries stay in place, and lookups find them as before: ``isMarked(_:in:)`` says that they are outdated. The
  /// store refuses an insert if its token is older than the mark, and its ``NewEntry/scopes`` name the scope.
  ///
  /// The store keeps a bounded number of marks: thousands of them. Beyond it, the older half becomes one mark of
  /// everything that was stored before them.
  ///
  /// - Complexity: O(1) on average for each scope, whatever the number of entries.
  package func mark(_ scopes: [StoreScope]) {
    guard !scopes.isEmpty else { return }
    let hashes = scopes.map(hash)
    // Memory first: a segment that begins from now on begins with all marks made so far.
    let number = marks.add(hashes) { takeID() }
    disk?.mark(hashes, number: number)
    counters.removals.increment()
  }

  /// Whether an entry is older than any mark at all. Call ``isMarked(_:in:)`` only if it is.
  ///
  /// - Complexity: O(1): one load.
  @inline(__always)
  package func mayBeMarked(_ id: EntryID) -> Bool {
    marks.mayBeMarked(id.rawValue)
  }

  /// Whether an entry that belongs to this scope is outdated, because it was stored before the scope was marked.
  ///
  /// Sometimes the result is `true` for an entry that is not outdated. It is never `false` for one that is.
  ///
  /// - Complexity: O(length of the scope).
  package func isMarked(_ id: EntryID, in scope: StoreScope) -> Bool {
    marks.mayBeMarked(id.rawValue) && marks.isMarked(id.rawValue, hash: hash(scope))
  }

  func hash(_ scope: StoreScope) -> UInt64 { hasher.checksum(scope.bytes) }
}
