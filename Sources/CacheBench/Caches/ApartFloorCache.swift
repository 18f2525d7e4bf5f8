import CFloorTable
import HTTPCacheStore
import Synchronization

/// The floor of a table whose entries lie apart, as ours do. See `CFloorTable.h`.
// Unchecked because of the pointer: looking up is safe from any thread, and nobody looks up while the table is filled.
final class ApartFloorCache: ReadableCache, @unchecked Sendable {
  private let table: OpaquePointer
  private let filling = Mutex(())

  init(keys: Int, seed: UInt64 = 0x9E37_79B9_7F4A_7C15) throws {
    guard let table = apart_create(keys, seed) else {
      throw BenchError.unprepared("no memory for a table of \(keys) keys")
    }
    self.table = table
  }

  deinit {
    apart_destroy(table)
  }

  /// `false` if there is no room.
  func put(_ key: StoreKey, _ body: [UInt8]) -> Bool {
    key.bytes.withUnsafeBytes { key in
      body.withUnsafeBytes { body in
        filling.withLock { _ in
          apart_put(table, key.baseAddress, key.count, body.baseAddress, body.count)
        }
      }
    }
  }

  /// Takes a reference, and drops it.
  @inline(__always)
  func bodyCount(of key: StoreKey) -> Int? {
    key.bytes.withUnsafeBytes { key in
      guard let entry = apart_take(table, key.baseAddress, key.count) else { return nil }
      defer { apart_drop(entry) }
      return apart_value_length(entry)
    }
  }

  @inline(__always)
  func bodyByte(of key: StoreKey) -> UInt8? {
    key.bytes.withUnsafeBytes { key in
      guard let entry = apart_take(table, key.baseAddress, key.count) else { return nil }
      defer { apart_drop(entry) }
      return apart_value(entry).load(fromByteOffset: apart_value_length(entry) / 2, as: UInt8.self)
    }
  }
}
