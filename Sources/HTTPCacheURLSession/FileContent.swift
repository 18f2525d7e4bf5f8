// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching
import SystemPackage

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The content of a file, piece by piece: a wrapped transport may read the content of an upload.
struct FileContent: AsyncSequence, Sendable {
  typealias Element = ArraySlice<UInt8>
  typealias Failure = any Error

  let path: FilePath
  /// Removes the file when no content refers to it.
  private let owner: TemporaryFile?

  init(_ file: URL) { (path, owner) = (FilePath(file.path), nil) }

  init(_ file: TemporaryFile) { (path, owner) = (file.path, file) }

  func makeAsyncIterator() -> Iterator { Iterator(path: path) }

  struct Iterator: AsyncIteratorProtocol {
    private static let blockSize = 256 << 10

    fileprivate let path: FilePath
    private var offset: Int64 = 0

    fileprivate init(path: FilePath) { self.path = path }

    mutating func next() async throws -> ArraySlice<UInt8>? {
      let (path, offset) = (path, offset)
      // Opened for each block, so that no reader that leaves early keeps it open.
      let block = try await BlockingExecutor.run {
        Result {
          let file = try FileDescriptor.open(path, .readOnly, options: .closeOnExec)
          return try file.closeAfter {
            try [UInt8](unsafeUninitializedCapacity: Self.blockSize) { buffer, count in
              count = try file.read(fromAbsoluteOffset: offset, into: UnsafeMutableRawBufferPointer(buffer))
            }
          }
        }
      }.get()
      self.offset += Int64(block.count)
      return block.isEmpty ? nil : block[...]
    }
  }
}

/// A file that content is written to. It appears at its place when it is complete, and replaces what was there.
struct FileDestination: Sendable {
  private static let blockSize = 256 << 10

  private let destination: FilePath
  private let temporary: FilePath
  private let file: FileDescriptor
  /// A descriptor must be closed once: later its number may belong to another file.
  private var isOpen = true
  private var block: [UInt8] = []

  /// Makes the file, beside its place.
  ///
  /// - Throws: `URLError.cannotCreateFile`.
  init(_ url: URL) async throws {
    guard url.isFileURL, !url.lastPathComponent.isEmpty else {
      throw URLError(.cannotCreateFile, url, "The destination of a download is not a file URL: \(url)")
    }
    let place = FilePath(url.path)
    let temporary = place.removingLastComponent().appending(".\(UUID().uuidString).download")
    (destination, self.temporary) = (place, temporary)
    let opened = await BlockingExecutor.run {
      Result {
        try FileDescriptor.open(
          temporary, .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec],
          permissions: [.ownerReadWrite, .groupRead, .otherRead])
      }
    }
    do {
      file = try opened.get()
    } catch {
      throw URLError(.cannotCreateFile, url, "The download cannot be written beside \(url.path): \(error)")
    }
  }

  /// Adds content, in blocks of 256 KiB: each write goes to another thread.
  mutating func add(_ chunk: ArraySlice<UInt8>) async throws {
    block += chunk
    if block.count >= Self.blockSize { try await writeBlock() }
  }

  private mutating func writeBlock() async throws {
    let (full, file, destination) = (block, file, destination)
    block = []
    guard !full.isEmpty else { return }
    do {
      try await BlockingExecutor.run { Result { _ = try file.writeAll(full) } }.get()
    } catch {
      throw URLError(
        .cannotWriteToFile, URL(fileURLWithPath: destination.string),
        "The download cannot be written: \(error)")
    }
  }

  /// Moves the complete file to its place.
  ///
  /// - Throws: `URLError.cannotMoveFile`, `.cannotWriteToFile`.
  mutating func finish() async throws {
    try await writeBlock()
    try close()
    guard rename(temporary.string, destination.string) == 0 else {
      let text = String(cString: strerror(errno))
      throw URLError(
        .cannotMoveFile, URL(fileURLWithPath: destination.string),
        "The download cannot be moved to \(destination): \(text)")
    }
  }

  private mutating func close() throws {
    guard isOpen else { return }
    isOpen = false
    try file.close()
  }

  /// Removes what was written, also after ``finish()`` has failed.
  mutating func discard() {
    try? close()
    try? FileManager.default.removeItem(atPath: temporary.string)
  }
}
