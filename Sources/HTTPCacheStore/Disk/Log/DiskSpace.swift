// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The bytes of the directory. The log's lock guards them.
///
/// Bytes count from before they are written until they are removed. So the files never exceed the capacity.
struct DiskSpace: Sendable {
  /// The bytes that the log keeps to: less than configured while the file system has less room.
  var capacity: Int
  /// The capacity as configured.
  var configured: Int
  /// Bytes of all files in the directory and of the summary that is still to be written, plus what is reserved.
  var used = 0
  /// The part of `used` that is reserved: for unfinished body files, and for records that are about to be appended.
  /// Reclaiming cannot free it.
  var reserved = 0

  init(capacity: Int, used: Int) {
    (self.capacity, configured, self.used) = (capacity, capacity, used)
  }

  func fits(_ bytes: Int) -> Bool { used + bytes <= capacity }

  /// Reserves bytes. A negative number releases them.
  mutating func reserve(_ bytes: Int) {
    used += bytes
    reserved += bytes
  }
}

/// Room in the directory that a call needs, and how far making it went: see ``Log/makeRoom(_:)``.
struct DiskRoom: Sendable {
  enum Use: Sendable {
    case entry
    /// The file with the pinned keys, or a lower capacity.
    case pins
    /// A removal or an update. Without room it would cost entries, so it may take what is kept for pinned entries.
    case change
  }

  enum Progress: Sendable {
    case done
    /// The bytes do not fit, and would not fit later.
    case stuck
    /// Nothing more fits in the buffer: it must be written first.
    case write
    /// Copies must be durable before they take the place of their entries.
    case settle(PinnedCopies.Batch)
  }

  let bytes: Int
  let use: Use
  /// The capacity to keep to, if it is lower than the present one.
  var capacity = Int.max
  /// Whether the caller can release the log's lock to write or to sync, and then go on.
  var mayWait = false
  /// The number of segments at the beginning; `nil` before.
  var segments: Int?
  /// Number of segments that were reclaimed. Making room ends whatever is hit or updated at the same time.
  var reclaimed = 0
  /// Number of times that all copies must be made again, because their entries changed meanwhile.
  var wasted = 0
}
