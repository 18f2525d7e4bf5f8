// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// Remembers the keys that the disk recently turned away, so that they are admitted the next time.
///
/// It takes about 8 bytes for a key, and has one lock for all: the caller is about to write to disk, which takes a
/// hundred times as long.
final class Doorkeeper: Sendable {
  private let ghosts = Mutex(GhostTable())
  /// Maximum number of keys to remember.
  let limit: Int

  /// - Parameter capacity: bytes of the disk. The doorkeeper remembers as many keys as would fill it with entries of
  ///   16 KiB.
  init(capacity: Int) {
    limit = min(max(capacity >> 14, 1 << 10), 1 << 20)
  }

  /// Returns whether a key was turned away before. If not, it counts as turned away from now on.
  func admits(_ hash: UInt64) -> Bool {
    // Use other bits than those that choose a shard.
    let tag = UInt32(truncatingIfNeeded: hash)
    return ghosts.withLock { ghosts in
      if ghosts.remove(tag, limit: limit) { return true }
      ghosts.add(tag, room: limit)
      return false
    }
  }
}
