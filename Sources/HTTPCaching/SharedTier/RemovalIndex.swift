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
  /// Removals by pattern or by site, each once, in the order of their numbers.
  private var rules: [(number: UInt64, bytes: [UInt8], covers: CacheStore.Coverage)] = []

  private enum Tag: Hashable {
    case key([UInt8])
    case scope([UInt8])
    /// A group of any origin.
    case group(ArraySlice<UInt8>)
    /// In every partition: what follows the name of the partition in a key or a scope.
    case keyAnywhere(ArraySlice<UInt8>)
    case scopeAnywhere(ArraySlice<UInt8>)

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

  mutating func add(_ selection: HTTPCache.Selection, _ number: UInt64) {
    switch selection.extent {
    case .all, .since, .before: floor = max(floor, number)
    case .target(let target, _) where selection.isInEveryPartition:
      add([.keyAnywhere(Array(target.text.utf8)[...])], number)
    case .scopes(let scopes) where selection.isInEveryPartition:
      add(scopes.map { .scopeAnywhere($0[...]) }, number)
    case .patterns, .site:
      // As bytes: partitions and patterns that are equal by Unicode's rules are different ones.
      let bytes = Removal(selection).payload(node: 0)
      if let known = rules.firstIndex(where: { $0.bytes == bytes }) {
        guard rules[known].number < number else { return }
        rules.remove(at: known)
      }
      // A node knows its own removals before earlier ones of others.
      let place = rules.firstIndex { $0.number > number } ?? rules.endIndex
      rules.insert((number, bytes, selection.coverage), at: place)
      if rules.count > Self.ruleLimit { floor = max(floor, rules.removeFirst().number) }
    case .groupsOfAnyOrigin(let groups): add(groups.map { .group(Array($0.utf8)[...]) }, number)
    case .target, .origin, .scopes, .partition:
      add(selection.keys.map { .key($0) } + selection.scopes.map { .scope($0) }, number)
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
    return isRemoved(.key(key)) || isRemoved(.keyAnywhere(StoredKey.withoutPartition(key)))
      || scopes.contains { scope in
        isRemoved(.scope(scope)) || isRemoved(.scopeAnywhere(StoredKey.withoutPartition(scope)))
          || CacheKey.group(ofScope: scope).map { isRemoved(.group($0)) } ?? false
      }
      || key.withUnsafeBytes { key in
        rules.reversed().prefix(while: { number < $0.number }).contains { $0.covers(key, []) }
      }
  }
}
