// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import Synchronization
import SystemPackage

/// Counts the operations of `diskMixed`, of which every tenth is a put.
final class Turns: Sendable {
  private let count = Atomic<Int>(0)

  func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).oldValue }
}

/// Our store with nothing in memory, so that every lookup reads from disk.
final class DiskStoreCache: DiskCache {
  let data: Dataset
  private let store: CacheStore

  init(_ data: Dataset, directory: String, capacity: Int) throws {
    self.data = data
    store = try CacheStore(
      CacheStore.Configuration(memoryCapacity: 0, diskCapacity: capacity, directory: FilePath(directory)))
  }

  func close() { store.close() }
  /// Brings what is still buffered into the files.
  func flush() { store.flush() }

  func put(_ key: Int) -> Bool { store.insert(data.entry(data.keys[key], key)).id != nil }
  func get(_ key: Int) -> Int? { (try? store.lookup(data.keys[key]).first?.body.readAll())??.count }
}

/// The least there is to do: bytes appended to one file, and read from where they are. No key, no head, no checksum.
final class RawFileCache: DiskCache {
  private struct State {
    var end = 0
    var offsets: [Int]
  }

  let data: Dataset
  private let file: FileDescriptor
  private let state: Mutex<State>

  init(_ data: Dataset, directory: String) throws {
    self.data = data
    file = try FileDescriptor.open(
      FilePath(directory).appending("raw"), .readWrite, options: [.create], permissions: .ownerReadWrite)
    state = Mutex(State(offsets: Array(repeating: 0, count: data.keys.count)))
  }

  func close() { try? file.close() }

  func put(_ key: Int) -> Bool {
    let body = data.body(key)
    let offset = state.withLock { state in
      defer { state.end += body.count }
      state.offsets[key] = state.end
      return state.end
    }
    let written = body.withUnsafeBytes { try? file.writeAll(toAbsoluteOffset: Int64(offset), $0) }
    return written == body.count
  }

  /// Into memory of its own, as our store reads.
  func get(_ key: Int) -> Int? {
    let offset = state.withLock { $0.offsets[key] }
    let body = try? [UInt8](unsafeUninitializedCapacity: data.valueSize) { buffer, count in
      count = try file.read(fromAbsoluteOffset: Int64(offset), into: UnsafeMutableRawBufferPointer(buffer))
    }
    return body?.count
  }
}

/// A file for each entry, with head and body, written beside and then renamed.
final class FilePerEntryCache: DiskCache {
  let data: Dataset
  private let paths: [FilePath]
  private let temporary: FilePath

  init(_ data: Dataset, directory: String) {
    self.data = data
    let directory = FilePath(directory)
    paths = data.keys.indices.map { directory.appending(String($0)) }
    temporary = directory.appending("new")
  }

  func put(_ key: Int) -> Bool {
    do {
      let file = try FileDescriptor.open(
        temporary, .writeOnly, options: [.create, .truncate], permissions: .ownerReadWrite)
      defer { try? file.close() }
      let whole = data.head + data.body(key)
      guard try file.writeAll(whole) == whole.count else { return false }
      return temporary.withPlatformString { from in
        paths[key].withPlatformString { rename(from, $0) == 0 }
      }
    } catch {
      return false
    }
  }

  /// Its size is known.
  func get(_ key: Int) -> Int? {
    do {
      let file = try FileDescriptor.open(paths[key], .readOnly)
      defer { try? file.close() }
      let whole = try [UInt8](unsafeUninitializedCapacity: data.head.count + data.valueSize) {
        buffer, count in
        count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
      }
      return whole.count - data.head.count
    } catch {
      return nil
    }
  }
}

extension Contender {
  /// The yardsticks of `disk` by the names of the flag `--beside`.
  static let onDisk: KeyValuePairs<String, Contender> = [
    "raw": .rawFile, "files": .files, "sqlite": .sqlite, "lmdb": .lmdb, "rocksdb": .rocksDB,
  ]

  /// Makes an empty yardstick on disk in a directory; `nil` where the system does not have its library.
  func maker(_ data: Dataset, capacity: Int) -> ((_ directory: String) throws -> any BenchCache)? {
    switch self {
    case .rawFile: return { try RawFileCache(data, directory: $0) }
    case .files: return { FilePerEntryCache(data, directory: $0) }
    case .sqlite: return SQLite.shared?.maker(data, capacity: capacity)
    case .lmdb: return LMDB.shared?.maker(data, capacity: capacity)
    case .rocksDB: return RocksDB.shared?.maker(data, capacity: capacity)
    default: return nil
    }
  }

  /// Whether the system has what a yardstick on disk takes.
  var isInstalled: Bool {
    switch self {
    case .sqlite: SQLite.shared != nil
    case .lmdb: LMDB.shared != nil
    case .rocksDB: RocksDB.shared != nil
    default: true
    }
  }
}
