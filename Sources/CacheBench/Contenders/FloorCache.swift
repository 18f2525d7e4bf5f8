// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CFloorTable
import HTTPCacheStore
import Synchronization

/// The floor: a plain table in C that only finds, to show what a lookup costs at the least. See `CFloorTable.h`.
// Unchecked because of the pointer: lookups are safe from any thread, and there are none while the table is filled.
final class FloorCache: ReadableCache, @unchecked Sendable {
  private let table: OpaquePointer
  private let filling = Mutex(())

  /// - Parameter isApart: whether entries lie apart from the table, as ours do. Otherwise it borrows its values, which
  ///   have to outlive it.
  init(keys: Int, isApart: Bool = false, seed: UInt64 = 0x9E37_79B9_7F4A_7C15) throws {
    guard let table = floor_create(keys, seed, isApart) else {
      throw BenchError.unprepared("no memory for a table of \(keys) keys")
    }
    self.table = table
  }

  deinit { floor_destroy(table) }

  var byteCount: Int { floor_bytes(table) }

  /// `false` if the key is too long or the table is full.
  func put(_ key: StoreKey, _ body: [UInt8]) -> Bool {
    key.bytes.withUnsafeBytes { key in
      body.withUnsafeBytes { body in
        filling.withLock { _ in floor_put(table, key.baseAddress, key.count, body.baseAddress, body.count) }
      }
    }
  }

  @inline(__always)
  func bodyCount(of key: StoreKey) -> Int? { withFound(key) { floor_value_length($0) } }

  @inline(__always)
  func bodyByte(of key: StoreKey) -> UInt8? {
    withFound(key) { floor_value($0)?.load(fromByteOffset: floor_value_length($0) / 2, as: UInt8.self) }
  }

  /// Takes a reference, and drops it.
  @inline(__always)
  private func withFound<Result>(_ key: StoreKey, _ use: (OpaquePointer) -> Result?) -> Result? {
    key.bytes.withUnsafeBytes { key in
      guard let found = floor_take(table, key.baseAddress, key.count) else { return nil }
      defer { floor_drop(found) }
      return use(found)
    }
  }
}
