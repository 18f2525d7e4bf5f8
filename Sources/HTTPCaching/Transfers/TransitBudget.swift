// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CPlatform
import CacheMutex
import Dispatch

/// The memory used by all content in flight: content that is neither stored yet nor delivered.
///
/// The capacity has two halves, so that clients that read slowly cannot keep the responses of others from the store.
///
/// **Passing** content goes to its readers only, or to them and to a file. Each holder of such content, for example a
/// connection or a transfer, may have 1/64 of the free bytes of the first half of this half; see ``allowance(upTo:)``.
/// The more is in use, the less each may have, so a thousand slow readers share the memory instead of filling it. A
/// holder without a chunk may always take one: the other half of this half is for these. Therefore no transfer waits
/// for the bytes of another: each continues as its own readers take its bytes.
///
/// **Storing** content stays in memory until it is complete and stored. The last quarter of this half is for responses
/// of one ``block``, and for the chunk that completes a response. These wait for room for up to a second. The rest is
/// for larger responses. Without room, they become passing content:
///
/// - A response of known length reserves all of it. It arrives at the origin's pace, so it is stored soon.
/// - Other content grows at its readers' pace. Beyond one block, and while it waits for its readers, it may have no more
///   than what is then still free. So however many there are, a part stays free.
/// - The writers of files use at most half, for the chunks that they fill.
///
/// The sum stays within the capacity. The exceptions are the chunks of passing content, if there are so many holders,
/// and content that stopped being stored when it was almost complete. While little is free, the proxy reads and writes
/// chunks of ``smallestChunk``, and has four for each response.
package final class TransitBudget: Sendable {
  /// The size up to which content waits for room to be stored, in bytes.
  package static let block = 64 << 10
  /// The size of a chunk that the proxy reads or writes while little is free, in bytes.
  package static let smallestChunk = 4 << 10
  /// The part of the free bytes that each holder of passing content may have.
  private static let holderShare = 64
  /// How long a response waits for room.
  private static let patience = Duration.seconds(1)

  /// The limit in bytes; see ``HTTPCache/Configuration/transitCapacity``.
  package let capacity: Int
  private let clock: any CacheClock
  private let passing = Atomic<Int>(0)
  /// Changed only while ``line`` is locked.
  private let storing = Atomic<Int>(0)
  private let line = Mutex(Line())
  private let leftBehindCount = Atomic<Int>(0)
  /// Maximum bytes in use since freed memory was last returned to the system.
  private let peak = Atomic<Int>(0)
  private let isGivingBack = Atomic(false)
  /// The number of freed bytes at which memory is returned to the system.
  private static let worthGivingBack = 16 << 20

  /// The responses that wait for room, in their order.
  private struct Line {
    struct Place {
      let number: Int
      let bytes: Int
      let continuation: CheckedContinuation<Bool, Never>
      let timer: Task<Void, Never>
    }

    var places: [Place] = []
    var last = 0
  }

  package init(capacity: Int, clock: any CacheClock = SystemCacheClock.shared) {
    self.capacity = Swift.max(0, capacity)
    self.clock = clock
  }

  /// Bytes in use now, of both halves.
  package var used: Int { usedForPassing + usedForStoring }
  /// Bytes in use by content that passes through.
  package var usedForPassing: Int { passing.load(ordering: .relaxed) }
  /// Bytes in use by content that will be stored.
  package var usedForStoring: Int { storing.load(ordering: .relaxed) }
  /// Maximum bytes of content that passes through.
  package var passingCapacity: Int { capacity / 2 }
  /// Maximum bytes of content that will be stored.
  package var storingCapacity: Int { capacity - capacity / 2 }
  /// The number of readers that were left behind; see ``HTTPCacheError/Code/leftBehind``.
  package var leftBehind: Int { leftBehindCount.load(ordering: .relaxed) }

  func countLeftBehind() {
    leftBehindCount.wrappingAdd(1, ordering: .relaxed)
  }

  // MARK: - Passing through

  /// How many bytes one holder of passing content may have now; 0 if it may have only one chunk.
  package func allowance(upTo limit: Int) -> Int {
    Swift.min(limit, free / Self.holderShare)
  }

  /// How many bytes one transfer may keep now for readers that are slower than its fastest.
  ///
  /// The more, the less often a reader is left behind only because the other is on a faster line, or had the processor
  /// first: two readers at 100 MB/s are 3 MB apart after 30 ms.
  var slowReaderAllowance: Int { free / 4 }

  private var free: Int { Swift.max(0, passingCapacity / 2 - usedForPassing) }

  /// The size of the next chunk to read or write.
  package func chunkSize(upTo limit: Int) -> Int {
    Swift.max(Self.smallestChunk, allowance(upTo: limit))
  }

  /// Records a change of the passing bytes of one holder.
  package func change(by bytes: Int) {
    guard bytes != 0 else { return }
    passing.wrappingAdd(bytes, ordering: .relaxed)
    noteUse(bytes)
  }

  /// Records a block of a file that a response keeps while its client takes the bytes.
  ///
  /// It can be read again, so other content goes first: blocks leave a quarter of what is there for more than the smallest
  /// chunks.
  ///
  /// - Returns: whether there is room. The caller gives it back with ``change(by:)``.
  package func keepBlock(_ bytes: Int) -> Bool {
    guard usedForPassing + bytes <= passingCapacity / 8 * 3 else { return false }
    change(by: bytes)
    return true
  }

  // MARK: - Storing

  /// Reserves the bytes of content whose length is announced, so that it can be complete in flight.
  ///
  /// - Returns: whether they are reserved. The caller gives them back with ``changeStoring(by:)``.
  package func reserve(_ bytes: Int) -> Bool {
    reserve(bytes, of: bytes <= Self.block ? storingCapacity : largeCapacity)
  }

  /// Maximum bytes of content that will be stored, without the last bytes of responses.
  var largeCapacity: Int { storingCapacity / 4 * 3 }

  /// - Parameters:
  ///   - capacity: the maximum of all content that will be stored, with these bytes: ``storingCapacity`` if the content
  ///     needs no more, or ``largeCapacity``.
  ///   - free: the bytes of it that must stay free.
  func reserve(_ bytes: Int, of capacity: Int, leaving free: Int = 0) -> Bool {
    let isReserved = line.withLock { line in line.places.isEmpty && take(bytes, of: capacity - free) }
    if isReserved { noteUse(bytes) }
    return isReserved
  }

  /// Takes bytes if they are free; called while the line is locked.
  private func take(_ bytes: Int, of capacity: Int) -> Bool {
    let sum = storing.load(ordering: .relaxed) + bytes
    guard sum <= capacity else { return false }
    storing.store(sum, ordering: .relaxed)
    return true
  }

  /// Waits until the last bytes of a content can be reserved, after those that wait already.
  ///
  /// The memory for last bytes is in use until origins have sent the rest of small responses, and not until readers
  /// have read it, so the wait is usually short. It ends without success after a second, because an origin may be slow.
  ///
  /// - Returns: whether they are reserved; `false` if the task was cancelled.
  func waitToReserve(_ bytes: Int) async -> Bool {
    guard bytes <= storingCapacity else { return false }
    let number = line.withLock { line in
      line.last += 1
      return line.last
    }
    let isReserved = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isCancelled = line.withLock { line in
          if Task.isCancelled { return true }
          let timer = Task { [weak self, clock] in
            guard (try? await clock.sleep(for: Self.patience)) != nil else { return }
            self?.giveUp(number)
          }
          line.places.append(
            .init(number: number, bytes: bytes, continuation: continuation, timer: timer))
          return false
        }
        if isCancelled { continuation.resume(returning: false) } else { letIn() }
      }
    } onCancel: {
      giveUp(number)
    }
    if isReserved { noteUse(bytes) }
    return isReserved
  }

  private func giveUp(_ number: Int) {
    let place: Line.Place? = line.withLock { line in
      guard let index = line.places.firstIndex(where: { $0.number == number }) else { return nil }
      return line.places.remove(at: index)
    }
    place?.timer.cancel()
    place?.continuation.resume(returning: false)
    // The next may need less.
    letIn()
  }

  /// Frees bytes, and lets in those at the front of the line that have room then.
  private func letIn(freeing bytes: Int = 0) {
    let ready = line.withLock { line in
      storing.wrappingSubtract(bytes, ordering: .relaxed)
      let count = line.places.prefix { take($0.bytes, of: storingCapacity) }.count
      let ready = line.places[..<count]
      line.places.removeFirst(count)
      return ready
    }
    for place in ready {
      place.timer.cancel()
      place.continuation.resume(returning: true)
    }
  }

  /// Records a change of the bytes of content that will be stored.
  package func changeStoring(by bytes: Int) {
    guard bytes != 0 else { return }
    letIn(freeing: -bytes)
    noteUse(bytes)
  }

  // MARK: - The system's memory

  private func noteUse(_ bytes: Int) {
    let used = self.used
    if bytes > 0 {
      peak.max(used, ordering: .relaxed)
    } else if peak.load(ordering: .relaxed) - used >= Self.worthGivingBack {
      giveBackSoon()
    }
  }

  /// Returns freed memory to the system, at most twice a second.
  ///
  /// glibc returns only the memory at the end of its heaps. After 40 clients with 64 MiB in flight had left, the
  /// process kept 110 MB, of which it used 35.
  private func giveBackSoon() {
    guard !isGivingBack.exchange(true, ordering: .relaxed) else { return }
    Task(priority: .utility) { [self] in
      try? await clock.sleep(for: .milliseconds(500))
      peak.store(used, ordering: .relaxed)
      isGivingBack.store(false, ordering: .relaxed)
      // It takes some milliseconds.
      DispatchQueue.global(qos: .utility).async { store_give_back_memory() }
    }
  }
}
