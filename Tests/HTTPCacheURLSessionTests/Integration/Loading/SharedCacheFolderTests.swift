// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if os(Linux)
  import Foundation
  import HTTPCacheURLSession
  import TestSupport
  import Testing

  @Suite("The folder of the shared cache", .timeLimit(.minutes(10)))
  struct SharedCacheFolderTests {
    // In a process of its own, because the environment belongs to the whole process.
    @Test("The shared cache, no path and a relative path use the XDG folder, for this user only")
    func variable() async {
      await #expect(processExitsWith: .success) {
        let folder = temporaryURL()
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
  }
#endif
