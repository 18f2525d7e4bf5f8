// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

/// A file system that can only be read: operations that would change a file do nothing.
///
/// The code that opens a directory cuts unfinished records and removes unnamed files; here it only leaves them out.
struct ReadOnlyFileSystem: FileSystem {
  let base: any FileSystem

  func createDirectory(_ path: FilePath, withParents: Bool) throws(FileFailure) {}
  func makePrivate(_ directory: FilePath) throws(FileFailure) {}

  func open(_ path: FilePath, creating: Bool) throws(FileFailure) -> any File {
    ReadOnlyFile(base: try base.open(path, creating: false))
  }

  func list(_ directory: FilePath) throws(FileFailure) -> [String] { try base.list(directory) }
  func unlink(_ path: FilePath) throws(FileFailure) {}
  func syncDirectory(_ path: FilePath) throws(FileFailure) {}
  var uptime: Duration { base.uptime }
}

private final class ReadOnlyFile: File {
  private let base: any File

  init(base: any File) {
    self.base = base
  }

  var path: FilePath { base.path }
  func size() throws(FileFailure) -> Int { try base.size() }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(FileFailure) -> Int {
    try base.read(into: buffer, at: offset)
  }

  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(FileFailure) {
    throw FileFailure(operation: "write", path: path, errno: Errno.readOnlyFileSystem.rawValue)
  }

  func truncate(to size: Int) throws(FileFailure) {}
  func sync() throws(FileFailure) {}
  func tryLock() throws(FileFailure) -> Bool { try base.tryLock() }
}
