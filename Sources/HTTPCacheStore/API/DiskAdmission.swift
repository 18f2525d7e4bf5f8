// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Which entries are written to disk.
///
/// More rules may be added. The text form is the name of the member: `everything`, `secondTime`.
public struct DiskAdmission: Hashable, Sendable, LosslessStringConvertible {
  private enum Kind: String, CaseIterable {
    case everything, secondTime
  }

  private let kind: Kind

  /// The rule with this name; `nil` if there is none.
  public init?(_ description: String) {
    guard let kind = Kind(rawValue: description) else { return nil }
    self.kind = kind
  }

  private init(_ kind: Kind) { self.kind = kind }

  /// Every entry that disk is among the tiers of.
  public static var everything: DiskAdmission { DiskAdmission(.everything) }

  /// Entries whose key was stored before, recently: most of what is requested on the web is requested once.
  ///
  /// An entry that comes for the first time is kept in memory only. It is lost when it leaves memory, or when the process
  /// ends. Entries that memory is not asked for, or that are too large for it, are written all the same.
  public static var secondTime: DiskAdmission { DiskAdmission(.secondTime) }

  package static var allCases: [DiskAdmission] { Kind.allCases.map { DiskAdmission($0) } }

  public var description: String { kind.rawValue }
}
