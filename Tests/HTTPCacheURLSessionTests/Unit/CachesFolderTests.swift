// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import TestSupport
import Testing

@testable import HTTPCacheURLSession

@Suite("The folders of caches", .timeLimit(.minutes(10)))
struct CachesFolderTests {
  @Test(
    "The XDG variable decides if it is absolute, then the home directory",
    arguments: [
      (["XDG_CACHE_HOME": "/x/caches", "HOME": "/h"], "/x/caches"),
      (["XDG_CACHE_HOME": "", "HOME": "/h"], "/h/.cache"),
      (["XDG_CACHE_HOME": "caches", "HOME": "/h"], "/h/.cache"),
      (["XDG_CACHE_HOME": "~/caches", "HOME": "/h"], "/h/.cache"), (["HOME": "/h"], "/h/.cache"),
      (["HOME": ""], "/users/u/.cache"), (["HOME": "h"], "/users/u/.cache"), ([:], "/users/u/.cache"),
    ])
  func place(environment: [String: String], path: String) {
    let home = URL(fileURLWithPath: "/users/u")
    #expect(CachesFolder.caches(environment: environment, home: home).path == path)
  }

  @Test("Without a home directory, the folder is the one for temporary files")
  func noHome() {
    let folder = CachesFolder.caches(environment: [:], home: nil)
    #expect(folder == FileManager.default.temporaryDirectory)
  }

  enum Folder: CaseIterable {
    case unreadable, inUse, foreign
  }

  @Test(
    "A folder in use, an unusable one and an unreadable cache are one event of the disk",
    arguments: Folder.allCases)
  func events(kind: Folder) async throws {
    let isUnreadable = kind == .unreadable
    var other: HTTPURLCache?
    defer { other?.cache.close() }
    let folder = temporaryURL()
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    if isUnreadable {
      HTTPURLCache(memoryCapacity: 0, diskCapacity: 4 << 20, directory: folder).cache.close()
      let format = folder.appendingPathComponent("format")
      var bytes = try Data(contentsOf: format)
      bytes[bytes.count / 2] ^= 0xFF
      try bytes.write(to: format)
    } else if kind == .inUse {
      other = HTTPURLCache(memoryCapacity: 0, diskCapacity: 4 << 20, directory: folder)
    } else {
      try Data([1]).write(to: folder.appendingPathComponent("notes.txt"))
    }
    let seen = Recorder<CacheEvent>()
    var configuration = HTTPCache.Configuration(diskCapacity: 4 << 20, directory: folder)
    configuration.observe { seen.add($0) }
    let cache = HTTPURLCache(configuration)
    let event = try #require(seen.all.first)
    #expect(event.action == (isUnreadable ? .diskDiscarded : .diskUnavailable))
    let cause = event.cause as? StoreError
    #expect((cause?.code == .directoryInUse) == (kind == .inUse))
    #expect(cause != nil && cause == cache.diskError as? StoreError)
    #expect((cache.cache.store.discarded == cause) == isUnreadable)
    #expect(cache.diskCapacity == (isUnreadable ? 4 << 20 : 0))
    cache.cache.close()
    #expect(seen.all.count == 1)
  }
}
