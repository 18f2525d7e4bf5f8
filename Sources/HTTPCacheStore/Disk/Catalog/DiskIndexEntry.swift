// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The place of a record in the log.
struct RecordLocation: Equatable {
  var segment: UInt32
  var offset: UInt32
  /// The record's length, including padding.
  var count: UInt32

  /// The segment and the offset in it as one number: later records have greater positions.
  var position: UInt64 { UInt64(segment) << 32 | UInt64(offset) }
}

/// What the index knows of an entry on disk without a read: 32 bytes. The key stays on disk.
///
/// Of the key's hash, 32 bits are here and 8 in the place that refers to this entry. The variant is a fingerprint. The
/// reader of the record compares the whole key and variant.
struct DiskIndexEntry {
  /// The lower 32 bits of the hash.
  let hash: UInt32
  let fingerprint: UInt32
  private let lowID: UInt32
  private let highID: UInt16
  private var flags: UInt16 = 0
  /// Segment 0 marks a free slot; `offset` is then the next free slot.
  private var segment: UInt32
  private var offset: UInt32
  private var count: UInt32
  /// Seconds since 1970, clamped: precise enough to clear by time, with errors towards removal.
  var storedSeconds: UInt32

  private static let hitFlag: UInt16 = 1
  private static let updateFlag: UInt16 = 2
  private static let bodyFileFlag: UInt16 = 4
  private static let pinnedFlag: UInt16 = 8

  init(hash: UInt64, fingerprint: UInt32, id: UInt64, location: RecordLocation, storedSeconds: UInt32) {
    self.hash = UInt32(truncatingIfNeeded: hash)
    self.fingerprint = fingerprint
    lowID = UInt32(truncatingIfNeeded: id)
    highID = UInt16(truncatingIfNeeded: id >> 32)
    segment = location.segment
    offset = location.offset
    count = location.count
    self.storedSeconds = storedSeconds
  }

  static func seconds(_ milliseconds: Int64) -> UInt32 { UInt32(clamping: milliseconds / 1000) }

  /// Distinguishes the variants of a key, and also keys whose hashes have the same 40 bits here.
  static func fingerprint(of variant: UInt64, hash: UInt64) -> UInt32 {
    let mixed = (variant ^ (hash << 32 | hash >> 32)) &* 0x9E37_79B9_7F4A_7C15
    return UInt32(truncatingIfNeeded: mixed >> 32)
  }

  var id: UInt64 { UInt64(highID) << 32 | UInt64(lowID) }

  var location: RecordLocation {
    get { RecordLocation(segment: segment, offset: offset, count: count) }
    set {
      segment = newValue.segment
      offset = newValue.offset
      count = newValue.count
    }
  }

  /// Whether it was read since it was written or carried forward.
  var isHit: Bool {
    get { flags & Self.hitFlag != 0 }
    set { set(Self.hitFlag, newValue) }
  }
  /// Whether its metadata is in its own record.
  var hasUpdate: Bool {
    get { flags & Self.updateFlag != 0 }
    set { set(Self.updateFlag, newValue) }
  }
  /// Whether its body is in its own file.
  var hasBodyFile: Bool {
    get { flags & Self.bodyFileFlag != 0 }
    set { set(Self.bodyFileFlag, newValue) }
  }

  /// Whether it is carried forward whenever its segment is reclaimed. Only the index sets it, because it keeps sums.
  var isPinned: Bool {
    get { flags & Self.pinnedFlag != 0 }
    set { set(Self.pinnedFlag, newValue) }
  }

  private mutating func set(_ flag: UInt16, _ value: Bool) {
    if value { flags |= flag } else { flags &= ~flag }
  }

  static func free(next: UInt32) -> DiskIndexEntry {
    DiskIndexEntry(
      hash: 0, fingerprint: 0, id: 0, location: RecordLocation(segment: 0, offset: next, count: 0),
      storedSeconds: 0)
  }

  var isFree: Bool { segment == 0 }
  var nextFree: UInt32 { offset }
}
