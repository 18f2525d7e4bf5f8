// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if canImport(CXXHash)
  import CXXHash
#endif

/// Seeded XXH3: finds keys, distinguishes variants, and verifies bytes from disk.
///
/// The seed is random, per process for a store in memory and per directory for a store on disk. So outsiders cannot
/// choose bytes that collide.
struct KeyHasher: Sendable {
  let seed: UInt64
  /// The bits of a key's hash that are used: all, except in tests that force collisions.
  var mask = UInt64.max

  /// Returns the hash by which a key is found.
  func hash(_ key: StoreKey) -> UInt64 {
    key.bytes.withUnsafeBytes { hash($0) }
  }

  /// Returns the same hash for a key's bytes.
  @inline(__always)
  func hash(_ key: UnsafeRawBufferPointer) -> UInt64 { checksum(key) & mask }

  func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    XXH3.hash(bytes, seed: seed)
  }

  func checksum(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.withUnsafeBytes { checksum($0) }
  }

  func checksum(_ bytes: [UInt8]) -> UInt64 {
    bytes.withUnsafeBytes { checksum($0) }
  }
}

/// 64-bit XXH3: with libxxhash if the package has it (on Linux), otherwise with ``SwiftXXH3``. Both give the same
/// values, so a directory is readable with either.
package enum XXH3 {
  #if canImport(CXXHash)
    package static var usesLibrary: Bool { true }
  #else
    package static var usesLibrary: Bool { false }
  #endif

  @inline(__always)
  package static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
    #if canImport(CXXHash)
      store_hash(bytes.baseAddress, bytes.count, seed)
    #else
      SwiftXXH3.hash(bytes, seed: seed)
    #endif
  }
}
