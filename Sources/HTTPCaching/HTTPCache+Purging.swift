// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

// To purge is to remove, or to expire. What is removed is gone. What is expired is stale from now on: it is validated before
// its next use, and may stand in for an origin that fails or is slow, as its directives and the configuration allow (RFC
// 9111 §4.2.4, RFC 5861).
//
// Either way, what is on its way when the call is made is not stored, and brings nothing of what was purged up to date.
// When the call returns, that holds after a crash, too.

extension HTTPCache {
  // MARK: - By target

  /// Removes everything that is stored for the target of a request. Responses in flight for it are not stored.
  ///
  /// - Parameters:
  ///   - request: a request with the target; its method and fields do not matter.
  ///   - partition: the partition to remove from (default: the configuration's).
  /// - Returns: the number of responses that were removed. Those to QUERY go too, and are not counted.
  @discardableResult
  public func removeResponses(for request: HTTPRequest, partition: String? = nil) -> Int {
    TargetURI(request).map { removeAll(for: $0, partition: partition ?? configuration.partition) } ?? 0
  }

  /// Makes everything stale that is stored for the target of a request; what is on its way for it is not stored.
  ///
  /// Responses to QUERY are removed: they cannot be found without their requests.
  ///
  /// - Returns: the number of responses that are stale now.
  @discardableResult
  public func expireResponses(for request: HTTPRequest, partition: String? = nil) -> Int {
    guard let target = TargetURI(request).map({ keyed($0) }) else { return 0 }
    let partition = partition ?? configuration.partition
    store.remove(StoreKey(CacheKey.queryAnchor(target, partition: partition).bytes))
    return purge(
      .keys { key in key.isIn(partition: partition) && key.isOf(target) },
      in: storeKeys(of: target, partition: partition), softly: true)
  }

  // MARK: - By pattern

  /// Removes everything that is stored for target URIs of a pattern; what is on its way for them is not stored either.
  ///
  /// It may wait for the disk: call it where that does no harm. Nothing else waits for it.
  ///
  /// - Parameters:
  ///   - pattern: where a ``Configuration/targetRule`` is set, it is compared with what the rule makes of URIs.
  ///   - partition: where from; the configuration's, unless given.
  /// - Returns: the number of responses that were removed.
  /// - Complexity: O(*n*) in the number of responses stored, with one read for each that is on disk.
  @discardableResult
  public func removeResponses(matching pattern: TargetPattern, partition: String? = nil) -> Int {
    removeResponses(matching: [pattern], partition: partition)
  }

  /// Removes everything that is stored for target URIs of one of several patterns, as one pattern does.
  @discardableResult
  package func removeResponses(matching patterns: [TargetPattern], partition: String? = nil) -> Int {
    purge(patterns, partition, softly: false)
  }

  /// Makes everything stale that is stored for target URIs of a pattern; what is on its way for them is not stored.
  ///
  /// - Returns: the number of responses that are stale now.
  /// - Complexity: as ``removeResponses(matching:partition:)-(TargetPattern,_)``.
  @discardableResult
  public func expireResponses(matching pattern: TargetPattern, partition: String? = nil) -> Int {
    expireResponses(matching: [pattern], partition: partition)
  }

  /// Makes everything stale that is stored for target URIs of one of several patterns, as one pattern does.
  @discardableResult
  package func expireResponses(matching patterns: [TargetPattern], partition: String? = nil) -> Int {
    purge(patterns, partition, softly: true)
  }

  private func purge(_ patterns: [TargetPattern], _ partition: String?, softly: Bool) -> Int {
    guard !patterns.isEmpty else { return 0 }
    let partition = partition ?? configuration.partition
    return purge(
      .keys { key in
        key.isIn(partition: partition) && patterns.contains { key.isMeant(by: $0) }
      }, softly: softly)
  }

  // MARK: - Everything

  /// Removes everything; what is on its way is not stored either. On disk too, when the call returns.
  ///
  /// - Returns: the number of entries that were removed.
  @discardableResult
  public func removeAllResponses() -> Int {
    store.removeAll()
  }

  /// Makes everything stale, in all partitions; what is on its way is not stored.
  ///
  /// - Returns: the number of responses that are stale now.
  /// - Complexity: as ``removeResponses(matching:partition:)-(TargetPattern,_)``.
  @discardableResult
  public func expireAllResponses() -> Int {
    purge(.keys { _ in true }, softly: true)
  }

  // MARK: - By group

  /// Makes everything invalid that is stored in a group of an origin (RFC 9875 §2.1), and what is on its way for it.
  ///
  /// - Parameters:
  ///   - group: the name of the group, as `Cache-Groups` has it.
  ///   - target: any URI of the origin.
  ///   - partition: the partition (default: the configuration's).
  /// - Complexity: O(1), however much is stored.
  public func invalidateGroup(_ group: String, of target: TargetURI, partition: String? = nil) {
    invalidate(target, group, partition)
  }

