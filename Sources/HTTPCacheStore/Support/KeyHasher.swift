// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Seeded XXH3: finds keys, tells variants apart, and checks what comes back from disk.
///
/// The seed is random, per process for a store in memory and per directory for one on disk, so that nobody outside can
/// choose bytes that collide.
struct KeyHasher: Sendable {
  let seed: UInt64
  /// What is kept of a key's hash. Everything, but for tests that force collisions.
  var mask = UInt64.max

  /// The hash by which a key is found.
  func hash(_ key: StoreKey) -> UInt64 {
    key.bytes.withUnsafeBytes { hash($0) }
  }

  /// The same of a key's bytes.
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
