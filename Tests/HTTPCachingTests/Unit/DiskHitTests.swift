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

@Suite("Hits on disk", .timeLimit(.minutes(10)))
struct DiskHitTests {
  /// Where a stored response is.
  enum Place: CaseIterable {
    case memory, pageCache, disk, damagedOnDisk
  }

  enum Request: CaseIterable {
    case get, head, range, notModified, staleAllowed

    var message: HTTPRequest {
      var request = HTTPRequest.get()
      switch self {
      case .get: break
      case .head: request.method = .head
      case .range: request.headerFields[.range] = "bytes=1000-1999"
      case .notModified: request.headerFields[.ifNoneMatch] = "\"1\""
      case .staleAllowed: request.headerFields[.cacheControl] = "max-stale=1000"
      }
      return request
    }

    var status: HTTPResponse.Status {
      switch self {
      case .get, .head, .staleAllowed: .ok
      case .range: .partialContent
      case .notModified: .notModified
      }
    }

    func expected(of text: String) -> [UInt8] {
      switch self {
      case .get, .staleAllowed: Array(text.utf8)
      case .head, .notModified: []
      case .range: Array(text.utf8.dropFirst(1000).prefix(1000))
      }
    }
  }

  /// Content in the record of its entry, or in a file of its own, which memory does not keep.
  enum Size: Int, CaseIterable {
    case record = 1024
    case ownFile = 44_000

    var text: String { String(repeating: "0123456789abcde\n", count: rawValue) }
  }

  @Test(
    "A hit on disk is answered at once if the page cache has it, as a hit in memory is",
    arguments: Place.allCases, Request.allCases.flatMap { request in Size.allCases.map { (request, $0) } })
  func hit(place: Place, asked: (Request, Size)) async throws {
    let ((request, size), text) = (asked, asked.1.text)
    try await withTemporaryDirectory { directory in
      let files = PageCache()
      var configuration = CacheStore.Configuration(
        memoryCapacity: 4 << 20, diskCapacity: 16 << 20, directory: directory)
      configuration.writeBuffer = 0
      let (clock, log) = (ManualClock(Timestamp(seconds: 1_700_000_000)), Recorder<CacheEvent>())
      var options = HTTPCache.Configuration()
      options.observe { log.add($0) }
      let store = try CacheStore(configuration, files: files)
      let cache = HTTPCache(store: store, configuration: options, clock: clock)
      let origin = MemoryOrigin { _, _ in .ok(text, [.cacheControl: "max-age=60", .eTag: "\"1\""]) }
      let stored = try await cache.respond(to: .get(), transport: origin.transport)
      #expect(try await stored.body.collect(upTo: .max).count == text.utf8.count)
      if place != .memory { store.clearMemory() }
      if request == .staleAllowed { clock.advance(seconds: 100) }
      files.state.withLock {
        $0 = PageCache.State(hasAll: place == .pageCache, isDamaged: place == .damagedOnDisk)
      }
      let isInMemory = place == .memory && size == .record
      let isAtOnce = isInMemory || place == .pageCache
      let response: CachedResponse
      switch cache.begin(request.message) {
      case .answer(let answer):
        #expect(isAtOnce)
        response = answer
      case .pending(let pending):
        #expect(!isAtOnce)
        response = try await cache.respond(to: pending, transport: origin.transport)
      }
      let content = try await response.body.collect(upTo: .max)
      #expect((files.state.withLock { $0.waits } == 0) == isAtOnce, "a thread has waited for the disk")
      #expect(store.statistics.diskHits == (isInMemory || place == .damagedOnDisk ? 0 : 1))
      #expect(store.statistics.corruptRecords == (place == .damagedOnDisk ? 1 : 0))
      #expect(origin.requests.count == (place == .damagedOnDisk ? 2 : 1))
      guard place != .damagedOnDisk else { return }
      #expect(response.head.status == request.status && Array(content) == request.expected(of: text))
      #expect(response.source == (request == .staleAllowed ? .stale : .hit))
      let detail = request == .staleAllowed ? "hit; ttl=-40; detail=stale" : "hit; ttl=60; detail=fresh"
      #expect(response.cacheStatus.fieldValue.contains(detail), "\(response.cacheStatus.fieldValue)")
      let served = log.all.filter { $0.action == .served }
      #expect(served.map(\.source) == [response.source])
      #expect(served.map(\.byteCount) == [content.count])
      #expect(store.usage.memoryEntries == (size == .record ? 1 : 0), "a copy")
    }
  }
}

/// The machine's file system, with a page cache that has all bytes or none.
private final class PageCache: FileSystem {
  struct State {
    var hasAll = false
    var isDamaged = false
    /// Reads that may wait.
    var waits = 0
  }

  let state = Mutex(State())
  private let base = POSIXFileSystem()

  var uptime: Duration { base.uptime }

  func createDirectory(_ path: FilePath, withParents: Bool) throws(FileFailure) {
    try base.createDirectory(path, withParents: withParents)
  }

  func makePrivate(_ directory: FilePath) throws(FileFailure) { try base.makePrivate(directory) }

  func open(_ path: FilePath, creating: Bool) throws(FileFailure) -> any File {
    PageCacheFile(try base.open(path, creating: creating), self)
  }

  func openAtOnce(_ path: FilePath) -> (any File)? {
    state.withLock { $0.hasAll } ? try? open(path, creating: false) : nil
  }

  func list(_ directory: FilePath) throws(FileFailure) -> [String] { try base.list(directory) }
  func unlink(_ path: FilePath) throws(FileFailure) { try base.unlink(path) }
  func syncDirectory(_ path: FilePath) throws(FileFailure) { try base.syncDirectory(path) }
}

private final class PageCacheFile: File {
  private let base: any File
  private let system: PageCache

  init(_ base: any File, _ system: PageCache) { (self.base, self.system) = (base, system) }

  var path: FilePath { base.path }
  func size() throws(FileFailure) -> Int { try base.size() }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(FileFailure) -> Int {
    let isDamaged = system.state.withLock { state in
      state.waits += 1
      return state.isDamaged
    }
    let count = try base.read(into: buffer, at: offset)
    if isDamaged, count > 200 { buffer[200] ^= 1 }
    return count
  }

  func readAtOnce(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Bool {
    guard system.state.withLock({ $0.hasAll }) else { return false }
    return (try? base.read(into: buffer, at: offset)) == buffer.count
  }

  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(FileFailure) {
    try base.write(buffer, at: offset)
  }

  func truncate(to size: Int) throws(FileFailure) { try base.truncate(to: size) }
  func sync() throws(FileFailure) { try base.sync() }
  func tryLock() throws(FileFailure) -> Bool { try base.tryLock() }
}
