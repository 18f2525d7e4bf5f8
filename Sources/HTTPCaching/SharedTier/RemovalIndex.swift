// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore

/// The removals of the log that a node has read: says whether an entry of the tier is older than a removal of it.
///
/// Each entry has the position in the log from before its request to the origin. So a node that has read the log can
/// judge each entry by itself, whatever the tier lost or failed to remove. The memory is bounded: beyond it, the oldest
/// removals become one of everything.
struct RemovalIndex: Sendable {
  static let tagLimit = 32_768
  static let ruleLimit = 128

  /// Entries with a lower number are not used.
  private(set) var floor: UInt64
  /// The number of the latest removal of a key or scope.
  private var tags: [Tag: UInt64] = [:]
  /// Removals by pattern.
  private var rules: [(number: UInt64, removal: Removal)] = []

  private enum Tag: Hashable {
    case key([UInt8])
    case scope([UInt8])
  }

  /// - Parameter first: the number of the oldest record that the log still has. Older ones may concern an entry that was
  ///   requested before them.
  init(first: UInt64) {
    floor = first == 0 ? 0 : first - 1
  }

  mutating func add(_ removal: Removal, _ number: UInt64) {
    switch removal {
    case .everything, .since: floor = max(floor, number)
    case .patterns, .groupOfAnyOrigin:
      if rules.count == Self.ruleLimit { floor = max(floor, rules.removeFirst().number) }
      rules.append((number, removal))
    case .target, .group, .scopes, .partition:
      for key in removal.keys { tags[.key(key)] = max(number, tags[.key(key)] ?? 0) }
      for scope in removal.scopes { tags[.scope(scope)] = max(number, tags[.scope(scope)] ?? 0) }
      guard tags.count > Self.tagLimit else { return }
      let ordered = tags.values.sorted()
      floor = max(floor, ordered[ordered.count - Self.tagLimit / 2 - 1])
      tags = tags.filter { $1 > floor }
    }
  }

  /// Whether a removal after a position in the log concerns an entry.
  func covers(_ key: [UInt8], scopes: [[UInt8]], since number: UInt64) -> Bool {
    if number < floor { return true }
    if let removed = tags[.key(key)], number < removed { return true }
    if scopes.contains(where: { tags[.scope($0)].map { number < $0 } ?? false }) { return true }
    return rules.contains { number < $0.number && $0.removal.concerns(key, scopes: scopes) }
  }
}

extension Removal {
  /// Whether it removes an entry that was there before; in doubt `true`.
  func concerns(_ key: [UInt8], scopes entryScopes: [[UInt8]]) -> Bool {
    switch self {
    case .everything, .since: return true
    case .patterns(let patterns, let partition, _):
      let key = StoredKey(StoreKey(key))
      return key.isIn(partition: partition) && patterns.contains { key.isMeant(by: $0) }
    case .groupOfAnyOrigin(let group, _):
      // As `CacheKey.scope(group:)` makes the scope of a group.
      let end = [0, 0] + Array(group.utf8)
      return entryScopes.contains { $0.suffix(end.count).elementsEqual(end) }
    case .target, .group, .scopes, .partition:
      return keys.contains(key) || scopes.contains { entryScopes.contains($0) }
    }
  }
}
