// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

// A purge removes responses, or expires them. A removed response is gone. An expired response is stale from now on: it
// is revalidated before its next use. It may be used when an origin fails or is slow, as its directives and the
// configuration allow (RFC 9111 §4.2.4, RFC 5861).
//
// In both cases, responses in flight at the time of the call are not stored, and do not update anything that was
// purged. When the call returns, that also holds after a crash.

extension HTTPCache {
  // MARK: - By target

  /// Removes all stored responses for the target of a request, and its pin. Responses in flight for it are not stored.
  ///
  /// - Parameters:
  ///   - request: a request with the target; its method and fields do not matter.
  ///   - partition: the partition to remove from (default: the configuration's).
  /// - Returns: the number of responses that were removed. Responses to QUERY are removed too, and not counted.
  @discardableResult
  public func removeResponses(for request: HTTPRequest, partition: String? = nil) -> Int {
    TargetURI(request).map { removeAll(for: $0, partition: partition ?? configuration.partition) } ?? 0
  }

  /// Marks all stored responses for the target of a request as stale. Responses in flight for it are not stored.
  ///
  /// Responses to QUERY are removed, because the cache cannot find them without their requests.
  ///
  /// - Returns: the number of responses that are now stale.
  @discardableResult
  public func expireResponses(for request: HTTPRequest, partition: String? = nil) -> Int {
    guard let target = TargetURI(request).map({ responses.keyed($0) }) else { return 0 }
    let partition = partition ?? configuration.partition
    shared?.add(.target(target, partition: partition, softly: true, keepingPins: true))
    return expire(keyed: target, partition: partition)
  }

  /// Does the same for a target that stands for its equivalents, in this cache only.
  func expire(keyed target: TargetURI, partition: String) -> Int {
    store.remove(StoreKey(CacheKey.queryAnchor(target, partition: partition).bytes))
    return purge(
      .keys { key in key.isIn(partition: partition) && key.isOf(target) },
      in: storeKeys(of: target, partition: partition), softly: true)
  }

  /// Removes all stored responses for a target, however they are found, here and at the other nodes.
  ///
  /// - Parameter keepingPins: whether the responses that follow are pinned if these are.
  /// - Returns: the number of responses, not counting those to QUERY.
  @discardableResult
  func removeAll(for target: TargetURI, partition: String, keepingPins: Bool = false) -> Int {
    let target = responses.keyed(target)
    shared?.add(.target(target, partition: partition, softly: false, keepingPins: keepingPins))
    return responses.removeAll(keyed: target, partition: partition, keepingPins: keepingPins)
  }

  // MARK: - By pattern

  /// Removes all stored responses whose target URIs match a pattern. Responses in flight for them are not stored.
  ///
  /// The call may block on the disk: make it where that does no harm. Other callers do not wait for it.
  ///
  /// - Parameters:
  ///   - pattern: the pattern. If a ``Configuration/targetRule`` is set, the pattern is compared with the result of the
  ///     rule.
  ///   - partition: the partition to remove from (default: the configuration's).
  /// - Returns: the number of responses that were removed.
  /// - Complexity: O(*n*) in the number of responses stored, with one read for each response on disk.
  @discardableResult
  public func removeResponses(matching pattern: TargetPattern, partition: String? = nil) -> Int {
    removeResponses(matching: [pattern], partition: partition)
  }

  /// Removes all stored responses whose target URIs match one of several patterns, as for one pattern.
  @discardableResult
  package func removeResponses(matching patterns: [TargetPattern], partition: String? = nil) -> Int {
    purge(patterns, partition, softly: false)
  }

  /// Marks all stored responses whose target URIs match a pattern as stale. Responses in flight for them are not
  /// stored.
  ///
  /// - Returns: the number of responses that are now stale.
  /// - Complexity: as ``removeResponses(matching:partition:)-(TargetPattern,_)``.
  @discardableResult
  public func expireResponses(matching pattern: TargetPattern, partition: String? = nil) -> Int {
    expireResponses(matching: [pattern], partition: partition)
  }

  /// Marks all stored responses whose target URIs match one of several patterns as stale, as for one pattern.
  @discardableResult
  package func expireResponses(matching patterns: [TargetPattern], partition: String? = nil) -> Int {
    purge(patterns, partition, softly: true)
  }

  private func purge(_ patterns: [TargetPattern], _ partition: String?, softly: Bool) -> Int {
    guard !patterns.isEmpty else { return 0 }
    let partition = partition ?? configuration.partition
    shared?.add(.patterns(patterns, partition: partition, softly: softly))
    return purge(
      .keys { key in
        key.isIn(partition: partition) && patterns.contains { key.isMeant(by: $0) }
      }, softly: softly)
  }

  // MARK: - Everything

  /// Removes all stored responses, and all pins. Responses in flight are not stored. When the call returns, the disk is clear, too.
  ///
  /// - Returns: the number of entries that were removed.
  @discardableResult
  public func removeAllResponses() -> Int {
    shared?.add(.everything(softly: false))
    return store.removeAll()
  }

