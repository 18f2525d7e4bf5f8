// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// When the store syncs written bytes to the disk (`fdatasync`), so that they survive a loss of power.
///
/// With every rule, the store serves only bytes that were stored. A removed entry never comes back because the
/// *process* ended. The store writes entries in the background within a moment: a killed process loses the entries of
/// the last moment.
///
/// More rules may be added. The text form is the name of the member: `never`, `removals`, `everyStore`.
public struct DiskSync: Hashable, Sendable, LosslessStringConvertible {
  private enum Kind: String, CaseIterable {
    case never, removals, everyStore
  }

  private let kind: Kind

  /// Creates the rule with this name; `nil` if the name is unknown.
  public init?(_ description: String) {
    guard let kind = Kind(rawValue: description) else { return nil }
    self.kind = kind
  }

  private init(_ kind: Kind) { self.kind = kind }

  /// Syncs only in ``CacheStore/flush()`` and ``CacheStore/close()``. After a loss of power, entries that were removed
  /// in the last seconds may be back.
  public static var never: DiskSync { DiskSync(.never) }

  /// Syncs before a removal returns. A loss of power may undo the stores and updates of the last seconds, but no
  /// removal.
  public static var removals: DiskSync { DiskSync(.removals) }

  /// Syncs before a store, an update or a removal returns.
  public static var everyStore: DiskSync { DiskSync(.everyStore) }

  package static var allCases: [DiskSync] { Kind.allCases.map { DiskSync($0) } }

  public var description: String { kind.rawValue }
}
