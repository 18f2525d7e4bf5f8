// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Hashes of keys that are not in the catalog, but that the next opening may find in the log. The log's lock guards
/// them.
///
/// Their entries were unreadable, or were lost with a failed write, and no record says so. Their removal must be
/// logged.
struct Suspects: Sendable {
  /// Maximum number of separate hashes.
  static let limit = 4096

  private(set) var hashes: Set<UInt64> = []
  /// Whether every key is a suspect.
  var isEverything = false

  mutating func insert(_ hash: UInt64) {
    if hashes.count >= Self.limit { isEverything = true } else { hashes.insert(hash) }
  }

  /// Removes hashes whose removals are in the log.
  mutating func remove(_ removed: Set<UInt64>) { hashes.subtract(removed) }

  func contains(_ hash: UInt64) -> Bool { isEverything || hashes.contains(hash) }
}
