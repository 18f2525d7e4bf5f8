// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore
@testable import HTTPCaching

/// The machine's file system, which counts what is read of bodies. The page cache has all their bytes, or none.
final class CountedFiles: FileSystem {
  struct State {
    var isCached = true
    /// Whether the bytes cannot be read.
    var isBroken = false
    /// The bytes that were read from bodies with files of their own.
    var bytesRead = 0
  }

  let state = Mutex(State())
  private let base = POSIXFileSystem()

  func set(_ change: @Sendable (inout State) -> Void) { state.withLock { change(&$0) } }

  var bytesRead: Int { state.withLock { $0.bytesRead } }
  var uptime: Duration { base.uptime }

  func createDirectory(_ path: FilePath, withParents: Bool) throws(FileFailure) {
    try base.createDirectory(path, withParents: withParents)
  }
  func makePrivate(_ directory: FilePath) throws(FileFailure) { try base.makePrivate(directory) }
  func open(_ path: FilePath, creating: Bool) throws(FileFailure) -> any HTTPCacheStore.File {
    CountedFile(try base.open(path, creating: creating), self)
  }
  func openAtOnce(_ path: FilePath) -> (any HTTPCacheStore.File)? { try? open(path, creating: false) }
  func list(_ directory: FilePath) throws(FileFailure) -> [String] { try base.list(directory) }
  func unlink(_ path: FilePath) throws(FileFailure) { try base.unlink(path) }
  func syncDirectory(_ path: FilePath) throws(FileFailure) { try base.syncDirectory(path) }
}

private final class CountedFile: HTTPCacheStore.File {
  private let base: any HTTPCacheStore.File
  private let system: CountedFiles
  private let isBody: Bool

  init(_ base: any HTTPCacheStore.File, _ system: CountedFiles) {
    (self.base, self.system) = (base, system)
    isBody = base.path.lastComponent?.string.hasPrefix("body-") == true
  }

  var path: FilePath { base.path }
  func size() throws(FileFailure) -> Int { try base.size() }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(FileFailure) -> Int {
    let count = try base.read(into: buffer, at: offset)
    let isBroken = system.state.withLock { state in
      if isBody { state.bytesRead += count }
      return state.isBroken
    }
    if isBody, isBroken, count > 0 { buffer[0] ^= 1 }
    return count
  }

  func readAtOnce(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Bool {
    guard !isBody || system.state.withLock({ $0.isCached && !$0.isBroken }) else { return false }
    return (try? read(into: buffer, at: offset)) == buffer.count
  }

  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(FileFailure) {
    try base.write(buffer, at: offset)
  }
  func truncate(to size: Int) throws(FileFailure) { try base.truncate(to: size) }
  func sync() throws(FileFailure) { try base.sync() }
  func tryLock() throws(FileFailure) -> Bool { try base.tryLock() }
}

extension HTTPCache {
  /// Calls `work` with a cache that has stored ``contentBytes(_:from:)`` under paths: in memory, or in files.
  static func withContents(
    _ sizes: [String: Int], inFiles: Bool, transit: Int = 64 << 20,
    _ work: (HTTPCache, CountedFiles) async throws -> Void
  ) async throws {
    try await withTemporaryDirectory { directory in
      let (files, clock) = (CountedFiles(), ManualClock(Timestamp(seconds: 1_000_000)))
      var configuration = CacheStore.Configuration(memoryCapacity: 64 << 20)
      if inFiles {
        configuration = .init(memoryCapacity: 64 << 20, diskCapacity: 64 << 20, directory: directory)
        configuration.largeBodyThreshold = 0
      }
      var options = HTTPCache.Configuration(kind: .shared)
      options.transitCapacity = 64 << 20
      let store = try CacheStore(configuration, files: files)
      let filling = HTTPCache(store: store, configuration: options, clock: clock)
      for (path, size) in sizes {
        let request = HTTPRequest(method: .get, scheme: "http", authority: "a", path: path)
        let response = try await filling.respond(to: request) { _, _ in
          TransportResponse(
            head: HTTPResponse(
              status: .ok, headerFields: [.cacheControl: "max-age=3600", .contentLength: "\(size)"]),
            body: MessageBody(contentBytes(size)))
        }
        #expect(try await response.body.collect(upTo: .max).count == size)
      }
      files.set { $0.bytesRead = 0 }
      options.transitCapacity = transit
      try await work(HTTPCache(store: store, configuration: options, clock: clock), files)
    }
  }
}
