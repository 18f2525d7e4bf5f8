// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A window on a file that is read from front to back with gaps: one read fetches many small records.
struct ScanWindow {
  private static let size = 128 * 1024

  let file: any File
  let size: Int
  private var start = 0
  private var bytes: [UInt8] = []

  init(file: any File, size: Int) {
    self.file = file
    self.size = size
  }

  /// Returns bytes of the file; `nil` if the file ends before.
  mutating func bytes(at offset: Int, count: Int) throws(FileFailure) -> ArraySlice<UInt8>? {
    guard count <= size - offset else { return nil }
    if offset < start || offset + count > start + bytes.count {
      bytes = try file.read(min(Self.size, size - offset), at: offset) ?? []
      start = offset
      // The file became shorter meanwhile.
      guard bytes.count >= count else { return nil }
    }
    return bytes[offset - start..<offset - start + count]
  }

  /// Whether the file contains only zeros from an offset to its end.
  mutating func isZero(from offset: Int) throws(FileFailure) -> Bool {
    var offset = offset
    while offset < size {
      let count = min(Self.size, size - offset)
      guard let bytes = try bytes(at: offset, count: count), bytes.allSatisfy({ $0 == 0 }) else {
        return false
      }
      offset += count
    }
    return true
  }
}
