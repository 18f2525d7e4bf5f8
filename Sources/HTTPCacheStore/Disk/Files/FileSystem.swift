// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

/// Every touch of the disk goes through here, so that tests can make each of them fail.
protocol FileSystem: Sendable {
  /// Creates a directory, private to its user, unless it is there.
  ///
  /// - Parameter withParents: whether to create those that lead to it, too, which are as private as others.
  func createDirectory(_ path: FilePath, withParents: Bool) throws(FileFailure)
  /// Closes a directory to all but its user.
  func makePrivate(_ directory: FilePath) throws(FileFailure)
  /// Opens a file for reading and writing, private to its user.
  func open(_ path: FilePath, creating: Bool) throws(FileFailure) -> any File
  /// The names of the files in a directory.
  func list(_ directory: FilePath) throws(FileFailure) -> [String]
  /// Removes a file. What has it open keeps it.
  func unlink(_ path: FilePath) throws(FileFailure)
  /// Brings the names in a directory to the disk itself.
  func syncDirectory(_ path: FilePath) throws(FileFailure)
}

/// An open file; it closes itself when nothing refers to it any more.
protocol File: AnyObject, Sendable {
  var path: FilePath { get }
  func size() throws(FileFailure) -> Int
  /// Reads up to the buffer's length at an offset; less only at the end of the file.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(FileFailure) -> Int
  /// Writes the whole buffer at an offset, or throws; part of it may then have been written.
  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(FileFailure)
  /// Writes arrays one behind the other, as ``write(_:at:)`` does.
  func write(_ pieces: [[UInt8]], at offset: Int) throws(FileFailure)
  func truncate(to size: Int) throws(FileFailure)
  /// Has the device's blocks for a range at hand that will be written soon. The file's size stays. A hint: it cannot fail.
  func allocate(_ range: Range<Int>)
  /// Gives back the blocks that were allocated beyond the file's end.
  func releaseUnused()
  /// Brings the file's bytes to the disk itself.
  func sync() throws(FileFailure)
  /// Whether the file's path still leads to it.
  var isInPlace: Bool { get }
  /// Takes the file's lock, which lasts as long as the file is open. `false` when somebody has it.
  func tryLock() throws(FileFailure) -> Bool
}

/// An operation of the file system that failed.
struct FileFailure: Error, Hashable {
  let operation: String
  let path: FilePath
  let errno: Int32

  var storeError: StoreError { StoreError(.io(operation: operation, path: path, errno: errno)) }
}

extension File {
  var isInPlace: Bool { true }
  func allocate(_ range: Range<Int>) {}
  func releaseUnused() {}

  /// Reads exactly `count` bytes into a new array; `nil` when the file ends before.
  func read(_ count: Int, at offset: Int) throws(FileFailure) -> [UInt8]? {
    guard count > 0 else { return [] }
    let bytes = try [UInt8](capacity: count) { buffer throws(FileFailure) in
      try read(into: buffer, at: offset)
    }
    return bytes.count == count ? bytes : nil
  }

  func write(_ bytes: [UInt8], at offset: Int) throws(FileFailure) {
    var failure: FileFailure?
    bytes.withUnsafeBytes { buffer in
      do throws(FileFailure) {
        try write(buffer, at: offset)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
  }

  func write(_ pieces: [[UInt8]], at offset: Int) throws(FileFailure) {
    var offset = offset
    for piece in pieces {
      try write(piece, at: offset)
      offset += piece.count
    }
  }
}
