import Foundation
import HTTPCacheStore
import Synchronization
import SystemPackage

/// What `disk` measures does its operations on one thread, one after the other.
extension DiskData {
  /// The operations of a cache, from what it does to put and to get; every tenth of `diskMixed` is a put.
  func operation(
    _ action: Action, put: @escaping @Sendable (Int) -> Bool, get: @escaping @Sendable (Int) -> Int?
  ) -> (@Sendable (Int) -> Bool)? {
    let valueSize = valueSize
    switch action {
    case .diskStore: return put
    case .diskGet: return { get($0) == valueSize }
    case .diskMixed:
      let turns = Turns()
      return { turns.next().isMultiple(of: 10) ? put($0) : get($0) == valueSize }
    default: return nil
    }
  }
}

private final class Turns: Sendable {
  private let count = Atomic<Int>(0)

  func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).oldValue }
}

/// Our store with nothing in memory, so that every lookup reads from disk.
final class DiskStoreCache: BenchCache {
  private let data: DiskData
  private let store: CacheStore

  init(_ data: DiskData, directory: String, capacity: Int) throws {
    self.data = data
    store = try CacheStore(
      CacheStore.Configuration(memoryCapacity: 0, diskCapacity: capacity, directory: FilePath(directory)))
  }

  func warm(_ key: Int) { data.touch(key) }
  func close() { store.close() }
  /// Brings what is still buffered into the files.
  func flush() { store.flush() }

  func operation(_ action: Action) -> (@Sendable (Int) -> Bool)? {
    let (data, store) = (data, store)
    return data.operation(
      action, put: { store.insert(data.entry($0)).id != nil },
      get: { (try? store.lookup(data.keys[$0]).first?.body.readAll())??.count })
  }
}

/// The least there is to do: bytes appended to one file, and read from where they are. No key, no head, no checksum.
final class RawFileCache: BenchCache {
  private struct State {
    var end = 0
    var offsets: [Int]
  }

  private let data: DiskData
  private let file: FileDescriptor
  private let state: Mutex<State>

  init(_ data: DiskData, directory: String) throws {
    self.data = data
    file = try FileDescriptor.open(
      FilePath(directory).appending("raw"), .readWrite, options: [.create], permissions: .ownerReadWrite)
    state = Mutex(State(offsets: Array(repeating: 0, count: data.keys.count)))
  }

  func warm(_ key: Int) { data.touch(key) }
  func close() { try? file.close() }

  func operation(_ action: Action) -> (@Sendable (Int) -> Bool)? {
    data.operation(action, put: { self.put($0) }, get: { self.get($0)?.count })
  }

  private func put(_ key: Int) -> Bool {
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
  private func get(_ key: Int) -> [UInt8]? {
    let offset = state.withLock { $0.offsets[key] }
    return try? [UInt8](unsafeUninitializedCapacity: data.valueSize) { buffer, count in
      count = try file.read(fromAbsoluteOffset: Int64(offset), into: UnsafeMutableRawBufferPointer(buffer))
    }
  }
}

/// A file for each entry, with head and body, written beside and then renamed.
final class FilePerEntryCache: BenchCache {
  private let data: DiskData
  private let paths: [FilePath]
  private let temporary: FilePath

  init(_ data: DiskData, directory: String) {
    self.data = data
    let directory = FilePath(directory)
    paths = data.keys.indices.map { directory.appending(String($0)) }
    temporary = directory.appending("new")
  }

  func warm(_ key: Int) { data.touch(key) }

  func operation(_ action: Action) -> (@Sendable (Int) -> Bool)? {
    data.operation(action, put: { self.put($0) }, get: { self.get($0) })
  }

  private func put(_ key: Int) -> Bool {
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

  /// Its size need not be asked for.
  private func get(_ key: Int) -> Int? {
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
