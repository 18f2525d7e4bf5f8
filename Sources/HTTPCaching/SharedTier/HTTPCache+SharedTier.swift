// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

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
    await shared?.reach(within: limit) ?? .everywhere
  }

  /// Leaves the shared tier, and waits until that has forgotten this cache.
  package func closeSharedTier() async {
    shared?.stop()
    await shared?.stopped()
  }

  /// Purges a group of any origin, in any partition, here and at the other nodes.
  package func purgeGroupOfAnyOrigin(_ group: String, softly: Bool) -> Int {
    GroupName.possible(group).reduce(0) { count, group in
      shared?.add(.groupOfAnyOrigin(group, softly: softly))
      return count + purge(.groupOfAnyOrigin(group), softly: softly)
    }
  }

  // MARK: - Removals of other nodes

  /// Applies a removal of another node to the local store.
  func apply(_ removal: Removal) {
    switch removal {
    case .target(let target, let partition, let softly, let keepingPins):
      if softly {
        _ = expire(keyed: target, partition: partition)
      } else {
        responses.removeAll(keyed: target, partition: partition, keepingPins: keepingPins)
      }
    case .patterns(let patterns, let partition, let softly):
      _ = purge(
        .keys { key in key.isIn(partition: partition) && patterns.contains { key.isMeant(by: $0) } },
        softly: softly)
    case .group(let group, let target, let partition, let softly):
      if !softly {
        responses.mark([StoreScope(CacheKey(target, partition: partition).scope(group: group))])
      }
      _ = purge(.group(group, target: target, partition), softly: softly)
    case .groupOfAnyOrigin(let group, let softly): _ = purge(.groupOfAnyOrigin(group), softly: softly)
    case .scopes(let scopes): responses.mark(scopes.map { StoreScope($0) })
    case .partition(let name):
      responses.mark([StoreScope(CacheKey.scope(ofPartition: name))])
      store.unpin { StoredKey($0).isIn(partition: name) }
    case .since(let time): store.removeAll(since: time.milliseconds)
    case .everything(let softly):
      if softly { _ = purge(.keys { _ in true }, softly: true) } else { store.removeAll() }
    }
  }
}
