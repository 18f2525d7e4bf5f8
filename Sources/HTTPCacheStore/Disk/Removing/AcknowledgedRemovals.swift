// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The number of the latest removal that was acknowledged, in a file beside the log.
///
/// A log that ends where a record does is whole, as far as it can tell by itself. Where its end was cut off, by a repair of
/// the file system or by a copy that was not finished, there may have been a removal: then this number is higher than all
/// that is found. It is written when the removal is on the disk, and is not synced: without power it may be older than the
/// log, and never newer. The log's lock guards it: after the store was closed the directory may be another's.
struct AcknowledgedRemovals: Sendable {
  static let fileSize = 16

  private var file: (any File)?
  private var number: UInt64 = 0

  /// - Parameter open: opens the file, making it if it is not there.
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

  /// The number in a file's bytes; `nil` if they are not as they were written.
  static func number(in bytes: [UInt8], hasher: KeyHasher) -> UInt64? {
    guard bytes.count == fileSize, let number = DiskFormat.words(bytes).first,
      number < DiskFormat.numberLimit, bytes == self.bytes(number, hasher: hasher)
    else { return nil }
    return number
  }
}
