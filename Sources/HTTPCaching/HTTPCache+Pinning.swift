// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

// A pin keeps the responses for a target from eviction, for content that a user wants to keep. It changes no rule: what
// is invalidated, purged or outdated is so with a pin, too, and the next response is pinned again.

extension HTTPCache {
  /// A target whose responses are not evicted, as ``HTTPCache/pinned`` lists it.
  public struct PinnedTarget: Sendable, Hashable {
    /// The target's URL, in its normal form.
    public let url: String
    /// The partition of the responses.
    public let partition: String
    /// Number of responses that are stored now; 0 if they were invalidated or removed.
    public let responseCount: Int
    /// Bytes that these responses occupy on disk.
    public let byteCount: Int
    /// Whether all of them are pinned. `false` if one was stored that would have exceeded the limit.
    public let isProtected: Bool
  }

  /// Keeps the responses for the target of a request from eviction, those stored now and those stored later.
  ///
  /// Pin what a user has chosen to keep. The pin belongs to the target, and stays when a response is replaced. Responses
  /// that only memory holds are written to the disk. If the target has no stored response, the next one is kept.
  ///
  /// A pin ends with ``unpin(_:partition:)``, and if its target, its partition or everything is removed
  /// (``remove(_:counting:)``). Invalidations and other removals concern pinned responses like all others; then the pin stays
  /// for the next response. The pinned responses of all targets take at most `configuration.store.pinnedShare` of the
  /// disk. A response that would exceed it is stored, but not pinned until you pin its target again. A lowered
  /// `configuration.store.diskCapacity` can cost pinned responses.
  ///
  /// With `usesNoVarySearch`, the pin also keeps the response that the target shares with others, as it is at the time of
  /// the call. Responses to QUERY are not pinned.
  ///
  /// The call blocks until the pin and the responses would survive a crash, as far as `configuration.store.sync` says.
  ///
  /// - Parameters:
  ///   - request: a request with the target; its method and fields do not matter.
  ///   - partition: the partition of the responses (default: the configuration's).
  /// - Throws: `HTTPCacheError` with the code `noTarget` if the request has no scheme or no authority. `StoreError` if the
  ///   cache has no disk (`noDisk`), the limit would be exceeded (`pinLimit`), the disk has no room at this moment
  ///   (`noRoom`), or it fails. The target is then as before.
  /// - Complexity: O(pinned targets).
  public func pin(_ request: HTTPRequest, partition: String? = nil) throws {
    let (keys, isPinned) = try pinKeys(request, partition)
    do {
      for key in keys { try store.pin(key) }
    } catch {
      if !isPinned { _ = try? unpin(request, partition: partition) }
      throw error
    }
  }

  /// Unpins the responses for the target of a request. They stay until they are evicted.
  ///
  /// - Parameters:
  ///   - request: a request with the target; its method and fields do not matter.
  ///   - partition: the partition of the responses (default: the configuration's).
  /// - Returns: whether the target was pinned.
  /// - Throws: `HTTPCacheError` with the code `noTarget` if the request has no scheme or no authority. `StoreError` if the
  ///   disk fails: the target may then be pinned again when the cache is opened the next time.
  /// - Complexity: O(pinned targets).
  @discardableResult
  public func unpin(_ request: HTTPRequest, partition: String? = nil) throws -> Bool {
    let (keys, isPinned) = try pinKeys(request, partition)
    guard let exact = keys.first else { return false }
    try store.unpin(exact)
    // What other pinned targets share with this one stays pinned for them.
    let (path, other) = (Self.path(of: exact), store.pinned.map { StoredKey($0.key) })
    let isShared = other.contains {
      $0.kind == .get && $0.partition == path.partition && Self.path($0.url) == path.url
    }
    if !isShared { for key in keys.dropFirst() { try store.unpin(key) } }
    store.unpin { StoredKey($0).isVariant(under: exact) }
    return isPinned
  }

  /// Whether the responses for the target of a request are pinned.
  ///
  /// - Complexity: O(1) on average.
  public func isPinned(_ request: HTTPRequest, partition: String? = nil) -> Bool {
    guard let target = TargetURI(request).map({ responses.keyed($0) }) else { return false }
    return store.isPinned(responses.exactKey(target, partition ?? configuration.partition))
  }

  /// The pinned targets of all partitions, in the order in which they were pinned, and what they occupy.
  ///
  /// The sum of all bytes and its limit are `pinnedBytes` in `CacheStore.usage` and `pinned` in `CacheStore.capacity`.
  ///
  /// - Complexity: O(pinned targets).
  public var pinned: [PinnedTarget] {
    let pins = store.pinned.map { (key: StoredKey($0.key), pin: $0) }
    let variants = pins.filter(\.key.isVariant)
    return pins.compactMap { key, pin in
      guard key.kind == .get, !key.isVariant else { return nil }
      let all = [pin] + variants.filter { $0.key.isVariant(under: pin.key) }.map(\.pin)
      return PinnedTarget(
        url: key.url, partition: key.partition, responseCount: all.reduce(0) { $0 + $1.entryCount },
        byteCount: all.reduce(0) { $0 + $1.byteCount }, isProtected: all.allSatisfy(\.isProtected))
    }
  }

  // MARK: - Keys

  /// The keys that a pin of a target consists of, its own first, and whether that is pinned.
  private func pinKeys(
    _ request: HTTPRequest, _ partition: String?
  ) throws(HTTPCacheError) -> (keys: [StoreKey], isPinned: Bool) {
    guard let target = TargetURI(request).map({ responses.keyed($0) }) else { throw .noTarget }
    let partition = partition ?? configuration.partition
    var keys = [responses.exactKey(target, partition)]
    let isPinned = store.isPinned(keys[0])
    if configuration.rules.usesNoVarySearch {
      keys.append(StoreKey(CacheKey.pathAnchor(target, partition: partition).bytes))
      if let common = responses.commonKey(of: target, partition: partition) { keys.append(common) }
    }
    // Further variants of a pinned target are stored under its own key.
    keys += responses.keysOfVariants(under: keys[0]) ?? []
    return (keys, isPinned)
  }

  private static func path(of key: StoreKey) -> (partition: String, url: Substring) {
    let key = StoredKey(key)
    return (key.partition, path(key.url))
  }

  private static func path(_ url: String) -> Substring { url.prefix { $0 != "?" } }
}
