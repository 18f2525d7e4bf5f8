// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import SystemPackage

@testable import HTTPCacheStore

/// The machine's file system, failing when it is told to.
final class FaultyFileSystem: FileSystem {
  enum Operation: Hashable, Sendable {
    case create, open, write, read, sync, unlink, truncate
    /// Making the directory.
    case directory
  }

  struct Plan: Sendable {
    /// The operations that fail, and how.
    var failing: [Operation: Int32] = [:]
    /// A write that fails leaves half of its bytes behind.
    var writesHalf = false
    /// Every read gives one bit flipped in this byte, when it reads as far.
    var flippedByte: Int?
    /// Whether the page cache has all bytes of the files.
    var isCached = false
    /// Called before each read that does not wait.
    var onReadAtOnce: (@Sendable () -> Void)?
    /// The end of every file for reads; `nil` for its own.
    var readableSize: Int?
    /// The bytes that all files together may have; `nil` for as many as the machine has.
    var room: Int?
    /// The length of each file written through this one.
    var sizes: [FilePath: Int] = [:]
    /// As if the directory had been removed.
    var isDirectoryGone = false
    /// The time, which stands still.
    var uptime = Duration.zero
    /// Called when the blocks beyond the end of a file are given back.
    var onRelease: (@Sendable () -> Void)?
    var syncs = 0
    /// Reads that may wait.
    var reads = 0
    var bytesRead = 0
    var writes = 0
    /// In bytes.
    var largestWrite = 0
  }

  let plan = Mutex(Plan())
  private let base = POSIXFileSystem()

  var uptime: Duration { plan.withLock { $0.uptime } }

  func set(_ change: @Sendable (inout Plan) -> Void) { plan.withLock { change(&$0) } }

  fileprivate func check(_ operation: Operation, _ path: FilePath) throws(FileFailure) {
    if let errno = plan.withLock({ $0.failing[operation] }) {
      throw FileFailure(operation: "\(operation)", path: path, errno: errno)
    }
  }

  func createDirectory(_ path: FilePath, withParents: Bool) throws(FileFailure) {
    try check(.directory, path)
    try base.createDirectory(path, withParents: withParents)
  }

  func makePrivate(_ directory: FilePath) throws(FileFailure) { try base.makePrivate(directory) }

  func open(_ path: FilePath, creating: Bool) throws(FileFailure) -> any File {
    try check(creating ? .create : .open, path)
    if creating, plan.withLock({ $0.isDirectoryGone }) {
      throw FileFailure(operation: "create", path: path, errno: ENOENT)
    }
    return FaultyFile(base: try base.open(path, creating: creating), system: self)
  }

  func openAtOnce(_ path: FilePath) -> (any File)? {
    plan.withLock { $0.isCached } ? try? open(path, creating: false) : nil
  }

  func list(_ directory: FilePath) throws(FileFailure) -> [String] { try base.list(directory) }

  func unlink(_ path: FilePath) throws(FileFailure) {
    try check(.unlink, path)
    try base.unlink(path)
    plan.withLock { $0.sizes[path] = nil }
  }

  /// Takes the room for a file of this length.
  fileprivate func take(_ path: FilePath, _ length: Int) throws(FileFailure) {
    let isFull = plan.withLock { plan in
      let others = plan.sizes.values.reduce(-(plan.sizes[path] ?? 0), +)
      if let room = plan.room, others + length > room { return true }
      plan.sizes[path] = length
      return false
    }
    if isFull { throw FileFailure(operation: "write", path: path, errno: ENOSPC) }
  }

  func syncDirectory(_ path: FilePath) throws(FileFailure) {
    try check(.sync, path)
    plan.withLock { $0.syncs += 1 }
  }
}

private final class FaultyFile: File {
  let base: any File
  let system: FaultyFileSystem

  init(base: any File, system: FaultyFileSystem) {
    self.base = base
    self.system = system
  }

  var path: FilePath { base.path }
  var isInPlace: Bool { base.isInPlace && !system.plan.withLock { $0.isDirectoryGone } }
  func size() throws(FileFailure) -> Int { try base.size() }
  func tryLock() throws(FileFailure) -> Bool { try base.tryLock() }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(FileFailure) -> Int {
    try system.check(.read, path)
    system.plan.withLock { $0.reads += 1 }
    let count = try readBase(into: buffer, at: offset)
    system.plan.withLock { $0.bytesRead += count }
    return count
  }

  private func readBase(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(FileFailure) -> Int
  {
    let plan = system.plan.withLock { $0 }
    let count = min(try base.read(into: buffer, at: offset), max(0, (plan.readableSize ?? .max) - offset))
    if let index = plan.flippedByte, index < count { buffer[index] ^= 1 }
    return count
  }

  func readAtOnce(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Bool {
    let plan = system.plan.withLock { $0 }
    plan.onReadAtOnce?()
    guard plan.isCached, plan.failing[.read] == nil else { return false }
    return (try? readBase(into: buffer, at: offset)) == buffer.count
  }

  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(FileFailure) {
    do throws(FileFailure) {
      try system.check(.write, path)
      try system.take(path, max(base.size(), offset + buffer.count))
    } catch {
      if system.plan.withLock({ $0.writesHalf }) {
        try base.write(UnsafeRawBufferPointer(rebasing: buffer[..<(buffer.count / 2)]), at: offset)
      }
      throw error
    }
    system.plan.withLock {
      $0.writes += 1
      $0.largestWrite = max($0.largestWrite, buffer.count)
    }
    try base.write(buffer, at: offset)
  }

  func write(_ pieces: [[UInt8]], at offset: Int) throws(FileFailure) {
    try write(pieces.flatMap { $0 }, at: offset)
  }

  func truncate(to size: Int) throws(FileFailure) {
    try system.check(.truncate, path)
    try base.truncate(to: size)
    system.plan.withLock { $0.sizes[path] = size }
  }

  func releaseUnused() {
    base.releaseUnused()
    system.plan.withLock { $0.onRelease }?()
  }

  func sync() throws(FileFailure) {
    try system.check(.sync, path)
    system.plan.withLock { $0.syncs += 1 }
  }
}
