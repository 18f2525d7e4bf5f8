// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

/// The store accesses the disk only through this protocol, so that tests can make each access fail.
protocol FileSystem: Sendable {
  /// Creates a directory, private to its user, if it is missing.
  ///
  /// - Parameter withParents: whether to create missing parent directories too, with the usual permissions.
  func createDirectory(_ path: FilePath, withParents: Bool) throws(FileFailure)
  /// Removes the access of all other users to a directory.
  func makePrivate(_ directory: FilePath) throws(FileFailure)
  /// Opens a file for reading and writing, private to its user.
  func open(_ path: FilePath, creating: Bool) throws(FileFailure) -> any File
  /// Opens a file as ``open(_:creating:)`` does. Returns `nil` if the call would wait for the disk, or fail.
  func openAtOnce(_ path: FilePath) -> (any File)?
  /// Returns the names of the files in a directory.
  func list(_ directory: FilePath) throws(FileFailure) -> [String]
  /// Removes a file. It stays readable where it is open.
  func unlink(_ path: FilePath) throws(FileFailure)
  /// Syncs the names in a directory to the disk.
  func syncDirectory(_ path: FilePath) throws(FileFailure)
  /// The time since an arbitrary start, for the pauses after failures.
  var uptime: Duration { get }
}

extension FileSystem {
  func openAtOnce(_ path: FilePath) -> (any File)? { nil }
}

/// An open file; it closes itself when it is deallocated.
protocol File: AnyObject, Sendable {
  var path: FilePath { get }
  func size() throws(FileFailure) -> Int
  /// Reads up to the buffer's length at an offset; returns fewer bytes only at the end of the file.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(FileFailure) -> Int
  /// Fills the buffer from the page cache. Returns `false` if the call would wait for the disk, or fail: only
  /// ``read(into:at:)`` reports a failure.
  func readAtOnce(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Bool
  /// Writes the whole buffer at an offset, or throws; a part of it may then have been written.
  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(FileFailure)
  /// Writes arrays one after the other, as ``write(_:at:)`` does.
  func write(_ pieces: [[UInt8]], at offset: Int) throws(FileFailure)
  func truncate(to size: Int) throws(FileFailure)
  /// Reserves the device's blocks for a range that will be written soon. The file's size stays. This is a hint: it
  /// cannot fail.
  func allocate(_ range: Range<Int>)
  /// Releases blocks that were allocated beyond the file's end.
  func releaseUnused()
  /// Syncs the file's bytes to the disk.
  func sync() throws(FileFailure)
  /// Whether the file's path still leads to it.
  var isInPlace: Bool { get }
  /// Takes the file's lock, which lasts as long as the file is open. Returns `false` if the lock is already taken.
  func tryLock() throws(FileFailure) -> Bool
}

/// A failed operation of the file system.
struct FileFailure: Error, Hashable {
  let operation: String
  let path: FilePath
  let errno: Int32

  var storeError: StoreError { StoreError(.io(operation: operation, path: path, errno: errno)) }

  /// Whether the process has no descriptor or no memory for the operation: this says nothing about the file.
  var isShortage: Bool {
    [.tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory].contains(Errno(rawValue: errno))
  }

  /// Whether the file system, or the user's share of it, is full.
  var isFull: Bool {
    let errno = Errno(rawValue: errno)
    return errno == .noSpace || errno == .diskQuotaExceeded
  }
}

extension File {
  var isInPlace: Bool { true }
  func allocate(_ range: Range<Int>) {}
  func releaseUnused() {}
  func readAtOnce(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Bool { false }

  /// Fills the buffer; returns `false` if the file ends before.
  ///
  /// - Parameter atOnce: see ``readAtOnce(into:at:)``.
  func fill(
    _ buffer: UnsafeMutableRawBufferPointer, at offset: Int, atOnce: Bool
  ) throws(FileFailure) -> Bool {
    atOnce ? readAtOnce(into: buffer, at: offset) : try read(into: buffer, at: offset) == buffer.count
  }

  /// Reads exactly `count` bytes into a new array; `nil` if the file ends before.
  ///
  /// - Parameter atOnce: see ``readAtOnce(into:at:)``.
  func read(_ count: Int, at offset: Int, atOnce: Bool = false) throws(FileFailure) -> [UInt8]? {
    guard count > 0 else { return [] }
    let bytes = try [UInt8](capacity: count) { buffer throws(FileFailure) in
      try fill(buffer, at: offset, atOnce: atOnce) ? count : 0
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
