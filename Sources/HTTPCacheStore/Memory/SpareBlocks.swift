// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CPlatform
import Synchronization

/// Blocks of evicted entries that wait for the next entry of the same size, instead of going through `malloc`.
///
/// glibc keeps freed memory of up to 1,032 bytes for its thread. Larger memory is merged with its neighbours, under the
/// lock of the arena that it came from, for which two threads that evict wait. With spare blocks, two threads that store
/// entries of 1 KiB, each of which evicts another, store 3.7 million a second instead of 0.9 million, and one thread 2.1
/// million instead of 1.7 million.
///
/// There is a place for one block of each size, for each group of threads. All blocks together have at most 1/64 of the
/// tier's capacity. They do not count as used, as no memory does that `malloc` keeps: freed in the middle of its memory,
/// glibc would keep them as well.
// Unchecked because of the pointer: it is set once, and what it points to are atomics. A word of a place that is not 0 owns
// one reference to its block, and only the thread that exchanges the word for 0 gets that reference.
final class SpareBlocks: @unchecked Sendable {
  /// The smallest memory that glibc does not keep for a thread, in steps of 16 bytes.
  private static let firstStep = 1040 / 16
  /// Sizes up to 5 KiB: a packed body with a key and metadata of usual sizes.
  private static let stepCount = 256
  /// Two threads in one group take each other's blocks, whose lines are in the wrong processor's cache: 0.5 µs instead of
  /// 0.26 for a store.
  private static let mostGroups = 16
  /// Groups that may have fewer bytes are not worth their places.
  private static let leastBytesOfGroup = 32 << 10
  /// The words of a group: the bytes of its blocks, the rest of that cache line, and the places.
  private static let headCount = 8
  private static let stride = headCount + stepCount

  private let words: UnsafeMutablePointer<Atomic<UInt>>
  /// 0, or a power of two.
  private let groupCount: Int
  private let mostBytesOfGroup: Atomic<UInt>

  init(capacity: Int) {
    var count = capacity / 64 >= Self.leastBytesOfGroup ? 1 : 0
    while count > 0, count < Self.mostGroups, count * 2 * Self.leastBytesOfGroup <= capacity / 64 {
      count *= 2
    }
    groupCount = count
    mostBytesOfGroup = Atomic(UInt(count == 0 ? 0 : capacity / 64 / count))
    words = .allocate(capacity: count * Self.stride)
    for index in 0..<count * Self.stride { (words + index).initialize(to: Atomic(0)) }
  }

  deinit {
    removeAll()
    words.deinitialize(count: groupCount * Self.stride)
    words.deallocate()
  }

  /// The bytes of all blocks. While other threads give and take blocks, it may differ by those blocks.
  var bytes: Int {
    (0..<groupCount).reduce(0) { $0 + Int(bitPattern: words[$1 * Self.stride].load(ordering: .relaxed)) }
  }

  /// Limits all blocks together to 1/64 of this capacity, and releases them. The number of groups stays as it is.
  func setCapacity(_ bytes: Int) {
    if groupCount > 0 { mostBytesOfGroup.store(UInt(bytes / 64 / groupCount), ordering: .relaxed) }
    removeAll()
  }

  /// Releases all blocks.
  func removeAll() {
    for group in 0..<groupCount {
      for step in 0..<Self.stepCount { take(step, from: words + group * Self.stride)?.release() }
    }
  }

  /// Returns a block with this much memory, which nothing else refers to; `nil` if there is no such block.
  @inline(__always)
  func take(_ bytes: Int) -> EntryBlock.Object? {
    let step = bytes / 16 &- Self.firstStep
    guard step >= 0, step < Self.stepCount, groupCount > 0 else { return nil }
    return take(step, from: group())?.takeRetainedValue()
  }

  /// Takes over an entry with its reference. Keeps the block if no other code uses it, and if there is a place for it.
  @inline(__always)
  func give(_ entry: EntryReference) {
    guard groupCount > 0, entry.head.apart == nil else { return entry.release() }
    let bytes = UInt(EntryBlock.blockSize(of: entry.head))
    let step = Int(bytes / 16) &- Self.firstStep
    guard step >= 0, step < Self.stepCount else { return entry.release() }
    let group = group()
    let place = group + Self.headCount + step
    guard place.pointee.load(ordering: .relaxed) == 0,
      group.pointee.load(ordering: .relaxed) &+ bytes <= mostBytesOfGroup.load(ordering: .relaxed)
    else { return entry.release() }
    var object = entry.take().object
    guard isKnownUniquelyReferenced(&object) else { return }
    let reference = Unmanaged.passRetained(object)
    let word = UInt(bitPattern: reference.toOpaque())
    guard place.pointee.compareExchange(expected: 0, desired: word, ordering: .releasing).exchanged else {
      return reference.release()
    }
    group.pointee.wrappingAdd(bytes, ordering: .relaxed)
  }

  private func take(_ step: Int, from group: UnsafeMutablePointer<Atomic<UInt>>) -> Unmanaged<
    EntryBlock.Object
  >? {
    let place = group + Self.headCount + step
    guard place.pointee.load(ordering: .relaxed) != 0,
      let start = UnsafeRawPointer(bitPattern: place.pointee.exchange(0, ordering: .acquiring))
    else { return nil }
    group.pointee.wrappingSubtract(UInt((Self.firstStep + step) * 16), ordering: .relaxed)
    return .fromOpaque(start)
  }

  /// The group of this thread.
  // Not inlined: each file that the C function is inlined into would have its own numbers.
  @inline(never)
  private func group() -> UnsafeMutablePointer<Atomic<UInt>> {
    words + (Int(store_thread_number()) & (groupCount - 1)) * Self.stride
  }
}
