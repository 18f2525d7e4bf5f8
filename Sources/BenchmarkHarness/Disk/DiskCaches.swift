// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheStore
import SystemPackage

/// The minimum of work: bytes appended to one file, and read by offset. No key, no head, no checksum.
package final class RawFileCache: DiskCache {
  private struct State {
    var end = 0
    var offsets: [Int]
  }

  package let data: Dataset
  private let file: FileDescriptor
  private let state: Mutex<State>

  package init(_ data: Dataset, directory: String) throws {
    self.data = data
    file = try FileDescriptor.open(
      FilePath(directory).appending("raw"), .readWrite, options: [.create], permissions: .ownerReadWrite)
    state = Mutex(State(offsets: Array(repeating: 0, count: data.keys.count)))
  }

  package func close() { try? file.close() }

  package func put(_ key: Int) -> Bool {
    let body = data.body(key)
    let offset = state.withLock { state in
      defer { state.end += body.count }
      state.offsets[key] = state.end
      return state.end
    }
    let written = body.withUnsafeBytes { try? file.writeAll(toAbsoluteOffset: Int64(offset), $0) }
    return written == body.count
  }

  /// Reads into its own memory, as our store does.
  package func get(_ key: Int) -> Int? {
    let offset = state.withLock { $0.offsets[key] }
    let body = try? [UInt8](unsafeUninitializedCapacity: data.valueSize) { buffer, count in
      count = try file.read(fromAbsoluteOffset: Int64(offset), into: UnsafeMutableRawBufferPointer(buffer))
    }
    return body?.count
  }
}

/// A file for each entry, with head and body, written under another name and then renamed.
package final class FilePerEntryCache: DiskCache {
  package let data: Dataset
  private let paths: [FilePath]
  private let temporary: FilePath

  package init(_ data: Dataset, directory: String) {
    self.data = data
    let directory = FilePath(directory)
    paths = data.keys.indices.map { directory.appending(String($0)) }
    temporary = directory.appending("new")
  }

  package func put(_ key: Int) -> Bool {
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

  /// Reads the whole file; its size is known.
  package func get(_ key: Int) -> Int? {
    guard let file = try? FileDescriptor.open(paths[key], .readOnly) else { return nil }
    defer { try? file.close() }
    let size = data.head.count + data.valueSize
    let whole = try? [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
    }
    return whole.map { $0.count - data.head.count }
  }
}
