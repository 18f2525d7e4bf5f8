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

  /// Creates the rule with this name; `nil` if the name is unknown.
  public init?(_ description: String) {
    guard let kind = Kind(rawValue: description) else { return nil }
    self.kind = kind
  }

  private init(_ kind: Kind) { self.kind = kind }

  /// Every entry whose tiers include the disk.
  public static var everything: DiskAdmission { DiskAdmission(.everything) }

  /// Entries whose key was stored before, recently: most resources on the web are requested only once.
  ///
  /// When a key is stored for the first time, the store keeps the entry in memory only. The entry is lost when memory
  /// evicts it, or when the process ends. An entry is always written to disk if its tiers exclude memory, or if it is
  /// too large for memory.
  public static var secondTime: DiskAdmission { DiskAdmission(.secondTime) }

  package static var allCases: [DiskAdmission] { Kind.allCases.map { DiskAdmission($0) } }

  public var description: String { kind.rawValue }
}
