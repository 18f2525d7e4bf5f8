// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// When written bytes are brought to the disk itself (`fdatasync`), so that they survive a loss of power.
///
/// Whatever you choose, the store serves no byte that was not stored, and nothing that was removed comes back because the
/// *process* ended. Entries are written in the background within a moment: a killed process loses those of the last moment.
///
/// More rules may be added. The text form is the name of the member: `never`, `removals`, `everyStore`.
public struct DiskSync: Hashable, Sendable, LosslessStringConvertible {
  private enum Kind: String, CaseIterable {
    case never, removals, everyStore
  }

  private let kind: Kind

  /// The rule with this name; `nil` if there is none.
  public init?(_ description: String) {
    guard let kind = Kind(rawValue: description) else { return nil }
    self.kind = kind
  }

  private init(_ kind: Kind) { self.kind = kind }

  /// Only in ``CacheStore/flush()`` and ``CacheStore/close()``. After a loss of power, entries that were removed in the last
  /// seconds may be back.
  public static var never: DiskSync { DiskSync(.never) }

  /// Before a removal returns. A loss of power may undo the stores and updates of the last seconds, but no removal.
  public static var removals: DiskSync { DiskSync(.removals) }

  /// Before a store, an update or a removal returns.
  public static var everyStore: DiskSync { DiskSync(.everyStore) }

  package static var allCases: [DiskSync] { Kind.allCases.map { DiskSync($0) } }

  public var description: String { kind.rawValue }
}
