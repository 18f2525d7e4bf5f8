// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension HTTPCache {
  /// A tier that several caches share, and how this cache uses it.
  public struct SharedTierOptions: Sendable {
    /// The tier. Use one object for one cache.
    public var tier: any SharedTier
    /// Maximum time that a request waits for the tier (default: 20 ms). After some calls that fail or take longer, the
    /// cache works without the tier until that answers in time again.
    public var wait: Duration
    /// How long the cache serves its own content without validation after it last knew that it was in step with the log
    /// (default: 2 s).
    ///
    /// This is also the longest time for which a node that is cut off may serve what another node has removed. A longer
    /// time keeps hits local during a longer outage. All caches of a tier need the same value.
    public var trust: Duration
    /// Maximum bytes of responses that wait to be written to the tier (default: 16 MiB). Responses beyond it are dropped,
    /// and counted.
    public var writeQueueCapacity: Int
    /// Maximum bytes of content of a response that goes to the tier (default: 8 MiB).
    public var maximumContent: Int
    /// Maximum time that the tier keeps a response (default: 24 h). It is kept for its freshness lifetime and its longest
    /// stale use.
    public var maximumLifetime: Duration
    /// When the right of one node to request a response for all of them ends by itself (default: 5 s); `nil` lets each
    /// node send its own request.
    public var lease: Duration?

    /// Makes options with the default values.
    ///
    /// - Parameter tier: the tier.
    public init(_ tier: any SharedTier) {
      self.tier = tier
      wait = .milliseconds(20)
      trust = .seconds(2)
      writeQueueCapacity = 16 << 20
      maximumContent = 8 << 20
      maximumLifetime = .seconds(24 * 60 * 60)
      lease = .seconds(5)
    }
  }

  /// How far a removal has reached.
  public enum RemovalReach: String, Hashable, Sendable {
    /// Only this cache has removed: the tier could not be told yet. The removal waits in a queue. It is lost to the other
    /// nodes if this process ends before the tier is reachable.
    case here
    /// The removal is in the log: every node applies it, or stops trusting its content.
    case logged
    /// Every node has applied it. From now on, no node in step serves what was removed.
    case everywhere
  }
}
