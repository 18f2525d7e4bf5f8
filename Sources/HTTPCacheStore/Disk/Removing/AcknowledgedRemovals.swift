// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The number of the latest acknowledged removal, in a file next to the log.
///
/// A log that ends with a whole record looks complete. But its end may have been cut off, by a repair of the file
/// system or by an unfinished copy, and there may have been a removal in it. Then this number is higher than all
/// numbers in the log.
///
/// The number is written after the removal is on the disk, and is not synced: after a loss of power it may be older
/// than the log, but never newer. The log's lock guards it: after the store is closed, another store may use the
/// directory.
struct AcknowledgedRemovals: Sendable {
  static let fileSize = 16

  private var file: (any File)?
  private var number: UInt64 = 0

  /// - Parameter open: opens the file, and creates it if it is missing.
  mutating func raise(
    to number: UInt64, hasher: KeyHasher, open: () throws(FileFailure) -> any File
  ) throws(FileFailure) {
    guard number > self.number else { return }
    let known = file
    file = nil
    let file = if let known { known } else { try open() }
    try file.write(Self.bytes(number, hasher: hasher), at: 0)
    (self.file, self.number) = (file, number)
  }

  static func bytes(_ number: UInt64, hasher: KeyHasher) -> [UInt8] {
    let bytes = DiskFormat.littleEndianBytes(number)
    return bytes + DiskFormat.littleEndianBytes(hasher.checksum(bytes))
  }

  /// Returns the number in a file's bytes; `nil` if they are damaged.
  static func number(in bytes: [UInt8], hasher: KeyHasher) -> UInt64? {
    guard bytes.count == fileSize, let number = DiskFormat.words(bytes).first,
      number < DiskFormat.numberLimit, bytes == self.bytes(number, hasher: hasher)
    else { return nil }
    return number
  }
}
