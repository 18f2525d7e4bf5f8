// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// How far the opening of a directory has come.
package struct OpeningProgress: Sendable, Hashable {
  /// Files of the log that have been read.
  package let segmentsRead: Int
  /// Files of the log there are.
  package let segments: Int
}
