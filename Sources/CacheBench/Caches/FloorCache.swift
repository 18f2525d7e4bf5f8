import CFloorTable
import HTTPCacheStore
import Synchronization

/// The floor: a plain table in C that only finds, to show what a lookup costs at the least. See `CFloorTable.h`.
// Unchecked because of the pointer: looking up is safe from any thread, and nobody looks up while the table is filled.
final class FloorCache<Table: FloorTable>: ReadableCache, @unchecked Sendable {
  private let table: OpaquePointer
  private let filling = Mutex(())

  init(_: Table.Type = Table.self, keys: Int, seed: UInt64 = 0x9E37_79B9_7F4A_7C15) throws {
    guard let table = Table.create(keys, seed) else {
      throw BenchError.unprepared("no memory for a table of \(keys) keys")
    }
    self.table = table
  }

  deinit {
    Table.destroy(table)
  }

  /// `false` if the key is too long, or there is no room.
  func put(_ key: StoreKey, _ body: [UInt8]) -> Bool {
    key.bytes.withUnsafeBytes { key in
      body.withUnsafeBytes { body in
        filling.withLock { _ in Table.put(table, key, body) }
      }
    }
  }

  /// Takes a reference, and drops it.
  @inline(__always)
  func bodyCount(of key: StoreKey) -> Int? {
    key.bytes.withUnsafeBytes { key in
      guard let found = Table.take(table, key) else { return nil }
      defer { Table.drop(found) }
      return Table.valueLength(found)
    }
  }

  @inline(__always)
  func bodyByte(of key: StoreKey) -> UInt8? {
    key.bytes.withUnsafeBytes { key in
      guard let found = Table.take(table, key) else { return nil }
      defer { Table.drop(found) }
      return Table.value(found)?.load(fromByteOffset: Table.valueLength(found) / 2, as: UInt8.self)
    }
  }
}

extension FloorCache where Table == KeysInTable {
  var byteCount: Int { floor_bytes(table) }
}

/// One of the tables in C. What it finds is held until it is dropped.
protocol FloorTable: Sendable {
  static func create(_ keys: Int, _ seed: UInt64) -> OpaquePointer?
  static func destroy(_ table: OpaquePointer)
  static func put(_ table: OpaquePointer, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer)
    -> Bool
  static func take(_ table: OpaquePointer, _ key: UnsafeRawBufferPointer) -> OpaquePointer?
  static func drop(_ found: OpaquePointer)
  static func value(_ found: OpaquePointer) -> UnsafeRawPointer?
  static func valueLength(_ found: OpaquePointer) -> Int
}

/// With its keys in the table. It borrows its values: who puts them keeps them as long as the table.
enum KeysInTable: FloorTable {
  static func create(_ keys: Int, _ seed: UInt64) -> OpaquePointer? { floor_create(keys, seed) }
  static func destroy(_ table: OpaquePointer) { floor_destroy(table) }

  static func put(
    _ table: OpaquePointer, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) -> Bool {
    floor_put(table, key.baseAddress, key.count, value.baseAddress, value.count)
  }

  @inline(__always)
  static func take(_ table: OpaquePointer, _ key: UnsafeRawBufferPointer) -> OpaquePointer? {
    floor_take(table, key.baseAddress, key.count)
  }

  @inline(__always) static func drop(_ found: OpaquePointer) { floor_drop(found) }
  @inline(__always) static func value(_ found: OpaquePointer) -> UnsafeRawPointer? { floor_value(found) }
  @inline(__always) static func valueLength(_ found: OpaquePointer) -> Int { floor_value_length(found) }
}

/// With its entries apart, as ours are.
enum EntriesApart: FloorTable {
  static func create(_ keys: Int, _ seed: UInt64) -> OpaquePointer? { apart_create(keys, seed) }
  static func destroy(_ table: OpaquePointer) { apart_destroy(table) }

  static func put(
    _ table: OpaquePointer, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) -> Bool {
    apart_put(table, key.baseAddress, key.count, value.baseAddress, value.count)
  }

  @inline(__always)
  static func take(_ table: OpaquePointer, _ key: UnsafeRawBufferPointer) -> OpaquePointer? {
    apart_take(table, key.baseAddress, key.count)
  }

  @inline(__always) static func drop(_ found: OpaquePointer) { apart_drop(found) }
  @inline(__always) static func value(_ found: OpaquePointer) -> UnsafeRawPointer? { apart_value(found) }
  @inline(__always) static func valueLength(_ found: OpaquePointer) -> Int { apart_value_length(found) }
}
