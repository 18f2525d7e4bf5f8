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
  /// New entries are on probation in a tenth of the memory, and are evicted soon if they are not used twice. So a crawler
  /// that requests each page once evicts little else. On web traces this policy has a miss ratio 1 to 5 points lower than
  /// ``lru``, by requests and by bytes, and a hit moves no entry. The default.
  public static var s3fifo: EvictionPolicy { EvictionPolicy(.s3fifo) }

  /// Evicts the entry with the fewest uses for its size and age (hyperbolic caching: Blankstein et al., USENIX ATC 2017).
  ///
  /// It keeps many small entries instead of a few large ones. On a web trace with sizes from 1 byte to 100 MB, it misses 3
  /// to 4 points fewer requests than ``s3fifo``, and 0 to 2 points more bytes. Where all entries have one size, it misses
  /// more than ``s3fifo`` if many keys are requested once. It looks at some sixty entries for each eviction.
  public static var hyperbolic: EvictionPolicy { EvictionPolicy(.hyperbolic) }

  package static var allCases: [EvictionPolicy] { Kind.allCases.map { EvictionPolicy($0) } }

  public var description: String { kind.rawValue }
}
