// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension HTTPCache {
  /// Counts and state of a cache's shared tier.
  public struct SharedTierStatistics: Hashable, Sendable {
    /// Lookups that found a usable response.
    public var hits = 0
    /// Lookups that found none.
    public var misses = 0
    /// Entries that were damaged, incomplete, of another version or of another key. Each counts as missing.
    public var damaged = 0
    /// Entries that were found, and not used because of a removal.
    public var removed = 0
    /// Calls of the tier that failed, or took longer than they may.
    public var errors = 0
    /// Responses that were stored in the tier.
    public var stores = 0
    /// Entries that were deleted because no node will use them after a removal.
    public var reclaimed = 0
    /// Responses that were not stored because of a removal in the meantime.
    public var refused = 0
    /// Responses that were not stored because the queue was full, or the tier unavailable.
    public var dropped = 0
    /// Requests to the origin that were sent for all nodes.
    public var leases = 0
    /// Requests that waited for a request of another node.
    public var followers = 0
    /// Removals of other nodes that were applied here.
    public var applied = 0
    /// Times at which the cache lost track of the log, and began to validate everything that it had stored.
    public var restarts = 0
    /// Whether requests use the tier at present.
    public var isAvailable = false
    /// Whether the cache knows all removals, and serves its content without validation.
    public var isInStep = false
    /// The number of the last removal that was applied; `nil` if the log is unknown.
    public var position: UInt64?
    /// The number of the last removal in the log, as far as it is known.
    public var last: UInt64?
    /// Removals of this cache that the tier has not been told yet.
    public var queuedRemovals = 0
    /// Bytes of responses that wait to be stored.
    public var queuedBytes = 0

    /// The number of removals that are known and not applied yet.
    public var lag: UInt64 { last.map { $0 > position ?? 0 ? $0 - (position ?? 0) : 0 } ?? 0 }

    /// Makes empty statistics.
    public init() {}
  }
}

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
