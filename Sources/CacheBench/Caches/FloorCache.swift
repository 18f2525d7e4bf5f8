import CFloorTable
import HTTPCacheStore
import Synchronization

/// The floor: a plain table in C that only finds, to show what a lookup costs at the least. See `CFloorTable.h`.
///
/// It borrows its values: who puts them keeps them as long as the table.
// Unchecked because of the pointer: looking up is safe from any thread, and nobody looks up while the table is filled.
final class FloorCache: ReadableCache, @unchecked Sendable {
  private let table: OpaquePointer
  private let filling = Mutex(())

  init(keys: Int, seed: UInt64 = 0x9E37_79B9_7F4A_7C15) throws {
    guard let table = floor_create(keys, seed) else {
      throw BenchError.unprepared("no memory for a table of \(keys) keys")
    }
    self.table = table
  }

  deinit {
    floor_destroy(table)
  }

  /// `false` if the key is too long, or there is no room.
  func put(_ key: StoreKey, _ body: [UInt8]) -> Bool {
    key.bytes.withUnsafeBytes { key in
      body.withUnsafeBytes { body in
        filling.withLock { _ in
          floor_put(table, key.baseAddress, key.count, body.baseAddress, body.count)
        }
      }
    }
  }

  /// Takes a reference, and drops it.
  @inline(__always)
  func bodyCount(of key: StoreKey) -> Int? {
    key.bytes.withUnsafeBytes { key in
      guard let slot = floor_take(table, key.baseAddress, key.count) else { return nil }
      defer { floor_drop(slot) }
      return floor_value_length(slot)
    }
  }

  @inline(__always)
  func bodyByte(of key: StoreKey) -> UInt8? {
    key.bytes.withUnsafeBytes { key in
      guard let slot = floor_take(table, key.baseAddress, key.count) else { return nil }
      defer { floor_drop(slot) }
      return floor_value(slot)?.load(fromByteOffset: floor_value_length(slot) / 2, as: UInt8.self)
    }
  }

  var byteCount: Int { floor_bytes(table) }
}
