// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

extension CacheStore {
  /// Marks scopes: entries that belong to one of them, and were stored before, are outdated from now on. Returns when
  /// the marks would survive a crash (see ``Configuration/sync``).
  ///
  /// The entries stay in place, and lookups find them as before: ``isMarked(_:in:)`` says that they are outdated. The
  /// store refuses an insert if its token is older than the mark, and its ``NewEntry/scopes`` name the scope.
  ///
  /// A mark takes about 40 bytes of memory, and 16 bytes at the start of each segment on disk, until
  /// ``settleMarks(_:)`` drops it. Call that when ``markPressure`` says so.
  ///
  /// - Complexity: O(1) on average for each scope, whatever the number of entries.
  package func mark(_ scopes: [StoreScope]) {
    guard !scopes.isEmpty else { return }
    let hashes = scopes.map(invalidations.hash)
    // Memory first: a segment that begins from now on begins with all marks made so far.
    let number = invalidations.mark(hashes) { takeID() }
    disk?.mark(hashes, number: number)
    counters.removals.increment()
  }

  /// Whether an entry is older than any mark at all. Call ``isMarked(_:in:)`` only if it is.
  ///
  /// - Complexity: O(1): one load.
  @inline(__always)
  package func mayBeMarked(_ id: EntryID) -> Bool {
    invalidations.mayBeMarked(id.rawValue)
  }

  /// Whether an entry that belongs to this scope is outdated, because it was stored before the scope was marked.
  ///
  /// Sometimes the result is `true` for an entry that is not outdated. It is never `false` for one that is.
  ///
  /// - Complexity: O(length of the scope).
  package func isMarked(_ id: EntryID, in scope: StoreScope) -> Bool {
    invalidations.mayBeMarked(id.rawValue)
      && invalidations.isMarked(id.rawValue, hash: invalidations.hash(scope))
  }

  // MARK: Settling

  /// How many marks there are in proportion to the entries.
  package enum MarkPressure: Sendable, Comparable {
    case low
    /// ``settleMarks(_:)`` is worth its time.
    case high
    /// It must be called before more marks are added.
    case tooHigh
  }

  /// The number of marks for which a pass over all entries is worth its time.
  private var markLimit: Int {
    let limit = max(Self.leastMarks, (memory.count + (disk?.count ?? 0)) / 4)
    guard let disk else { return limit }
    return min(limit, disk.context.options.markLimit(for: disk.capacity))
  }
  private static let leastMarks = 4096

  package var markPressure: MarkPressure {
    let count = invalidations.unsettledCount
    // Fewer are few, whatever the number of entries.
    guard count >= 64 else { return .low }
    let limit = markLimit
    return count < limit ? .low : count < 4 * limit ? .high : .tooHigh
  }

  /// Whether the caller should call ``settleMarks(_:)`` in the background: `true` once until that has been done.
  package func claimSettling() -> Bool { !isSettlingClaimed.exchange(true, ordering: .relaxed) }

  /// Removes the entries that marks outdate, and drops these marks. Waits for another thread that is doing so.
  ///
  /// May block on the disk. Entries that are stored meanwhile, or later, are not affected.
  ///
  /// - Parameters:
  ///   - least: the pressure for which it does anything.
  ///   - scopes: returns the scopes of an entry; none for one that no mark concerns. It must not call the store.
  /// - Complexity: O(entries), with one read for each entry on disk.
  package func settleMarks(from least: MarkPressure = .low, _ scopes: (SweptEntry) -> [StoreScope]) {
    settling.withLock { _ in
      if markPressure >= least { settle(scopes) }
    }
    isSettlingClaimed.store(false, ordering: .relaxed)
  }

  private func settle(_ scopes: (SweptEntry) -> [StoreScope]) {
    let number = invalidations.lastMark
    visitAll { entry in
      mayBeMarked(entry.id) && scopes(entry).contains { isMarked(entry.id, in: $0) } ? .remove : .keep
    }
    // The removals survive a crash by now.
    guard isOpen else { return }
    invalidations.settle(upTo: number)
  }

  // MARK: Lookups beside a pass

  /// Number of passes of ``settleMarks(_:)`` that have ended. Read it before a lookup, and set it in what the lookup found.
  @inline(__always)
  package var markPasses: UInt64 { invalidations.passes }

  /// Whether an entry that was just found is older than any mark at all, or was found while a pass ended.
  ///
  /// - Complexity: O(1): two loads.
  @inline(__always)
  package func mayBeMarked(_ entry: StoredEntry, in found: StoredEntries) -> Bool {
    invalidations.mayBeMarked(entry.id.rawValue) || invalidations.passes != found.markPasses
  }

  /// Whether an entry that was just found is gone because of a mark that is gone, too. Call it after ``isMarked(_:in:)``.
  package func isSettled(_ entry: StoredEntry, in found: StoredEntries) -> Bool {
    guard invalidations.passes != found.markPasses else { return false }
    let key = StoreKey(entry.key)
    let hash = hasher.hash(key)
    // What is still stored has outlasted the pass.
    return disk?.currentSlot(hash: hash, id: entry.id.rawValue) == nil
      && !memory.peek(key, hash: hash).contains { $0.id == entry.id }
  }
}
