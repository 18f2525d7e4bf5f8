// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CHarness
import CacheMutex
import Foundation
import HTTPCacheStore

/// The floor: a plain table in C that supports only lookups, to show their minimum cost. See `CFloorTable.h`.
// Unchecked because of the pointer: lookups are safe from any thread, and none happens while the table is filled.
final class FloorCache: KeyedCache, @unchecked Sendable {
  private let table: OpaquePointer
  private let filling = Mutex(())

  /// - Parameter isApart: whether entries are apart from the table, like ours. Otherwise it borrows its values, which
  ///   must outlive it.
  init(keys: Int, isApart: Bool = false, seed: UInt64 = 0x9E37_79B9_7F4A_7C15) throws {
    guard let table = floor_create(keys, seed, isApart) else {
      throw BenchError.unprepared("not enough memory for a table of \(keys) keys")
    }
    self.table = table
  }

  deinit { floor_destroy(table) }

  var byteCount: Int { floor_bytes(table) }

  /// Returns `false` if the key is too long or the table is full.
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

  /// Takes a reference, and releases it.
  @inline(__always)
  private func withFound<Result>(_ key: StoreKey, _ use: (OpaquePointer) -> Result?) -> Result? {
    key.bytes.withUnsafeBytes { key in
      guard let found = floor_take(table, key.baseAddress, key.count) else { return nil }
      defer { floor_drop(found) }
      return use(found)
    }
  }
}

/// The simplest cache: a Dictionary guarded by a Mutex, without recency, capacity or disk.
final class DictionaryCache: KeyedCache {
  private let bodies = Mutex<[StoreKey: [UInt8]]>([:])

  func bodyCount(of key: StoreKey) -> Int? { bodies.withLock { $0[key] }?.count }
  func bodyByte(of key: StoreKey) -> UInt8? { bodies.withLock { $0[key] }?.middleByte }

  func put(_ key: StoreKey, _ body: [UInt8]) -> Bool {
    // The old body is freed after the lock.
    _ = bodies.withLock { $0.updateValue(body, forKey: key) }
    return true
  }

  var entryCount: Int? { bodies.withLock { $0.count } }
}

/// The usual LRU in Swift: class nodes in a list, a Dictionary to find them, and a Mutex around both.
final class NodeCache: KeyedCache {
  private let nodes: Mutex<NodeList<StoreKey, [UInt8]>>

  /// - Parameter capacity: the number of entries.
  init(capacity: Int) { nodes = Mutex(NodeList(capacity: capacity)) }

  func bodyCount(of key: StoreKey) -> Int? { nodes.withLock { $0.value(of: key) }?.count }
  func bodyByte(of key: StoreKey) -> UInt8? { nodes.withLock { $0.value(of: key) }?.middleByte }

  func put(_ key: StoreKey, _ body: [UInt8]) -> Bool {
    // The result is freed after the lock.
    let refused = nodes.withLock { $0.put(key, body, cost: 1) }
    return !refused
  }

  var entryCount: Int? { nodes.withLock { $0.count } }
}

/// Foundation's NSCache. Keys must be objects: each lookup makes one.
final class ObjectCache: KeyedCache {
  private final class Key: NSObject {
    let key: StoreKey
    init(_ key: StoreKey) { self.key = key }
    override var hash: Int { key.hashValue }
    override func isEqual(_ other: Any?) -> Bool { (other as? Key)?.key == key }
  }

  private final class Body {
    let bytes: [UInt8]
    init(_ bytes: [UInt8]) { self.bytes = bytes }
  }

  private struct SendableCache: @unchecked Sendable {
    // Unchecked: Foundation documents NSCache as safe to use from any thread.
    let value = NSCache<Key, Body>()
  }

  private let cache = SendableCache()

  /// - Parameter capacity: the number of entries.
  init(capacity: Int) { cache.value.countLimit = capacity }

  func bodyCount(of key: StoreKey) -> Int? { cache.value.object(forKey: Key(key))?.bytes.count }
  func bodyByte(of key: StoreKey) -> UInt8? { cache.value.object(forKey: Key(key))?.bytes.middleByte }

  func put(_ key: StoreKey, _ body: [UInt8]) -> Bool {
    cache.value.setObject(Body(body), forKey: Key(key))
    return true
  }
}
