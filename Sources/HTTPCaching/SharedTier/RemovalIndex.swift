// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore

/// The removals of the log that a node has read: says whether an entry of the tier is older than a removal of it.
///
/// Each entry has the position in the log from before its request to the origin. So a node that has read the log can
/// judge each entry by itself, whatever the tier lost or failed to remove.
///
/// The memory is bounded, to about 5 MB: beyond it, the oldest removals become one of everything. By then, Redis has
/// dropped them from the log, which has 100,000 records: a node that begins then does not know them either.
struct RemovalIndex: Sendable {
  /// Maximum removed keys and scopes.
  static let tagLimit = 131_072
  /// Maximum removed patterns. Each costs a comparison with the entries found that are older.
  static let ruleLimit = 1024

  /// Entries with a lower number are not used.
  private(set) var floor: UInt64
  /// The number of the latest removal of a key or scope, by its hash: another with the same hash is fetched once more.
  private var tags: [UInt64: UInt64] = [:]
  /// Removals by pattern, each once, in the order of their numbers.
  private var rules: [(number: UInt64, removal: Removal)] = []

  private enum Tag: Hashable {
    case key([UInt8])
    case scope([UInt8])
    /// A group of any origin.
    case group([UInt8])

    var hash: UInt64 {
      var hasher = Hasher()
      hash(into: &hasher)
      return UInt64(truncatingIfNeeded: hasher.finalize())
    }
  }

  /// - Parameter first: the number of the oldest record that the log still has. Older ones may concern an entry that was
  ///   requested before them.
  init(first: UInt64) {
    floor = first == 0 ? 0 : first - 1
  }

  mutating func add(_ removal: Removal, _ number: UInt64) {
    switch removal {
    case .everything, .since: floor = max(floor, number)
    case .patterns:
      if let known = rules.firstIndex(where: { $0.removal.removesSame(as: removal) }) {
        guard rules[known].number < number else { return }
        rules.remove(at: known)
      }
      // A node knows its own removals before earlier ones of others.
      rules.insert((number, removal), at: rules.firstIndex { $0.number > number } ?? rules.endIndex)
      if rules.count > Self.ruleLimit { floor = max(floor, rules.removeFirst().number) }
    case .groupOfAnyOrigin(let group, _): add([.group(Array(group.utf8))], number)
    case .target, .group, .scopes, .partition:
      add(removal.keys.map { .key($0) } + removal.scopes.map { .scope($0) }, number)
    }
  }

  private mutating func add(_ removed: [Tag], _ number: UInt64) {
    for tag in removed { tags[tag.hash, default: 0] = max(number, tags[tag.hash] ?? 0) }
    guard tags.count > Self.tagLimit else { return }
    let ordered = tags.values.sorted()
    floor = max(floor, ordered[ordered.count - Self.tagLimit / 2 - 1])
    tags = tags.filter { $1 > floor }
  }

  /// Whether a removal after a position in the log concerns an entry.
  func covers(_ key: [UInt8], scopes: [[UInt8]], since number: UInt64) -> Bool {
    if number < floor { return true }
    func isRemoved(_ tag: Tag) -> Bool { tags[tag.hash].map { number < $0 } ?? false }
    return isRemoved(.key(key)) || scopes.contains { isRemoved(.scope($0)) || isRemoved(.group($0.group)) }
      || rules.reversed().prefix(while: { number < $0.number }).contains {
        $0.removal.concerns(key, scopes: scopes)
      }
  }
}

extension [UInt8] {
  /// The name of the group that is the end of a scope, as `CacheKey.scope(group:)` makes it; otherwise any text.
  fileprivate var group: [UInt8] {
    guard let end = indices.dropLast().last(where: { self[$0] == 0 && self[$0 + 1] == 0 }) else {
      return self
    }
    return Array(self[(end + 2)...])
  }
}

extension Removal {
  /// Whether both are removals by the same patterns, softly or not.
  fileprivate func removesSame(as other: Removal) -> Bool {
    guard case .patterns(let patterns, let partition, _) = self,
      case .patterns(let others, let otherPartition, _) = other
    else { return false }
    return patterns == others && partition == otherPartition
  }

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