  /// Marks all stored responses in all partitions as stale. Responses in flight are not stored.
  ///
  /// - Returns: the number of responses that are now stale.
  /// - Complexity: as ``removeResponses(matching:partition:)-(TargetPattern,_)``.
  @discardableResult
  public func expireAllResponses() -> Int {
    shared?.add(.everything(softly: true))
    return purge(.keys { _ in true }, softly: true)
  }

  // MARK: - By group

  /// Invalidates all responses in a group of an origin (RFC 9875 §2.1), including those in flight.
  ///
  /// - Parameters:
  ///   - group: the name of the group. In `Cache-Groups`, characters beyond printable ASCII are percent-encoded.
  ///   - target: any URI of the origin.
  ///   - partition: the partition (default: the configuration's).
  /// - Complexity: O(1), regardless of the number of stored responses.
  public func invalidateGroup(_ group: String, of target: TargetURI, partition: String? = nil) {
    invalidateGroup(inField: GroupName.inField(group), of: target, partition: partition)
  }

  /// The same for a group as it is named in fields.
  package func invalidateGroup(inField group: String, of target: TargetURI, partition: String? = nil) {
    invalidate(target, group, partition)
  }

  /// Invalidates all responses of an origin, including those in flight.
  ///
  /// - Complexity: O(1), regardless of the number of stored responses.
  public func invalidateOrigin(of target: TargetURI, partition: String? = nil) {
    invalidate(target, nil, partition)
  }

  private func invalidate(_ target: TargetURI, _ group: String?, _ partition: String?) {
    let scope = scope(target, group, partition)
    shared?.add(.scopes([scope.bytes]))
    responses.mark([scope])
  }

  private func scope(_ target: TargetURI, _ group: String?, _ partition: String?) -> StoreScope {
    let key = CacheKey(responses.keyed(target), partition: partition ?? configuration.partition)
    return StoreScope(key.scope(group: group))
  }

  /// Removes all stored responses in a group of an origin and counts them. They are invalid at once, as after
  /// ``invalidateGroup(_:of:partition:)``.
  ///
  /// - Returns: the number of responses that were removed.
  /// - Complexity: as ``removeResponses(matching:partition:)-(TargetPattern,_)``.
  @discardableResult
  public func removeGroup(_ group: String, of target: TargetURI, partition: String? = nil) -> Int {
    let group = GroupName.inField(group)
    shared?.add(
      .group(group, responses.keyed(target), partition: partition ?? configuration.partition, softly: false))
    responses.mark([scope(target, group, partition)])
    return purge(
      .group(group, target: responses.keyed(target), partition ?? configuration.partition), softly: false)
  }

  /// Marks all stored responses in a group of an origin as stale. Responses in flight for it are not stored.
  ///
  /// - Returns: the number of responses that are now stale.
  /// - Complexity: as ``removeResponses(matching:partition:)-(TargetPattern,_)``.
  @discardableResult
  public func expireGroup(_ group: String, of target: TargetURI, partition: String? = nil) -> Int {
    expireGroup(inField: GroupName.inField(group), of: target, partition: partition)
  }

  /// The same for a group as it is named in fields.
  package func expireGroup(inField group: String, of target: TargetURI, partition: String? = nil) -> Int {
    shared?.add(
      .group(group, responses.keyed(target), partition: partition ?? configuration.partition, softly: true))
    return purge(
      .group(group, target: responses.keyed(target), partition ?? configuration.partition), softly: true)
  }

  // MARK: - The common implementation

  /// The set of responses that a purge covers. Groups have their names in fields, see ``GroupName``.
  package enum PurgeExtent: Sendable {
    case keys(@Sendable (StoredKey) -> Bool)
    /// Responses in a group of a target's origin.
    case group(String, target: TargetURI, _ partition: String)
    /// Responses in a group, of any origin and in any partition. Responses in flight are not covered: their groups are
    /// unknown.
    case groupOfAnyOrigin(String)
  }

  /// Removes the responses within an extent, or marks them as stale.
  ///
  /// - Parameter keys: the keys to search, if they are known.
  /// - Returns: the number of responses purged. Responses that share a content count once. Entries that only lead to
  ///   responses, or belong to them, are not counted.
  package func purge(_ extent: PurgeExtent, in keys: [StoreKey]? = nil, softly: Bool) -> Int {
    let now = clock.now
    var count = 0
    func decide(_ entry: CacheStore.SweptEntry) -> CacheStore.SweepAction {
      // Most responses are in no group: they need not be decoded.
      if !extent.isOfKeys, !entry.metadata.withUnsafeBytes({ StoredResponse.mayHaveGroups($0.bytes) }) {
        return .keep
      }
      var responses = entry.metadata.withUnsafeBytes { StoredResponse.all(decoding: $0.bytes) }
      let meant = responses.indices.filter { extent.contains(responses[$0], under: entry.key) }
      if meant.isEmpty {
        // An entry that is not a response is covered by its key only.
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

  /// Returns the keys that responses to GET requests for a target are stored under; `nil` if some of them may be unknown.
  private func storeKeys(of target: TargetURI, partition: String) -> [StoreKey]? {
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

extension HTTPCache.PurgeExtent {
  fileprivate var isOfKeys: Bool { if case .keys = self { true } else { false } }

  /// Whether the extent covers a response, given that it may cover the key.
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
