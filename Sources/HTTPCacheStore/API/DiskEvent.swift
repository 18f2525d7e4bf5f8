// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A change in what the disk does for a store.
public struct DiskEvent: Hashable, Sendable, CustomStringConvertible {
  /// The kinds of change. More may be added.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    private enum Value: String {
      case failing, recovered
    }

    private let value: Value

    private init(_ value: Value) { self.value = value }

    /// The disk refused to write or to sync; ``DiskEvent/error`` says why.
    ///
    /// Entries on disk are read as before. New ones are kept in memory only, until an attempt to write succeeds. Attempts are
    /// made as more is stored: at once for the first times, then less and less often.
    ///
    /// A directory that was removed or moved away counts as one that refuses, from when that is noticed. What it held is
    /// lost, and an attempt creates it again.
    public static var failing: Kind { Kind(.failing) }

    /// The disk takes new entries again.
    public static var recovered: Kind { Kind(.recovered) }

    public var description: String { value.rawValue }
  }

  /// What happened.
  public let kind: Kind
  /// Why the disk fails; `nil` if it recovered.
  public let error: StoreError?

  package static func failing(_ error: StoreError) -> DiskEvent { DiskEvent(kind: .failing, error: error) }

  package static var recovered: DiskEvent { DiskEvent(kind: .recovered, error: nil) }

  public var description: String { error.map { "\(kind): \($0)" } ?? "\(kind)" }
}
