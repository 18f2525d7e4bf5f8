// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// What to do with an unreadable cache directory: its file `format` is damaged or missing, or a later format version
/// wrote it.
///
/// The store always discards a cache in an earlier format version, so that an update never keeps a program from
/// starting.
///
/// The store always refuses a directory that holds other files and no cache, and removes nothing in it.
///
/// More choices may be added. The text form is the name of the member: `fail`, `startEmpty`.
public struct UnreadableDirectory: Hashable, Sendable, LosslessStringConvertible {
  private enum Kind: String, CaseIterable {
    case fail, startEmpty
  }

  private let kind: Kind

  /// Creates the choice with this name; `nil` if the name is unknown.
  public init?(_ description: String) {
    guard let kind = Kind(rawValue: description) else { return nil }
    self.kind = kind
  }

  private init(_ kind: Kind) { self.kind = kind }

  /// Leaves the directory as it is, and throws ``StoreError``, which says what is wrong.
  public static var fail: UnreadableDirectory { UnreadableDirectory(.fail) }

  /// Discards what the cache stored there, and begins empty. Files of other programs stay.
  public static var startEmpty: UnreadableDirectory { UnreadableDirectory(.startEmpty) }

  package static var allCases: [UnreadableDirectory] { Kind.allCases.map { UnreadableDirectory($0) } }

  public var description: String { kind.rawValue }
}
