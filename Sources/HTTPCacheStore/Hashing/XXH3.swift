// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if canImport(CXXHash)
  import CXXHash
#endif

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
