// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import Synchronization
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

  #if os(Linux)
    // In a process of its own, because the environment belongs to the whole process.
    @Test("The shared cache, no path and a relative path use the XDG folder, for this user only")
    func variable() async {
      await #expect(processExitsWith: .success) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("httpcache-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let caches = folder.appendingPathComponent("new/caches")
        setenv("XDG_CACHE_HOME", caches.path, 1)
        let own = caches.appendingPathComponent(ProcessInfo.processInfo.processName)
        func holdsCache(_ name: String) -> Bool {
          FileManager.default.fileExists(atPath: own.appendingPathComponent("\(name)/format").path)
        }
        #expect(HTTPURLCache.shared.diskError == nil && holdsCache("HTTPURLCache"))
        HTTPURLCache.shared.cache.close()
        try FileManager.default.removeItem(at: own)
        for (path, name) in [
          (nil as String?, "HTTPURLCache"), ("", "HTTPURLCache"), ("images/small", "images/small"),
        ] {
          let cache = HTTPURLCache(memoryCapacity: 1 << 20, diskCapacity: 4 << 20, diskPath: path)
          #expect(cache.diskError == nil && holdsCache(name))
          cache.cache.close()
        }
        var made = own.appendingPathComponent("images/small")
        while made.path != folder.deletingLastPathComponent().path {
          let mode =
            try FileManager.default.attributesOfItem(atPath: made.path)[.posixPermissions] as? NSNumber
          #expect(mode?.intValue == 0o700, "\(made.path)")
          made = made.deletingLastPathComponent()
        }
      }
    }
  #endif

  @Test("An unusable folder and an unreadable cache are events of the disk", arguments: [true, false])
  func events(isUnreadable: Bool) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("httpcache-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    if isUnreadable {
      HTTPURLCache(memoryCapacity: 0, diskCapacity: 4 << 20, directory: folder).cache.close()
      let format = folder.appendingPathComponent("format")
      var bytes = try Data(contentsOf: format)
      bytes[bytes.count / 2] ^= 0xFF
      try bytes.write(to: format)
    } else {
      try Data([1]).write(to: folder.appendingPathComponent("notes.txt"))
    }
    let seen = Mutex<[DiskEvent]>([])
    let happened = DispatchSemaphore(value: 0)
    var configuration = HTTPCache.Configuration(diskCapacity: 4 << 20, directory: folder)
    configuration.diskObserver = { event in
      seen.withLock { $0.append(event) }
      happened.signal()
    }
    let cache = HTTPURLCache(configuration)
    #expect(happened.wait(timeout: .now() + 240) == .success)
    let event = try #require(seen.withLock { $0.first })
    #expect(event.kind == (isUnreadable ? .discarded : .unavailable))
    #expect(event.error != nil && event.error == cache.diskError as? StoreError)
    #expect((cache.cache.store.discarded == event.error) == isUnreadable)
    #expect(cache.diskCapacity == (isUnreadable ? 4 << 20 : 0))
    cache.cache.close()
    #expect(seen.withLock { $0.count } == 1)
  }
}
