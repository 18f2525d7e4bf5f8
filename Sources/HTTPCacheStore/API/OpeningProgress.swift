// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The progress of opening a directory.
package struct OpeningProgress: Sendable, Hashable {
  /// Number of log files read so far.
  package let segmentsRead: Int
  /// Number of log files in the directory.
  package let segments: Int
}
