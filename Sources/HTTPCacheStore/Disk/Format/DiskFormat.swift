// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

/// The names, sizes and versions of the format that `Format.md` describes.
enum DiskFormat {
  static let version: UInt32 = 2
  static let magic: UInt64 = 0x4548_4341_4350_5448  // "HTPCACHE"
  static let segmentMagic: UInt64 = 0x474F_4C48_4341_4348  // "HCACHLOG"
  static let formatFileSize = 32
  static let segmentHeaderSize = 40
  /// Ids and sequence numbers are lower than this: memory keeps them in 48 bits.
  static let numberLimit: UInt64 = 1 << 48
  static let minimumSegmentSize = 64 * 1024
  static let maximumSegmentSize = 1 << 30
  static let bodyChunkSize = 64 * 1024

  static let lockName = "lock"
  static let formatName = "format"
  static let removalsName = "removals"
  /// The two files with the pinned keys, of which one is written at a time.
  static let pinsNames = ["pins-0", "pins-1"]

  static func segmentName(_ number: UInt32) -> String { "segment-" + hexadecimal(UInt64(number)) }
  static func bodyName(_ number: UInt64) -> String { "body-" + hexadecimal(number) }

  /// Returns the number in a segment's name; `nil` for any other name, and for numbers that no log reaches.
  static func segmentNumber(_ name: String) -> UInt32? {
    guard let number = number(name, prefix: "segment-"), (1...1 << 31).contains(number) else { return nil }
    return UInt32(number)
  }
  static func bodyNumber(_ name: String) -> UInt64? { number(name, prefix: "body-") }

  private static func hexadecimal(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  private static func number(_ name: String, prefix: String) -> UInt64? {
    guard name.hasPrefix(prefix), let number = UInt64(name.dropFirst(prefix.count), radix: 16) else {
      return nil
    }
    // Only the exact name that the store would give counts, because the store opens the file by that name.
    return name == prefix + hexadecimal(number) ? number : nil
  }

  /// The bytes of a body file for a body of this length, including the checksums of its chunks.
  static func bodyFileSize(_ bodyCount: Int) -> Int {
    bodyCount + (bodyCount + bodyChunkSize - 1) / bodyChunkSize * 8
  }

  static func formatFile(seed: UInt64) -> [UInt8] {
    sealed([magic, UInt64(version), seed], hasher: KeyHasher(seed: 0))
  }

  /// Whether the bytes are those of a format file, of any version, and possibly damaged.
  static func isFormatFile(_ bytes: [UInt8]) -> Bool {
    bytes.count == formatFileSize && words(bytes)[0] == magic
  }

  /// Returns the seed in a format file.
  static func seed(in bytes: [UInt8], directory: FilePath) throws(StoreError) -> UInt64 {
    let words = words(bytes)
    // Compare the checksum before the version, which damage may have changed: the file is the same in every version.
    guard isFormatFile(bytes), bytes == sealed(Array(words[..<3]), hasher: KeyHasher(seed: 0)) else {
      throw StoreError(
        .unreadableDirectory(path: directory, what: "the checksum of its file 'format' is wrong"))
    }
    let found = UInt32(truncatingIfNeeded: words[1])
    guard words[1] == UInt64(version) else {
      throw StoreError(.unknownFormat(found: found, supported: version, path: directory))
    }
    return words[2]
  }

  /// - Parameter floor: all numbers given after this are at least the floor.
  static func segmentHeader(_ number: UInt32, floor: UInt64, hasher: KeyHasher) -> [UInt8] {
    sealed([segmentMagic, UInt64(version), UInt64(number), floor], hasher: hasher)
  }

  /// Returns the floor in a segment's header; `nil` if the header is damaged.
  static func floor(inHeader bytes: [UInt8], of number: UInt32, hasher: KeyHasher) -> UInt64? {
    let words = words(bytes)
    guard words.count == 5, words[3] <= numberLimit,
      bytes == segmentHeader(number, floor: words[3], hasher: hasher)
    else { return nil }
    return words[3]
  }

  /// Returns the words, little-endian, followed by their checksum.
  private static func sealed(_ words: [UInt64], hasher: KeyHasher) -> [UInt8] {
    let bytes = words.flatMap { littleEndianBytes($0) }
    return bytes + littleEndianBytes(hasher.checksum(bytes))
  }

  static func littleEndianBytes(_ word: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) }
  }

  static func words(_ bytes: [UInt8]) -> [UInt64] {
    bytes.withUnsafeBytes { buffer in
      (0..<buffer.count / 8).map { index in
        UInt64(littleEndian: buffer.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
      }
    }
  }
}
