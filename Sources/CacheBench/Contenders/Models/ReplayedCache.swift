// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A cache in a replay: the store, or the model of a policy.
///
/// A model follows the publication of its policy exactly, and keeps keys and sizes only. It shows how many hits the policy
/// can have, so that the store can be compared with it.
protocol ReplayedCache: AnyObject {
  /// Requests a key, and stores its entry after a miss. An entry keeps the size that it was stored with.
  ///
  /// - Returns: whether the request was a hit.
  func access(_ key: Int, bytes: Int) -> Bool
}
