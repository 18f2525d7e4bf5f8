// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The bytes of the directory. The log's lock guards them.
///
/// Bytes are counted before they are written, and until they are gone. So the files never exceed the capacity.
struct DiskSpace: Sendable {
  var capacity: Int
  /// The bytes of all files in the directory, of the summary that is still to be written, and what body files in the
  /// making have reserved.
  var used = 0
  /// What of that body files in the making have reserved; no reclaiming frees it.
  var reserved = 0

  func fits(_ bytes: Int) -> Bool { used + bytes <= capacity }
}
