// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheURLSession
import HTTPTypes
import Loopback
import TestSupport
import Testing

@testable import TestTool

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Two processes with one directory", .timeLimit(.minutes(10)))
struct TwoProcessesTests {
  /// The files of a folder, with their content.
  private func files(in folder: URL) throws -> [String: Data] {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    return try Dictionary(
      uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: folder.appendingPathComponent($0))) })
  }

  @Test("The second process caches in memory, with one event, and the first one goes on undisturbed")
  func second() async throws {
    try await withTemporaryFolder { parent in
      let folder = parent.appendingPathComponent("cache")
      let origin = try await LoopbackOrigin.start { request in
        .init(fields: [.cacheControl: "max-age=3600"], body: "\(request.target) \(request.number)")
      }
      let first = HTTPURLCache(memoryCapacity: 1 << 20, diskCapacity: 8 << 20, directory: folder)
      let session = URLSession(configuration: .caching(with: first, base: .plain))
      func load(_ path: String) async throws -> (text: String, source: CachedResponse.Source?) {
        let url = try #require(URL(string: origin.url(path)))
        let (data, response) = try await session.data(from: url)
        return (String(decoding: data, as: UTF8.self), response.cacheStatus?.source)
      }
      do {
        #expect(try await load("/a").text == "/a 1")
        #expect(try await load("/b").text == "/b 2")
        first.cache.flush()
        let before = try files(in: folder)

        var work = Work(directory: folder.path, loads: [])
        work.fallsBack = true
        work.loads = ["/a", "/a", "/c", "/c"].map { Load(url: origin.url($0), way: .urlSession) }
        let (results, events) = try await OtherProcess.run(work)
        #expect(results.map(\.text) == ["/a 3", "/a 3", "/c 4", "/c 4"])
        #expect(results.map(\.source) == ["network", "hit", "network", "hit"])
        #expect(events.count == 1)
        let event = events.first ?? ""
        #expect(event.contains("the cache works in memory only"))
        #expect(event.contains("\(folder.path) is in use by process \(getpid())"), "\(event)")
        #expect(try files(in: folder) == before)

        // From the disk, and then a new response.
        first.clearMemory()
        for path in ["/a", "/b"] { #expect(try await load(path).source == .hit) }
        #expect(try await load("/d").text == "/d 5")
        first.cache.close()

        // The directory is free, and has what the first process stored.
        work.fallsBack = false
        work.loads = ["/a", "/b", "/d", "/c"].map { Load(url: origin.url($0), way: .urlSession) }
        let next = try await OtherProcess.run(work)
        #expect(next.results.map(\.text) == ["/a 1", "/b 2", "/d 5", "/c 6"])
        #expect(next.results.map(\.source) == ["hit", "hit", "hit", "network"])
        #expect(next.events == [])
      } catch {
        await origin.stop()
        throw error
      }
      session.finishTasksAndInvalidate()
      await origin.stop()
    }
  }
}
