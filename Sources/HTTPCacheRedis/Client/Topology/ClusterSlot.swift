// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The slots of a cluster: each key belongs to one, and each slot to one primary.
enum ClusterSlot {
  static let count = 16384

  /// The slot of a key: the checksum of the part between the first `{` and the next `}`, if that is not empty, or else
  /// of the whole key.
  static func of(_ key: [UInt8]) -> Int {
    guard let open = key.firstIndex(of: UInt8(ascii: "{")),
      let close = key[open...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
    else { return Int(crc16(key[...])) % count }
    return Int(crc16(key[(open + 1)..<close])) % count
  }

  /// CRC-16/XMODEM: polynomial 0x1021, initial value 0.
  static func crc16(_ bytes: ArraySlice<UInt8>) -> UInt16 {
    bytes.reduce(0) { crc, byte in (crc << 8) ^ table[Int(UInt8(truncatingIfNeeded: crc >> 8) ^ byte)] }
  }

  private static let table: [UInt16] = (0..<256).map { index in
    (0..<8).reduce(UInt16(index) << 8) { crc, _ in crc & 0x8000 == 0 ? crc << 1 : (crc << 1) ^ 0x1021 }
  }
}
