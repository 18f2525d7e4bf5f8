// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CStorePrimitives

/// A reference to an entry that a table holds and counts by hand, so that a search can compare keys without taking one.
///
/// Counting is an atomic operation, and what comes after one waits for it: a hit that took its reference before it
/// compared would wait for two lines of memory, one after the other, instead of for both at once.
// Unchecked because of the pointer: what it points to is counted atomically and never changes.
struct EntryReference: @unchecked Sendable {
  private let object: Unmanaged<EntryBlock.Object>

  /// Takes a reference.
  init(_ entry: EntryBlock) {
    object = .passRetained(entry.object)
  }

  @inline(__always)
  private var start: UnsafeRawPointer { UnsafeRawPointer(object.toOpaque()) }

  /// The entry, with a reference of its own.
  var entry: EntryBlock { EntryBlock(object.takeUnretainedValue()) }

  /// The entry, with the reference that was held through this one.
  @inline(__always)
  func take() -> EntryBlock { EntryBlock(object.takeRetainedValue()) }

  /// Takes another reference.
  @inline(__always)
  func retain() { _ = object.retain() }

  @inline(__always)
  func release() { object.release() }

  /// What the entry occupies, in bytes: see ``EntryBlock/cost``.
  @inline(__always)
  var cost: Int { EntryBlock.cost(of: head) }

  /// Asks for the lines that a hit needs, so that they come at once: those from the count of references to the end of a key
  /// of so many bytes. With one of 64 these are two or three, as entries begin anywhere in a line; the third is 8 % of a hit.
  @inline(__always)
  func prefetch(keyCount: Int) {
    store_prefetch(start)
    store_prefetch(start + 64)
    store_prefetch(start + (EntryBlock.Object.headOffset &+ EntryHead.narrowSize &+ keyCount &- 1))
  }

  /// Asks for the first bytes of the entry's memory, up to so many, to be written to.
  ///
  /// A copy into memory that nobody has used for long is soon made, but the next atomic operation waits until it is there:
  /// for a quarter of the time of an insert.
  @inline(__always)
  func prefetch(count: Int) {
    guard head.apart == nil else { return }
    for offset in stride(from: 0, to: min(count, 2048), by: 64) { store_prefetch(start + offset) }
  }

  /// Asks for what is needed to drop the entry.
  @inline(__always)
  func prefetchHeader() {
    store_prefetch(start)
    // The last of the words that say what it occupies, which may lie in another line.
    store_prefetch(start + EntryBlock.Object.headOffset + 8)
  }

  /// The head of the entry, good while the table holds it.
  @inline(__always)
  var head: EntryHead { EntryHead(start: start + EntryBlock.Object.headOffset) }
}
