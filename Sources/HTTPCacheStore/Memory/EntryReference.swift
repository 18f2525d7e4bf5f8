// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CPlatform

/// A reference to an entry that a table owns and counts by hand, so that a search can compare keys without taking a
/// reference.
///
/// Counting is an atomic operation, and the next instructions wait for it. A hit that took its reference before it
/// compared would wait for two lines of memory one after the other, instead of for both at once.
// Unchecked because of the pointer: its target is counted atomically and never changes.
struct EntryReference: @unchecked Sendable {
  private let object: Unmanaged<EntryBlock.Object>

  /// Takes a reference.
  init(_ entry: EntryBlock) {
    object = .passRetained(entry.object)
  }

  @inline(__always)
  private var start: UnsafeRawPointer { UnsafeRawPointer(object.toOpaque()) }

  /// The entry, with a new reference.
  var entry: EntryBlock { EntryBlock(object.takeUnretainedValue()) }

  /// Returns the entry, and passes on the reference that this value had.
  @inline(__always)
  func take() -> EntryBlock { EntryBlock(object.takeRetainedValue()) }

  /// The place of the entry in memory.
  var address: UInt { UInt(bitPattern: start) }

  /// Takes another reference.
  @inline(__always)
  func retain() { _ = object.retain() }

  @inline(__always)
  func release() { object.release() }

  /// Bytes that the entry occupies: see ``EntryBlock/cost``.
  @inline(__always)
  var cost: Int { EntryBlock.cost(of: head) }

  /// Prefetches the cache lines that a hit needs, so that they arrive together: from the reference count to the end of
  /// a key of this length. For a key of 64 bytes, these are two or three, because entries begin anywhere in a line. The
  /// third is 8 % of a hit.
  @inline(__always)
  func prefetch(keyCount: Int) {
    store_prefetch(start)
    store_prefetch(start + 64)
    store_prefetch(start + (EntryBlock.Object.headOffset &+ EntryHead.narrowSize &+ keyCount &- 1))
  }

  /// Prefetches the first lines, which have all of most keys.
  @inline(__always)
  func prefetchKey() {
    store_prefetch(start)
    store_prefetch(start + 64)
  }

  /// Prefetches the first bytes of the entry's memory, up to this many, for writing.
  ///
  /// A copy into memory that was unused for long is soon made. But the next atomic operation waits until that memory
  /// arrives: for a quarter of the time of an insert.
  @inline(__always)
  func prefetch(count: Int) {
    guard head.apart == nil else { return }
    // A loop over a stride takes three times the instructions.
    var place = start
    let end = start + min(count, 2048)
    while place < end {
      store_prefetch(place)
      place += 64
    }
  }

  /// Prefetches the memory that is needed to release the entry.
  @inline(__always)
  func prefetchHeader() {
    // From what `malloc` keeps before it to the last of the words that tell its cost, which are in two lines at most.
    store_prefetch(start - 8)
    store_prefetch(start + EntryBlock.Object.headOffset + 8)
  }

  /// The head of the entry, valid while the table owns the entry.
  @inline(__always)
  var head: EntryHead { EntryHead(start: start + EntryBlock.Object.headOffset) }
}
