// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness

/// S3-FIFO as published (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023).
///
/// New entries enter the small queue, a tenth of the capacity. At its end, an entry with at least two uses moves to the main
/// queue. Any other entry is evicted, and its key becomes a ghost. A ghost that is requested enters the main queue. At the end
/// of the main queue, an entry with uses starts again with one use less.
final class ExactS3FIFO: ReplayedCache {
  private static let mostUses = 3
  private static let usesToStay = 2

  private struct Entry {
    var bytes: Int
    var uses = 0
  }

  private let capacity: Int
  private let mainCapacity: Int
  private var entries: [Int: Entry] = [:]
  private var small = Queue()
  private var main = Queue()
  /// Keys evicted from the small queue, with as many bytes as the main queue has.
  private let ghosts: NodeList<Int, Void>

  init(capacity: Int) {
    self.capacity = capacity
    mainCapacity = capacity - capacity / 10
    ghosts = NodeList(capacity: mainCapacity)
  }

  func access(_ key: Int, bytes: Int) -> Bool {
    if let entry = entries[key] {
      entries[key]?.uses = min(entry.uses + 1, Self.mostUses)
      return true
    }
    guard bytes <= capacity else { return false }
    let isGhost = ghosts.remove(key)
    while small.bytes + main.bytes + bytes > capacity { advance() }
    entries[key] = Entry(bytes: bytes)
    if isGhost { main.append(key, bytes) } else { small.append(key, bytes) }
    return false
  }

  /// Takes the first entry of a queue, which then is evicted or enters the main queue.
  private func advance() {
    let isFromMain = main.bytes > mainCapacity || small.isEmpty
    let key = isFromMain ? main.first : small.first
    guard let entry = entries[key] else { return }
    if isFromMain { main.removeFirst(entry.bytes) } else { small.removeFirst(entry.bytes) }
    if entry.uses >= (isFromMain ? 1 : Self.usesToStay) {
      // The move out of the small queue clears the uses.
      entries[key]?.uses = isFromMain ? entry.uses - 1 : 0
      main.append(key, entry.bytes)
    } else {
      entries[key] = nil
      if !isFromMain { _ = ghosts.put(key, (), cost: entry.bytes) }
    }
  }

  /// Keys, first in and first out, with the sum of their bytes.
  private struct Queue {
    private var keys: [Int] = []
    /// Keys before this place have left.
    private var start = 0
    private(set) var bytes = 0

    var isEmpty: Bool { start == keys.count }
    var first: Int { keys[start] }

    mutating func append(_ key: Int, _ bytes: Int) {
      keys.append(key)
      self.bytes += bytes
    }

    mutating func removeFirst(_ bytes: Int) {
      start += 1
      self.bytes -= bytes
      guard start > 1024, start > keys.count / 2 else { return }
      keys.removeFirst(start)
      start = 0
    }
  }
}
