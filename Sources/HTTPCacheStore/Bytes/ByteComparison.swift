// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension [UInt8] {
  /// Whether `count` bytes from `offset` equal all bytes of the other array.
  ///
  /// It uses `memcmp`: `elementsEqual` on slices costs several times as much.
  @inline(__always)
  func matches(_ other: [UInt8], at offset: Int, count: Int) -> Bool {
    guard other.count == count, offset + count <= self.count else { return false }
    guard count > 0 else { return true }
    return withUnsafeBytes { mine in
      other.withUnsafeBytes { theirs in
        guard let left = mine.baseAddress, let right = theirs.baseAddress else { return false }
        return memcmp(left + offset, right, count) == 0
      }
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether the bytes equal all bytes of the other buffer.
  @inline(__always)
  func matches(_ other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    guard let mine = baseAddress, let theirs = other.baseAddress else { return true }
    return memcmp(mine, theirs, count) == 0
  }
}
