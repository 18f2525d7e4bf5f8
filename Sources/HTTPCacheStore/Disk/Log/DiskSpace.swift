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
  /// Bytes of all files in the directory and of the summary that is still to be written, plus the reservations of
  /// unfinished body files.
  var used = 0
  /// The part of `used` that unfinished body files have reserved; reclaiming cannot free it.
  var reserved = 0

  init(capacity: Int, used: Int) {
    (self.capacity, configured, self.used) = (capacity, capacity, used)
  }

  func fits(_ bytes: Int) -> Bool { used + bytes <= capacity }
}
