import CFloorTable
import HTTPCacheEngine
import HTTPCacheStore
import Synchronization

/// The floor: a plain table in C that only finds, to show what a lookup costs at the least. See `CFloorTable.h`.
final class FloorCache: BenchCache {
  private let data: Dataset
  private let table: FloorTable
  private let filling = Mutex(())

  init(_ data: Dataset) throws {
    self.data = data
    table = try FloorTable(keys: data.count, seed: 0x9E37_79B9_7F4A_7C15)
  }

  func warm(_ key: Int) { data.touch(key) }

  func operation(_ action: Action) -> (@Sendable (Int) -> Bool)? {
    let (data, table) = (data, table)
    switch action {
    case .get:
      return { table.valueCount(CacheKey(data.requests[$0])?.bytes ?? []) == data.valueSize }
    case .getByKey: return { table.valueCount(data.storeKeys[$0].bytes) == data.valueSize }
    case .miss:
      return {
        table.valueCount(CacheKey(data.absentRequests[$0 % data.absentRequests.count])?.bytes ?? []) != nil
      }
    case .store:
      return { number in
        self.filling.withLock { _ in table.put(data.storeKeys[number].bytes, data.bodies[number]) }
      }
    default: return nil
    }
  }
}

/// The table in C. It borrows the bytes of its values, which the caller keeps.
final class FloorTable: @unchecked Sendable {
  // Unchecked: looking up is safe from any thread, and who fills it does so alone, before anyone looks.
  private let table: OpaquePointer

  init(keys: Int, seed: UInt64) throws {
    guard let table = floor_create(keys, seed) else {
      throw BenchError.unprepared("no memory for a table of \(keys) keys")
    }
    self.table = table
  }

  deinit {
    floor_destroy(table)
  }

  var byteCount: Int { floor_bytes(table) }

  /// Puts a key; `false` if it is too long, or there is no room.
  func put(_ key: [UInt8], _ value: [UInt8]) -> Bool {
    key.withUnsafeBytes { key in
      value.withUnsafeBytes { floor_put(table, key.baseAddress, key.count, $0.baseAddress, $0.count) }
    }
  }

  /// The bytes of a key's value, with a reference taken and dropped; `nil` if the key is not there.
  @inline(__always)
  func valueCount(_ key: [UInt8]) -> Int? {
    key.withUnsafeBytes { key in
      guard let slot = floor_take(table, key.baseAddress, key.count) else { return nil }
      defer { floor_drop(slot) }
      return floor_value_length(slot)
    }
  }
}
