// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension HTTPCache {
  /// Counts and state of the shared tier; `nil` without one.
  public var sharedTierStatistics: SharedTierStatistics? { shared?.statistics }

  /// Waits until all removals that this cache has made so far have been applied by every node of the shared tier.
  ///
  /// A call that removes or expires responses does so in this cache at once, and tells the shared tier in the background.
  /// Call this method afterwards to know how far the removal has reached. Without a shared tier it returns at once.
  ///
  /// A node that does not answer is waited for until its registration ends: one and a half times
  /// ``SharedTierOptions/trust``. By then it has stopped serving its content without validation.
  ///
  /// - Parameter limit: maximum time to wait.
  /// - Returns: how far the removals have reached.
  public func confirmRemovals(within limit: Duration = .seconds(5)) async -> RemovalReach {
    guard await removalPeers.haveApplied() else { return .here }
    return await shared?.reach(within: limit) ?? .everywhere
  }

  /// Leaves the shared tier, and waits until that has forgotten this cache.
  package func closeSharedTier() async {
    shared?.stop()
    await shared?.stopped()
  }
}
