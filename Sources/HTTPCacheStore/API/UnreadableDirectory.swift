// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// What to do with a cache directory that cannot be read: its file `format` is damaged or missing, or a later version of the
/// format wrote it.
///
/// What an earlier version of the format wrote is discarded in any case, so that an update never keeps a program from
/// starting.
///
/// A directory that holds other files, and no cache, is refused in any case, and nothing in it is removed.
///
/// More choices may be added. The text form is the name of the member: `fail`, `startEmpty`.
public struct UnreadableDirectory: Hashable, Sendable, LosslessStringConvertible {
  private enum Kind: String, CaseIterable {
    case fail, startEmpty
  }

  private let kind: Kind

  /// The choice with this name; `nil` if there is none.
  public init?(_ description: String) {
    guard let kind = Kind(rawValue: description) else { return nil }
    self.kind = kind
  }

  private init(_ kind: Kind) { self.kind = kind }

  /// Leave it as it is, and throw ``StoreError``, which says what is wrong.
  public static var fail: UnreadableDirectory { UnreadableDirectory(.fail) }

  /// Discard what the cache stored there, and begin empty. Files that are not the cache's stay.
  public static var startEmpty: UnreadableDirectory { UnreadableDirectory(.startEmpty) }

  package static var allCases: [UnreadableDirectory] { Kind.allCases.map { UnreadableDirectory($0) } }

  public var description: String { kind.rawValue }
}