  /// Makes everything invalid that is stored of an origin, and what is on its way for it.
  ///
  /// - Complexity: O(1), however much is stored.
  public func invalidateOrigin(of target: TargetURI, partition: String? = nil) {
    invalidate(target, nil, partition)
  }

  private func invalidate(_ target: TargetURI, _ group: String?, _ partition: String?) {
    store.mark([scope(target, group, partition)])
  }

  private func scope(_ target: TargetURI, _ group: String?, _ partition: String?) -> StoreScope {
    let key = CacheKey(keyed(target), partition: partition ?? configuration.partition)
    return StoreScope(key.scope(group: group))
  }

  /// Removes everything that is stored in a group of an origin, as ``invalidateGroup(_:of:partition:)`` and at once invalid,
  /// and counts it.
  ///
  /// - Returns: the number of responses that were removed.
  /// - Complexity: as ``removeResponses(matching:partition:)-(TargetPattern,_)``.
  @discardableResult
  public func removeGroup(_ group: String, of target: TargetURI, partition: String? = nil) -> Int {
    invalidate(target, group, partition)
    return purge(.group(group, target: keyed(target), partition ?? configuration.partition), softly: false)
  }

  /// Makes everything stale that is stored in a group of an origin; what is on its way for it is not stored.
  ///
  /// - Returns: the number of responses that are stale now.
  /// - Complexity: as ``removeResponses(matching:partition:)-(TargetPattern,_)``.
  @discardableResult
  public func expireGroup(_ group: String, of target: TargetURI, partition: String? = nil) -> Int {
    purge(.group(group, target: keyed(target), partition ?? configuration.partition), softly: true)
  }

  // MARK: - All of these

  /// What a purge is about.
  package enum PurgeExtent: Sendable {
    case keys(@Sendable (StoredKey) -> Bool)
    /// Responses in a group of a target's origin.
    case group(String, target: TargetURI, _ partition: String)
    /// Responses in a group, of whatever origin and in whatever partition; those on their way are not known.
    case groupOfAnyOrigin(String)
  }

  /// Removes what is within an extent, or makes it stale.
  ///
  /// - Parameter keys: where to look, if that is known.
  /// - Returns: the number of responses among it, where those that share a content count once. What finds others, or belongs
  ///   to them, is not counted.
  package func purge(_ extent: PurgeExtent, in keys: [StoreKey]? = nil, softly: Bool) -> Int {
    let now = clock.now
    var count = 0
    func decide(_ entry: CacheStore.SweptEntry) -> CacheStore.SweepAction {
      var responses = entry.metadata.withUnsafeBytes { StoredResponse.all(decoding: $0.bytes) }
      let meant = responses.indices.filter { extent.contains(responses[$0], under: entry.key) }
      if meant.isEmpty {
        // What is no response is meant by its key only.
        return responses.isEmpty && extent.isOfKeys && !softly ? .remove : .keep
      }
      count += 1
      guard softly else { return .remove }
      for index in meant { responses[index].facts.expire(at: now) }
      return .update(metadata: StoredResponse.encoded(sharingContent: responses))
    }
    switch extent {
    case .keys(let isMeant): store.sweep(.keys { isMeant(StoredKey($0)) }, in: keys, decide)
    case .group(let group, let target, let partition):
      store.sweep(.scope(scope(target, group, partition)), in: keys, decide)
    case .groupOfAnyOrigin: store.sweep(.keys { _ in true }, in: keys, decide)
    }
    return count
  }

  /// The keys that responses to GET requests for a target are stored under.
  private func storeKeys(of target: TargetURI, partition: String) -> [StoreKey] {
    [StoreKey(CacheKey(target, partition: partition).bytes)]
      + (commonKey(of: target, partition: partition).map { [$0] } ?? [])
  }
}

extension HTTPCache.PurgeExtent {
  fileprivate var isOfKeys: Bool { if case .keys = self { true } else { false } }

  /// Whether a response is meant whose key may be.
  fileprivate func contains(_ response: StoredResponse, under key: StoreKey) -> Bool {
    switch self {
    case .keys: true
    case .groupOfAnyOrigin(let group): response.groups.contains(group)
    case .group(let group, let target, let partition):
      response.groups.contains(group)
        && {
          let key = StoredKey(key)
          guard key.isIn(partition: partition), let own = TargetURI(absolute: key.url) else { return false }
          return CacheKey(own).scope() == CacheKey(target).scope()
        }()
    }
  }
}
