// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension HTTPCache {
  /// The stored responses that ``HTTPCache/remove(_:counting:)``, ``HTTPCache/expire(_:)`` or
  /// ``HTTPCache/storedResponses(_:)`` concerns.
  ///
  /// ```swift
  /// cache.remove(.group("articles", of: target))
  /// cache.expire(.patterns([.prefix("https://example.com/images/")]))
  /// ```
  ///
  /// A partition that is `nil` is the configuration's; or every partition, while one of ``HTTPCache/cacheRules`` makes
  /// partitions. If a ``HTTPCache/Configuration/targetRule`` is set, a target stands for its equivalents, and patterns are
  /// compared with the result of the rule.
  public struct Selection: Hashable, Sendable {
    enum Extent: Hashable, Sendable {
      /// - Parameter keepingPins: whether the responses that follow are pinned if these are.
      case target(TargetURI, keepingPins: Bool)
      case patterns([TargetPattern])
      case site(SiteSelection)
      /// Responses of an origin, or those in a group of it, as the group is named in fields.
      case origin(TargetURI, group: String?)
      case groupsOfAnyOrigin([String])
      /// Origins, groups and partitions, as `CacheKey` makes their scopes.
      case scopes([[UInt8]])
      case partition(String)
      case since(Timestamp)
      case before(Timestamp)
      case all
    }

    /// Where a target, a pattern, a site or an origin is selected.
    enum Place: Hashable, Sendable {
      /// Where the cache's configuration and its rules say.
      case unresolved
      case partition(String)
      case everyPartition
    }

    let extent: Extent
    let place: Place

    init(_ extent: Extent, in place: Place) { (self.extent, self.place) = (extent, place) }

    init(_ extent: Extent, partition: String? = nil) {
      self.init(extent, in: partition.map { .partition($0) } ?? .unresolved)
    }

    /// All responses for a target, its variants, and those to QUERY. To remove them ends the target's pin.
    public static func target(_ target: TargetURI, partition: String? = nil) -> Selection {
      Selection(.target(target, keepingPins: false), partition: partition)
    }

    /// All responses for the target of a request; its method and fields do not matter. Nothing if the request has no
    /// target, as `TargetURI` says.
    public static func target(of request: HTTPRequest, partition: String? = nil) -> Selection {
      TargetURI(request).map { target($0, partition: partition) } ?? Selection(.patterns([]))
    }

    /// All responses whose target URIs match at least one of these patterns.
    public static func patterns(_ patterns: [TargetPattern], partition: String? = nil) -> Selection {
      Selection(.patterns(patterns), partition: partition)
    }

    /// All responses that belong to a site.
    ///
    /// - Parameters:
    ///   - position: its position in the table.
    ///   - table: all sites, as others may have a part of its hosts and paths.
    package static func site(_ position: Int, in table: SiteTable) -> Selection {
      Selection(.site(SiteSelection(table: table, scope: position)))
    }

    /// All responses in a group of an origin (RFC 9875 §2.1), and those with a tag of that name: one of the values of
    /// `CacheEngine.Configuration.tagFields`.
    ///
    /// - Parameters:
    ///   - name: the name of the group or tag. In `Cache-Groups`, characters beyond printable ASCII are percent-encoded.
    ///   - target: any URI of the origin.
    ///   - partition: the partition.
    public static func group(
      _ name: String, of target: TargetURI, partition: String? = nil
    ) -> Selection {
      group(inField: GroupName.inField(name), of: target, partition: partition)
    }

    /// All responses in a group, or with a tag of that name, of any origin and in any partition.
    public static func group(_ name: String) -> Selection { groups([name]) }

    /// All responses in at least one of these groups, or with a tag of such a name, of any origin and in any partition. They
    /// are found in one pass.
    public static func groups(_ names: [String]) -> Selection {
      groups(inField: names.map { GroupName.inField($0) })
    }

    /// All responses in a group as it is named in fields.
    package static func group(
      inField text: String, of target: TargetURI, partition: String? = nil
    ) -> Selection {
      Selection(.origin(target, group: text), partition: partition)
    }

    /// All responses of any origin and in any partition in groups as they are named in fields.
    package static func groups(inField texts: [String]) -> Selection { Selection(.groupsOfAnyOrigin(texts)) }

    /// All responses of an origin: the scheme, host and port of this URI.
    public static func origin(of target: TargetURI, partition: String? = nil) -> Selection {
      Selection(.origin(target, group: nil), partition: partition)
    }

    /// All responses in a partition, for example those of a user who signs out. To remove them ends their pins.
    ///
    /// - Parameter name: the name of the partition; the empty name is that of the responses without one. To select
    ///   everything, use ``all``.
    /// - Complexity: O(*n*) in the number of responses for the empty name.
    public static func partition(_ name: String) -> Selection {
      name.isEmpty ? common : Selection(.partition(name))
    }

    /// The responses without a partition. They have no scope of one, so their URIs are matched.
    static let common = Selection(.patterns([.prefix("http:"), .prefix("https:")]), partition: "")

    /// All responses that were stored or last validated at this time or later, by the wall clock.
    public static func since(_ time: Timestamp) -> Selection { Selection(.since(time)) }

    /// All responses that were stored or last validated before this time, by the wall clock.
    public static func before(_ time: Timestamp) -> Selection { Selection(.before(time)) }

    /// All responses in all partitions. To remove them ends all pins.
    public static var all: Selection { Selection(.all) }
  }
}

