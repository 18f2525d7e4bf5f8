// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheStore
import SystemPackage

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The file beside a disk tier that says how far the entries in it follow the log of the shared tier.
///
/// An older file is safe: what it does not say has been applied is applied again. It is replaced as a whole, and has a
/// checksum. Without it, all entries on disk are validated before their next use.
final class SharedPositionFile: Sendable {
  struct Content: Hashable, Sendable {
    var position: SharedLogPosition
    /// Entries with a lower revision must be validated before use.
    var suspects: UInt64
    var suspectTime: Int64
  }

  static let name = "shared-position"

  private let path: FilePath
  private struct State {
    /// What was last written.
    var content: Content?
    var isLeft = false
  }

  private let state = Mutex(State())

  init(in directory: FilePath) {
    path = directory.appending(Self.name)
  }

  func read() -> Content? {
    guard let file = try? FileDescriptor.open(path, .readOnly) else { return nil }
    defer { try? file.close() }
    var bytes = [UInt8](repeating: 0, count: 64)
    guard let count = try? bytes.withUnsafeMutableBytes({ try file.read(into: $0) }) else { return nil }
    var reader = SharedBytesReader(Array(bytes[..<count]))
    guard reader.byte() == 1, let epoch = reader.number(), let number = reader.number(),
      let suspects = reader.number(), let time = reader.number()
    else { return nil }
    let end = reader.position
    guard let sum = reader.number(), reader.isAtEnd, SharedEntryForm.checksum(Array(bytes[..<end])) == sum
    else { return nil }
    return Content(
      position: SharedLogPosition(epoch: epoch, number: number), suspects: suspects,
      suspectTime: Int64(bitPattern: time))
  }

  /// Replaces the file if the content differs from what was last written.
  func write(_ content: Content) {
    state.withLock { state in
      guard state.content != content, !state.isLeft else { return }
      var bytes = SharedBytes()
      bytes.add(1 as UInt8)
      bytes.add(content.position.epoch)
      bytes.add(content.position.number)
      bytes.add(content.suspects)
      bytes.add(UInt64(bitPattern: content.suspectTime))
      bytes.add(SharedEntryForm.checksum(bytes.bytes))
      if replace(bytes.bytes) { state.content = content }
    }
  }

  /// Leaves the file to another process.
  func leave() { state.withLock { $0.isLeft = true } }

  private func replace(_ bytes: [UInt8]) -> Bool {
    let new = path.removingLastComponent().appending(Self.name + ".new")
    do {
      let file = try FileDescriptor.open(
        new, .writeOnly, options: [.create, .truncate], permissions: [.ownerReadWrite])
      try file.closeAfter { _ = try file.writeAll(bytes) }
      return new.withPlatformString { new in path.withPlatformString { rename(new, $0) } } == 0
    } catch {
      return false
    }
  }

  func remove() {
    state.withLock { state in
      guard !state.isLeft else { return }
      state.content = nil
      _ = path.withPlatformString { unlink($0) }
    }
  }
}
