// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A change in the state of a store's disk. A cache reports it as an event of its own.
public struct DiskEvent: Hashable, Sendable, CustomStringConvertible {
  /// The kinds of change. More may be added.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    private enum Value: String {
      case failing, full, recovered
    }

    private let value: Value

    private init(_ value: Value) { self.value = value }

    /// The disk refused a write or a sync; ``DiskEvent/error`` says why.
    ///
    /// Entries on disk are read as before. The store keeps new entries in memory only until an attempt to write
    /// succeeds. It makes attempts as more is stored: at once at first, then less and less often, but after 30 seconds at the
    /// latest.
    ///
    /// If the directory is removed or moved away, the disk counts as failing as soon as the store notices. The
    /// directory's entries are lost, and an attempt to write creates it again.
    public static var failing: Kind { Kind(.failing) }

    /// The file system has less room than the store's capacity; ``DiskEvent/error`` names the write that failed. The store
    /// evicts its oldest entries for new ones, and goes on with the space that it has. It has recovered when it can use its
    /// whole capacity again.
    public static var full: Kind { Kind(.full) }

    /// The disk takes new entries again.
    public static var recovered: Kind { Kind(.recovered) }

    public var description: String { value.rawValue }
  }

  /// What happened.
  public let kind: Kind
  /// Why the disk fails; `nil` if it recovered.
  public let error: StoreError?

  package static func failing(_ error: StoreError) -> DiskEvent { DiskEvent(kind: .failing, error: error) }

  package static func full(_ error: StoreError) -> DiskEvent { DiskEvent(kind: .full, error: error) }

  package static var recovered: DiskEvent { DiskEvent(kind: .recovered, error: nil) }

  public var description: String { error.map { "\(kind): \($0)" } ?? "\(kind)" }
}
