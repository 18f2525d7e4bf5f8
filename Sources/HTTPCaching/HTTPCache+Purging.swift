// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore

extension HTTPCache {
  /// The result of ``HTTPCache/remove(_:counting:)`` or ``HTTPCache/expire(_:)``.
  public struct RemovalResult: Hashable, Sendable {
    /// Number of responses that were removed, or are stale now; `nil` if they were marked and not counted.
    ///
    /// Responses that share a content count once. Responses to QUERY do not count for a target in one partition. If everything is removed, or
    /// all since a time, entries that only belong to responses count, too.
    public let count: Int?
  }

  /// Removes stored responses. Responses in flight that are selected are not stored.
  ///
  /// Once the call returns, the removed responses are never served again, not even after a crash. It may block on the disk:
  /// make it where that does no harm. The other nodes of a shared tier remove the responses, too; see
  /// ``confirmRemovals(within:)``.
  ///
  /// The bytes stay on disk until the space is needed, but for ``Selection/all``, which clears the disk. If the bytes of a
  /// partition must be deleted, give each partition its own directory.
  ///
  /// - Parameters:
  ///   - selection: the responses.
  ///   - counting: whether to search for the responses of a group, an origin or a partition, and count them (default: no,
  ///     they are marked as invalid).
  /// - Complexity: O(1) for a target, and for a group with its origin, an origin or a partition that is not counted, unless it is in
  ///   every partition. Otherwise O(*n*) in the number of responses stored, with one read for each response on disk.
  @discardableResult
  public func remove(_ selection: Selection, counting: Bool = false) -> RemovalResult {
    carryOut(Removal(resolved(selection)), counting: counting)
  }

  /// Marks stored responses as stale: they are revalidated before their next use. They may be used when an origin fails or
  /// is slow, as their directives and the configuration allow (RFC 9111 §4.2.4, RFC 5861). Responses in flight that are
  /// selected are not stored.
  ///
  /// When the call returns, that also holds after a crash. Responses to QUERY for a target in one partition are removed, because
  /// the cache cannot find them without their requests.
  ///
  /// - Complexity: O(1) for a target in one partition; otherwise O(*n*) as for ``remove(_:counting:)``.
  @discardableResult
  public func expire(_ selection: Selection) -> RemovalResult {
    carryOut(Removal(resolved(selection), isSoft: true), counting: true)
  }

  private func carryOut(_ removal: Removal, counting: Bool) -> RemovalResult {
    if removal.selection.extent == .patterns([]) || removal.selection.extent == .groupsOfAnyOrigin([]) {
      return RemovalResult(count: 0)
    }
    shared?.add(removal)
    defer { removalPeers.tell(removal) }
    return RemovalResult(count: apply(removal, counting: counting))
  }

  /// Returns a selection as the cache's nodes tell it each other.
  func resolved(_ selection: Selection) -> Selection {
    var place = selection.place
    if place == .unresolved {
      place = makesPartitions ? .everyPartition : .partition(configuration.partition)
    }
    switch selection.extent {
    case .target(let target, let keepingPins):
      return Selection(.target(responses.keyed(target), keepingPins: keepingPins), in: place)
    case .patterns, .site: return Selection(selection.extent, in: place)
    case .origin(let target, let group):
      let target = responses.keyed(target)
      if place != .everyPartition { return Selection(.origin(target, group: group), in: place) }
      return Selection(.scopes([CacheKey(target, partition: "").scope(group: group)]), in: place)
    case .groupsOfAnyOrigin, .scopes, .partition, .since, .before, .all: return selection
    }
  }

