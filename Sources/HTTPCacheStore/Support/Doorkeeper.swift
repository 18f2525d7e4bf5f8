// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Synchronization

/// Knows the keys that were turned away from the disk lately, so that the next time they are let in.
///
/// About 8 bytes for a key, and one lock for all: who asks is about to write to disk, which takes a hundred times as long.
final class Doorkeeper: Sendable {
  private let ghosts = Mutex(GhostTable())
  /// How many keys are known at the most.
  let limit: Int

  /// - Parameter capacity: bytes of the disk. As many keys are known as would fill it with entries of 16 KiB.
  init(capacity: Int) {
    limit = min(max(capacity >> 14, 1 << 10), 1 << 20)
  }

  /// Whether a key was turned away before. If not, it is now.
  func admits(_ hash: UInt64) -> Bool {
    // Not the bits that choose a shard.
    let tag = UInt32(truncatingIfNeeded: hash)
    return ghosts.withLock { ghosts in
      if ghosts.remove(tag, limit: limit) { return true }
      ghosts.add(tag, room: limit)
      return false
    }
  }
}
