// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// The cache of another process, which must be told of removals while one process takes the place of the other.
package protocol RemovalPeer: AnyObject, Sendable {
  /// Tells it a removal, in the form of the shared tier's log. Does not wait.
  func tell(_ payload: [UInt8])
  /// Returns when it has applied what it was told, or serves nothing more; `false` if it cannot be known to.
  func hasApplied() async -> Bool
}

/// The caches of other processes that this one tells its removals.
///
/// A removal is told after it has been applied here. So a removal that finds the directory left has a peer: the peer is added
/// before the directory is left.
final class RemovalPeers: Sendable {
  private let peers = Mutex<[any RemovalPeer]>([])
  private let count = Atomic<Int>(0)

  /// Whether there is a peer. This takes no lock.
  var isPresent: Bool { count.load(ordering: .sequentiallyConsistent) > 0 }

  func add(_ peer: any RemovalPeer) {
    peers.withLock { peers in
      guard !peers.contains(where: { $0 === peer }) else { return }
      peers.append(peer)
      count.store(peers.count, ordering: .sequentiallyConsistent)
    }
  }

  func remove(_ peer: any RemovalPeer) {
    peers.withLock { peers in
      peers.removeAll { $0 === peer }
      count.store(peers.count, ordering: .sequentiallyConsistent)
    }
  }

  /// Tells all peers a removal that has been applied here.
  ///
  /// - Parameter source: the peer that it comes from.
  func tell(_ removal: Removal, except source: (any RemovalPeer)? = nil) {
    guard isPresent else { return }
    let payload = removal.payload(node: 0)
    for peer in peers.withLock({ $0 }) where peer !== source { peer.tell(payload) }
  }

  /// Returns when all peers have applied what they were told; `false` if that cannot be known.
  @discardableResult
  func haveApplied(except source: (any RemovalPeer)? = nil) async -> Bool {
    var areAll = true
    for peer in peers.withLock({ $0 }) where peer !== source {
      if !(await peer.hasApplied()) { areAll = false }
    }
    return areAll
  }
}
