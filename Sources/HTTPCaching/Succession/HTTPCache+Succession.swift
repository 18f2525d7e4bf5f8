// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheStore

extension HTTPCache {
  /// The directory of the store; `nil` without one.
  package var directory: FilePath? { store.directory }

  /// The removal of everything, as a peer is told it.
  package static let removalOfEverything = Removal.everything.payload(node: 0)

  /// Tells a peer all removals from now on.
  package func tellRemovals(to peer: any RemovalPeer) { removalPeers.add(peer) }

  /// Whether there is a peer that must be told of removals.
  package var tellsRemovals: Bool { removalPeers.isPresent }

  /// Tells a peer no more.
  package func tellNoRemovals(to peer: any RemovalPeer) { removalPeers.remove(peer) }

  /// Returns when all peers but one have applied what they were told.
  package func haveRemovalsBeenApplied(except peer: any RemovalPeer) async {
    _ = await removalPeers.haveApplied(except: peer)
  }

  /// Leaves the directory to another process, and goes on in memory. May block on the disk.
  ///
  /// Tell a peer of removals before, see ``tellRemovals(to:)``: the entries in the directory are that peer's to remove.
  package func leaveDirectory() {
    shared?.leaveDirectory()
    store.leaveDirectory()
  }

  /// Applies removals that a peer tells. May block on the disk.
  ///
  /// - Parameters:
  ///   - peer: is not told of them again.
  ///   - isHeir: whether this cache has the directory that the peer has left. Then it also tells the shared tier, as the peer
  ///     may end before.
  package func applyRemoval(_ payload: [UInt8], from peer: any RemovalPeer, isHeir: Bool) {
    let removal = Removal.read(payload).removal
    if isHeir { shared?.add(removal) }
    apply(removal)
    removalPeers.tell(removal, except: peer)
  }

  /// Applies removals to a directory that no process uses. Blocks on the disk.
  ///
  /// - Throws: `StoreError`, with the code `directoryInUse` if a process uses it.
  package static func applyRemovals(_ payloads: [[UInt8]], toDirectoryOf cache: HTTPCache) throws {
    var configuration = cache.configuration
    configuration.store.memoryCapacity = 0
    configuration.store.startEmpty = false
    (configuration.sharedTier, configuration.observers, configuration.tracer) = (nil, [], nil)
    let other = try HTTPCache(configuration)
    defer { other.close() }
    for payload in payloads { other.apply(Removal.read(payload).removal) }
  }
}

extension SharedTierLink {
  /// Leaves the files beside the store to another process.
  fileprivate func leaveDirectory() {
    keepRemovals()
    positionFile?.leave()
    removalsFile?.leave()
  }
}
