// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

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
