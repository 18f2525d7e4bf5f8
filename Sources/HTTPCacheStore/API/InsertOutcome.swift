// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The result of an insert.
public enum InsertOutcome: Sendable, Hashable {
  /// The entry is visible in at least one of the requested tiers.
  case stored(EntryID)
  /// Nothing was stored.
  ///
  /// An older entry of the same key and variant stays if the refusal has sizes (``InsertRefusal/limit``), or if the
  /// reason says that it stays. Otherwise the older entry may be removed too.
  case refused(InsertRefusal)

  /// The id of the entry; `nil` if it was not stored.
  public var id: EntryID? {
    guard case .stored(let id) = self else { return nil }
    return id
  }

  /// Why the entry was not stored; `nil` if it was.
  public var refusal: InsertRefusal? {
    guard case .refused(let refusal) = self else { return nil }
    return refusal
  }
}

/// Why a store did not keep an entry, with the sizes that decided it.
public struct InsertRefusal: Hashable, Sendable, CustomStringConvertible {
  /// Why the entry was not kept.
  public let reason: RefusalReason
  // Two words instead of two optionals, so that an outcome is returned in registers.
  private let size: Int
  private let maximum: Int

  package init(_ reason: RefusalReason) {
    self.reason = reason
    (size, maximum) = (-1, -1)
  }

  /// - Parameters:
  ///   - byteCount: the size of the entry, in bytes.
  ///   - limit: the limit that the size exceeds.
  package init(_ reason: RefusalReason, byteCount: Int, limit: Int) {
    self.reason = reason
    (size, maximum) = (byteCount, max(0, limit))
  }

  /// The bytes of the entry's key, metadata and body; `nil` unless the size was the reason.
  public var byteCount: Int? { size < 0 ? nil : size }

  /// The maximum that the size exceeds, in bytes; `nil` unless the size was the reason.
  public var limit: Int? { maximum < 0 ? nil : maximum }

  public var description: String {
    guard let byteCount, let limit else { return reason.sentence }
    return "\(reason.sentence): \(byteCount) bytes, and the limit is \(limit)"
  }
}

/// The reasons for which a store does not keep an entry.
///
/// More reasons may be added. The text form is the name of the member.
public struct RefusalReason: Hashable, Sendable, CustomStringConvertible {
  private enum Value: String {
    case tooLarge, tooLargeForMemory, tooLargeForDisk, removedSince, superseded, overtaken, noRoom, noTier
    case noCapacity, diskUnavailable, inputOutput, lengthMismatch, cancelled, closed
  }

  private let value: Value

  private init(_ value: Value) { self.value = value }

  /// The entry is larger than ``CacheStore/Configuration/maximumEntrySize``, or larger than the share of the disk for
  /// one entry, or its key and metadata have more than 16 MiB.
  public static var tooLarge: RefusalReason { RefusalReason(.tooLarge) }
  /// The entry is larger than memory, the larger of the requested tiers.
  public static var tooLargeForMemory: RefusalReason { RefusalReason(.tooLargeForMemory) }
  /// The entry is larger than half of the disk's capacity, and too large for memory.
  public static var tooLargeForDisk: RefusalReason { RefusalReason(.tooLargeForDisk) }
  /// The key was removed after the removal token was taken. The insert changed nothing after that removal.
  public static var removedSince: RefusalReason { RefusalReason(.removedSince) }
  /// A newer entry of the same key and variant was published first. That entry stays.
  public static var superseded: RefusalReason { RefusalReason(.superseded) }
  /// The caller's condition refused the entry because of the entry in its place. The present entry stays.
  package static var overtaken: RefusalReason { RefusalReason(.overtaken) }
  /// The store cannot make room: the entries that fill the tier are being written at this moment.
  public static var noRoom: RefusalReason { RefusalReason(.noRoom) }
  /// The requested tiers do not exist, or have no capacity. Another tier has.
  public static var noTier: RefusalReason { RefusalReason(.noTier) }
  /// The store has no capacity, neither in memory nor on disk.
  public static var noCapacity: RefusalReason { RefusalReason(.noCapacity) }
  /// The directory could not be opened, and memory has no capacity.
  public static var diskUnavailable: RefusalReason { RefusalReason(.diskUnavailable) }
  /// The disk failed; ``StoreStatistics/ioErrors`` counts it.
  public static var inputOutput: RefusalReason { RefusalReason(.inputOutput) }
  /// The length of the body differs from the announced length. The store is unchanged.
  public static var lengthMismatch: RefusalReason { RefusalReason(.lengthMismatch) }
  /// The writer was cancelled. The store is unchanged.
  public static var cancelled: RefusalReason { RefusalReason(.cancelled) }
  /// The store is closed.
  public static var closed: RefusalReason { RefusalReason(.closed) }

  public var description: String { value.rawValue }

  fileprivate var sentence: String {
    switch value {
    case .tooLarge: "the entry is larger than the maximum for one entry"
    case .tooLargeForMemory: "the entry is larger than the memory limit"
    case .tooLargeForDisk: "the entry is larger than the disk limit for one entry"
    case .removedSince: "the key was removed while the entry was being written"
    case .superseded: "a newer entry was published first"
    case .overtaken: "a more recent entry is already stored"
    case .noRoom: "the store is full of entries that are being written"
    case .noTier: "none of the requested tiers has a capacity"
    case .noCapacity: "the store has no capacity, neither in memory nor on disk"
    case .diskUnavailable: "the directory could not be opened, and memory has no capacity"
    case .inputOutput: "the disk failed"
    case .lengthMismatch: "the body's length differs from the announced length"
    case .cancelled: "the writer was cancelled"
    case .closed: "the store is closed"
    }
  }
}