/// One of several sites.
struct SiteSelection: Hashable, Sendable {
  let table: SiteTable
  /// Its position in the table.
  let scope: Int
}

// What follows needs a selection as the cache has resolved it: with a place, the targets that stand for their equivalents,
// and origins as scopes. In every partition, scopes are those without a partition.
extension HTTPCache.Selection {
  var isInEveryPartition: Bool { place == .everyPartition }

  /// What a shared tier compares with the scopes of its entries: see ``SharedEntryForm/scopes(of:under:)``.
  var tierScopes: [[UInt8]] {
    guard isInEveryPartition else { return scopes }
    return switch extent {
    case .target(let target, _): [SharedEntryForm.anywhere(Array(target.text.utf8))]
    case .scopes(let scopes): scopes.map { SharedEntryForm.anywhere($0) }
    default: []
    }
  }

  /// The keys that are selected as a whole.
  var keys: [[UInt8]] {
    guard case .target(let target, _) = extent, !isInEveryPartition else { return [] }
    return [CacheKey(target, partition: ownPartition).bytes]
  }

  /// The scopes that are selected.
  var scopes: [[UInt8]] {
    if isInEveryPartition { return [] }
    return switch extent {
    case .scopes(let scopes): scopes
    case .origin(let target, let group): [CacheKey(target, partition: ownPartition).scope(group: group)]
    case .partition(let name): [CacheKey.scope(ofPartition: name)]
    case .target, .patterns, .site, .groupsOfAnyOrigin, .since, .before, .all: []
    }
  }

  /// Whether more than the keys and scopes may be selected.
  var isBroad: Bool {
    if isInEveryPartition { return true }
    return switch extent {
    case .target, .scopes, .origin, .partition: false
    case .patterns, .site, .groupsOfAnyOrigin, .since, .before, .all: true
    }
  }

  var ownPartition: String { if case .partition(let name) = place { name } else { "" } }

  /// When the selected responses were stored or validated, in milliseconds since 1970; `nil` at any time.
  var times: Range<Int64>? {
    switch extent {
    case .since(let start): start.milliseconds..<Int64.max
    case .before(let end): Int64.min..<end.milliseconds
    default: nil
    }
  }

  /// Says which entries are selected, whenever they were stored.
  var coverage: CacheStore.Coverage {
    switch extent {
    case .target(let target, _): return keyCoverage([Array(target.text.utf8)]) { $0.isOf(target) }
    case .patterns(let patterns):
      return keyCoverage(patterns.map(\.beginning)) { key in patterns.contains { key.isMeant(by: $0) } }
    case .site(let site): return keyCoverage([Array("http".utf8)]) { $0.isOf(site) }
    case .groupsOfAnyOrigin(let names):
      let groups = Set(names.map { Array($0.utf8)[...] })
      return { _, scopes in
        scopes?.contains { CacheKey.group(ofScope: $0.bytes).map { groups.contains($0) } ?? false } ?? true
      }
    case .scopes(let scopes) where isInEveryPartition:
      return { _, own in
        own?.contains { own in scopes.contains { StoredKey.withoutPartition(own.bytes) == $0[...] } } ?? true
      }
    case .scopes, .origin, .partition:
      let own = scopes.map { StoreScope($0) }
      return { _, scopes in scopes?.contains { own.contains($0) } ?? true }
    case .since, .before, .all: return { key, _ in key != nil }
    }
  }

  /// Selects keys by their URIs.
  ///
  /// - Parameter beginnings: with one of these, each selected URI begins; or it ends with a part of one, if its responses
  ///   are for all queries. So only the beginning of most keys is read.
  private func keyCoverage(
    _ beginnings: [[UInt8]], _ isMeant: @escaping @Sendable (StoredKey) -> Bool
  ) -> CacheStore.Coverage {
    if isInEveryPartition {
      return { key, _ in
        guard let key else { return false }
        // The URI begins where the key does, or after the name of a partition.
        let start = key.firstIndex(of: 0).map { $0 + 1 } ?? 0
        let uri = UnsafeRawBufferPointer(rebasing: key[start...])
        guard
          beginnings.contains(where: { key.mayBegin(with: $0, from: 0) || uri.mayBegin(with: $0, from: 0) })
        else { return false }
        return isMeant(StoredKey(StoreKey(Array(key))))
      }
    }
    let partition = ownPartition
    let place = partition.isEmpty ? [] : Array(partition.utf8) + [0]
    let starts = beginnings.map { place + $0 }
    return { key, _ in
      guard let key, starts.contains(where: { key.mayBegin(with: $0, from: place.count) }) else {
        return false
      }
      let stored = StoredKey(StoreKey(Array(key)))
      return stored.isIn(partition: partition) && isMeant(stored)
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether these bytes begin with others, or end before they differ. A NUL after the first `count` bytes is an end.
  fileprivate func mayBegin(with other: [UInt8], from count: Int) -> Bool {
    let length = Swift.min(self.count, other.count)
    guard length > count, let start = baseAddress else { return true }
    return other.withUnsafeBytes { other in
      guard let other = other.baseAddress, memcmp(start, other, length) != 0 else { return true }
      guard let end = memchr(start + count, 0, length - count) else { return false }
      return memcmp(start, other, UnsafeRawPointer(end) - start) == 0
    }
  }
}
