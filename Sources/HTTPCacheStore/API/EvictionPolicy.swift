// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Which entry memory evicts first when it needs room.
///
/// More policies may be added. The text form is the name of the member: `lru`, `s3fifo`, `hyperbolic`.
public struct EvictionPolicy: Hashable, Sendable, LosslessStringConvertible {
  enum Kind: String, CaseIterable {
    case lru, s3fifo, hyperbolic
  }

  let kind: Kind

  /// Creates the policy with this name; `nil` if the name is unknown.
  public init?(_ description: String) {
    guard let kind = Kind(rawValue: description) else { return nil }
    self.kind = kind
  }

  private init(_ kind: Kind) { self.kind = kind }

  /// Evicts the entry used least recently.
  ///
  /// This is exact in a shard of fewer than a hundred entries. A larger shard evicts one of the oldest few percent.
  public static var lru: EvictionPolicy { EvictionPolicy(.lru) }

  /// Evicts the entry added first, unless it was used since (S3-FIFO: Yang et al., "FIFO queues are all you need for
  /// cache eviction", SOSP 2023).
  ///
  /// New entries are on probation in a tenth of the memory, and are evicted soon if they are not used. On web traces
  /// this policy has a miss ratio 2 to 4 points lower than ``lru``, and a hit moves no entry.
  public static var s3fifo: EvictionPolicy { EvictionPolicy(.s3fifo) }

  /// Evicts the entry with the fewest uses for its size and age (hyperbolic caching: Blankstein et al., USENIX ATC 2017).
  ///
  /// It keeps many small entries instead of a few large ones, so it has the most hits where sizes differ much. The share of
  /// bytes that it saves is smaller than its share of hits. It looks at some sixty entries for each eviction.
  public static var hyperbolic: EvictionPolicy { EvictionPolicy(.hyperbolic) }

  package static var allCases: [EvictionPolicy] { Kind.allCases.map { EvictionPolicy($0) } }

  public var description: String { kind.rawValue }
}
