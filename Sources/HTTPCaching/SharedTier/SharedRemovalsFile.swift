// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import SystemPackage

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The file beside a disk tier with the removals that the shared tier has not been told yet, so that a restart does not
/// forget them. It exists only while the tier cannot be reached.
///
/// A record is the length of a payload (4 bytes), the payload, and its checksum. Damage stands for a removal of everything:
/// what was removed is unknown.
final class SharedRemovalsFile: Sendable {
  static let name = "shared-removals"

  private let path: FilePath
  /// Whether there may be a file. Locked before the state of the link.
  private let state = Mutex(State.mayExist)

  private enum State {
    case mayExist
    case absent
    /// It is another process's.
    case left
  }

  init(in directory: FilePath) {
    path = directory.appending(Self.name)
  }

  /// Returns the removals of the last run, oldest first.
  func read() -> [Removal] {
    guard let bytes = contents() else { return [] }
    var (removals, reader) = ([Removal](), SharedBytesReader(bytes))
    while !reader.isAtEnd {
      guard let payload = reader.text(), let checksum = reader.number(),
        SharedEntryForm.checksum(Array(payload)) == checksum
      else { return [.everything] }
      removals.append(Removal.read(Array(payload)).removal)
    }
    return removals
  }

  /// Leaves the file to another process.
  func leave() { state.withLock { $0 = .left } }

  /// Adds removals to the file, or removes it if none is queued. Returns when a loss of power would keep them.
  ///
  /// May block on the disk.
  ///
  /// - Parameter queued: how many removals are queued, and those that are to be added.
  /// - Returns: how many could not be added.
  func update(node: UInt64, _ queued: () -> (count: Int, new: ArraySlice<Removal>)) -> Int {
    state.withLock { state in
      if state == .left { return 0 }
      let (count, new) = queued()
      if count == 0 {
        if state == .mayExist { _ = path.withPlatformString { unlink($0) } }
        state = .absent
      } else if !new.isEmpty {
        state = .mayExist
        if !append(new, node) { return new.count }
      }
      return 0
    }
  }

  /// Whether removals that were delivered may be in the file.
  var mayExist: Bool { state.withLock { $0 == .mayExist } }

  private func contents() -> [UInt8]? {
    guard let file = try? FileDescriptor.open(path, .readOnly) else { return nil }
    defer { try? file.close() }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while let count = try? piece.withUnsafeMutableBytes({ try file.read(into: $0) }), count > 0 {
      bytes += piece[..<count]
    }
    return bytes
  }

  /// - Returns: whether the removals, and the name of the file, are on the disk.
  private func append(_ removals: ArraySlice<Removal>, _ node: UInt64) -> Bool {
    var bytes = SharedBytes()
    for removal in removals {
      let payload = removal.payload(node: node)
      bytes.add(payload)
      bytes.add(SharedEntryForm.checksum(payload))
    }
    do {
      let file = try FileDescriptor.open(
        path, .writeOnly, options: [.create, .append], permissions: [.ownerReadWrite])
      let isSynced = try file.closeAfter {
        _ = try file.writeAll(bytes.bytes)
        return fsync(file.rawValue) == 0
      }
      let directory = try FileDescriptor.open(path.removingLastComponent(), .readOnly)
      return try directory.closeAfter { fsync(directory.rawValue) == 0 } && isSynced
    } catch {
      return false
    }
  }
}
