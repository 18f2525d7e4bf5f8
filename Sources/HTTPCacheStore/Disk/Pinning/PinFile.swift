// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The file with the pinned keys, written whole.
///
/// There are two, and the one with the older number is replaced: a write that is never finished leaves the other.
/// `Format.md` has the fields.
enum PinFile {
  static let magic: UInt64 = 0x4E49_5048_4341_4348  // "HCACHPIN"
  /// The bytes of a file without keys.
  static let overhead = 32
  static let maximumSize = 16 << 20

  /// The bytes that a key takes.
  static func count(of key: StoreKey) -> Int { 8 + key.bytes.count }

  static func encode(_ list: PinList, number: UInt64, hasher: KeyHasher) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(list.fileCount)
    for word in [magic, number, UInt64(list.count)] { bytes += DiskFormat.littleEndianBytes(word) }
    for key in list.keys {
      bytes += DiskFormat.littleEndianBytes(UInt64(key.bytes.count))
      bytes += key.bytes
    }
    return bytes + DiskFormat.littleEndianBytes(hasher.checksum(bytes))
  }

  /// Returns `nil` if the bytes are damaged, or were never written whole.
  static func decode(_ bytes: [UInt8], hasher: KeyHasher) -> (number: UInt64, keys: [StoreKey])? {
    guard bytes.count >= overhead, DiskFormat.words(Array(bytes.prefix(8))) == [magic] else { return nil }
    let content = bytes.dropLast(8)
    guard DiskFormat.words(Array(bytes.suffix(8))) == [hasher.checksum(content)] else { return nil }
    let head = DiskFormat.words(Array(content.prefix(24)))
    var rest = content.dropFirst(24)
    var keys: [StoreKey] = []
    while !rest.isEmpty {
      guard let word = DiskFormat.words(Array(rest.prefix(8))).first, let count = Int(exactly: word),
        count <= rest.count - 8
      else { return nil }
      rest = rest.dropFirst(8)
      keys.append(StoreKey(Array(rest.prefix(count))))
      rest = rest.dropFirst(count)
    }
    guard UInt64(keys.count) == head[2] else { return nil }
    return (head[1], keys)
  }
}