  /// Removes or expires responses in this cache only.
  ///
  /// - Returns: the number of responses; `nil` if they are not counted.
  @discardableResult
  func apply(_ removal: Removal, counting: Bool = false) -> Int? {
    let (selection, isSoft) = (removal.selection, removal.isSoft)
    switch selection.extent {
    case .target(let target, let keepingPins) where selection.isInEveryPartition:
      if !isSoft, !keepingPins { store.unpin { StoredKey($0).isOf(target) } }
    case .target(let target, let keepingPins):
      let partition = selection.ownPartition
      guard isSoft else {
        return responses.removeAll(keyed: target, partition: partition, keepingPins: keepingPins)
      }
      store.remove(StoreKey(CacheKey.queryAnchor(target, partition: partition).bytes))
      return sweep(selection.coverage, in: storeKeys(of: target, partition: partition), softly: true)
    case .since(let time) where !isSoft: return store.removeAll(since: time.milliseconds)
    case .all where !isSoft: return store.removeAll()
    default: break
    }
    if !isSoft, !selection.isBroad {
      responses.mark(selection.scopes.map { StoreScope($0) })
      if case .partition(let name) = selection.extent { store.unpin { StoredKey($0).isIn(partition: name) } }
      if !counting { return nil }
    }
    if !isSoft, selection == .common { store.unpin { StoredKey($0).isIn(partition: "") } }
    return sweep(selection.coverage, within: selection.times, softly: isSoft)
  }

  /// Searches this cache for responses, and removes them or marks them as stale.
  ///
  /// - Parameters:
  ///   - covers: which responses.
  ///   - keys: the keys to search, if they are known.
  ///   - times: when the responses were stored or validated, in milliseconds since 1970 (default: at any time).
  /// - Returns: the number of responses. Entries that only lead to responses, or belong to them, are not counted.
  package func sweep(
    _ covers: @escaping CacheStore.Coverage, in keys: [StoreKey]? = nil, within times: Range<Int64>? = nil,
    softly: Bool
  ) -> Int {
    let now = clock.now
    var count = 0
    store.sweep(covers, in: keys) { entry in
      guard times?.contains(entry.storedAt) ?? true else { return .keep }
      guard let covered = CoveredEntry(entry.key, entry.metadata, by: covers) else { return .keep }
      // Of an entry that is not a response, the age says nothing about the responses that it leads to.
      guard var response = covered.response else { return times == nil && !softly ? .remove : .keep }
      count += 1
      guard softly else { return .remove }
      response.facts.expire(at: now)
      return .update(metadata: response.encoded())
    }
    return count
  }

  /// Returns the keys that responses to GET requests for a target are stored under; `nil` if some of them may be unknown.
  func storeKeys(of target: TargetURI, partition: String) -> [StoreKey]? {
    let keys =
      [StoreKey(CacheKey(target, partition: partition).bytes)]
      + (responses.commonKey(of: target, partition: partition).map { [$0] } ?? [])
    var all = keys
    for key in keys {
      guard let variants = responses.keysOfVariants(under: key) else { return nil }
      all += variants
    }
    return all
  }
}

/// An entry that a selection covers.
struct CoveredEntry {
  let key: CacheKey?
  /// `nil` if the entry is not a response.
  let response: StoredResponse?

  /// Returns `nil` if the selection does not cover the entry.
  init?(_ storeKey: StoreKey, _ metadata: [UInt8], by covers: CacheStore.Coverage) {
    let key = StoredKey(storeKey).cacheKey
    func isCovered(_ scopes: [[UInt8]]) -> Bool {
      storeKey.bytes.withUnsafeBytes { covers($0, scopes.map { StoreScope($0) }) }
    }
    let isWhole = isCovered(key?.scopes ?? [])
    // Most responses have neither group nor tag: they need not be decoded.
    if !isWhole, !metadata.withUnsafeBytes({ StoredResponse.mayHaveGroups($0.bytes) }) { return nil }
    let response = metadata.withUnsafeBytes { StoredResponse(decoding: $0.bytes) }
    guard isWhole || isCovered(key.flatMap { response?.scopes(under: $0) } ?? []) else { return nil }
    (self.key, self.response) = (key, response)
  }
}
