// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Lists of stored responses", .timeLimit(.minutes(10)))
struct ListingTests {
  private typealias Listed = HTTPCache.ListedResponse

  /// Answers with the path, or with 300,000 bytes for `/large`.
  private let origin = MemoryOrigin { request, _ in
    let path = request.path ?? ""
    // Variants with one tag would share their content.
    let tag = "\"\(request.headerFields[.acceptLanguage] ?? "")\""
    var fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: tag, .vary: "Accept-Language"]
    if path.hasPrefix("/a"), let groups = HTTPField.Name("Cache-Groups") { fields[groups] = "\"a\"" }
    return .ok(path == "/large" ? String(repeating: "x", count: 300_000) : path, fields).confirmed(
      by: request)
  }

  private func list(_ cache: HTTPCache, _ selection: HTTPCache.Selection = .all) async -> [Listed] {
    var all: [Listed] = []
    for await response in cache.storedResponses(selection) { all.append(response) }
    return all
  }

  private func paths(_ cache: HTTPCache, _ selection: HTTPCache.Selection = .all) async -> [String] {
    await list(cache, selection).map { String($0.url.dropFirst("https://example.test".count)) }.sorted()
  }

  private func store(_ paths: some Sequence<String>, in setting: Setting) async throws {
    for path in paths { _ = try await setting.get(path, from: origin) }
  }

  @Test(
    "The requests that stored responses answer are found, for a URL and for a pattern",
    arguments: [true, false])
  func requests(onDisk: Bool) async throws {
    try await withTemporaryDirectory { directory in
      let setting = try Setting(directory: onDisk ? directory : nil)
      let languages: [String?] = ["de", "en", nil, "de"]
      for path in ["/a", "/large"] {
        for language in languages {
          var fields = HTTPFields()
          if let language { fields[.acceptLanguage] = language }
          _ = try await setting.get(path, from: origin, fields: fields)
        }
      }
      try await store(["/b"], in: setting)
      let all: [(HTTPCache.Selection, [String])] = [
        (.all, ["/a", "/b", "/large"]), (.patterns([.prefix("https://example.test/a")]), ["/a"]),
        (.target(try #require(TargetURI(absolute: "https://example.test/large"))), ["/large"]),
        (.group("a"), ["/a"]), (.target(try #require(TargetURI(absolute: "https://example.test/c"))), []),
      ]
      for (selection, paths) in all {
        let expected = paths.flatMap { path in
          (path == "/b" ? [nil] : [nil, "de", "en"]).map { language in
            var fields = HTTPFields()
            if let language { fields[.acceptLanguage] = language }
            return HTTPCache.StoredRequest(url: "https://example.test\(path)", fields: fields)
          }
        }
        var found = HTTPCache.StoredRequests(room: (100, 10_000))
        await setting.cache.addRequests(of: selection, to: &found)
        #expect(found.requests == Set(expected) && found.left == 0 && !found.isFull)
        var few = HTTPCache.StoredRequests(room: (2, 10_000))
        await setting.cache.addRequests(of: selection, to: &few)
        #expect(few.requests.count == Swift.min(2, expected.count))
        #expect(few.requests.isSubset(of: Set(expected)))
        #expect(few.isFull == (expected.count > 2))
        var small = HTTPCache.StoredRequests(room: (100, 40))
        await setting.cache.addRequests(of: selection, to: &small)
        #expect(small.requests.count == Swift.min(1, expected.count))
      }
      setting.cache.close()
    }
  }

  @Test("Each stored response is listed once, with its sizes, in memory, on disk, and after the next opening")
  func tiers() async throws {
    let paths = ["/a", "/b?x=1", "/large"] + (0..<600).map { "/\($0)" }
    let inMemory = try Setting()
    try await store(paths, in: inMemory)
    let listed = await list(inMemory.cache)
    #expect(await self.paths(inMemory.cache) == paths.sorted())
    #expect(listed.allSatisfy { $0.memoryBytes > $0.contentLength && $0.diskBytes == 0 })
    #expect(listed.reduce(0) { $0 + $1.memoryBytes } <= inMemory.cache.usage.memoryBytes)

    try await withTemporaryDirectory { directory in
      let first = try Setting(directory: directory)
      try await store(paths, in: first)
      #expect(await self.paths(first.cache) == paths.sorted())
      let large = await list(first.cache).first { $0.url.hasSuffix("/large") }
      #expect(large?.contentLength == 300_000 && large?.memoryBytes == 0)
      let small = await list(first.cache).first { $0.url.hasSuffix("/b?x=1") }
      #expect(small?.memoryBytes ?? 0 > 0 && small?.diskBytes ?? 0 > 0)
      first.cache.close()
      #expect(await list(first.cache).isEmpty)

      let second = try Setting(directory: directory)
      let again = await list(second.cache)
      #expect(again.map(\.url).sorted() == paths.map { "https://example.test" + $0 }.sorted())
      #expect(again.allSatisfy { $0.memoryBytes == 0 })
      #expect(again.reduce(0) { $0 + $1.diskBytes } == second.cache.usage.diskLiveBytes)
      #expect(Set(again.map(\.storedAt)) == [second.clock.wallTime])
      second.cache.close()
    }
  }

  @Test("Variants, methods, partitions and partial contents are told apart", arguments: [false, true])
  func kinds(isOnDisk: Bool) async throws {
    try await withTemporaryDirectory { directory in
      let setting = try Setting(directory: isOnDisk ? directory : nil)
      let cache = setting.cache
      for number in 0..<12 {
        _ = try await setting.get("/many", from: origin, fields: [.acceptLanguage: "x-\(number)"])
      }
      let one = try await cache.respond(to: .get("/own"), partition: "p", transport: origin.transport)
      _ = try await one.text
      var query = HTTPRequest.get("/query")
      query.method = try #require(HTTPRequest.Method(rawValue: "QUERY"))
      let two = try await cache.respond(
        to: query, body: MessageBody(Array("select".utf8)), transport: origin.transport)
      _ = try await two.text
      let text = MemoryOrigin(text: "0123456789")
      _ = try await setting.get("/part", from: text, fields: [.range: "bytes=2-4"])

      let all = Dictionary(grouping: await list(cache)) { $0.url.dropFirst("https://example.test".count) }
      #expect(all["/many"]?.count == 12 && all.count == 4)
      #expect(all["/own"]?.map(\.partition) == ["p"] && all["/many"]?.first?.partition == "")
      #expect(all["/query"]?.map(\.method.rawValue) == ["QUERY"] && all["/own"]?.first?.method == .get)
      #expect(all["/part"]?.map(\.isComplete) == [false] && all["/part"]?.first?.contentLength == 3)
      #expect(all["/own"]?.allSatisfy { $0.isComplete && $0.status == .ok } ?? false)

      // The anchor of the QUERY and the index of the variants go, and what they lead to is not listed.
      cache.remove(.target(of: query))
      cache.remove(.target(of: .get("/many")))
      #expect(await paths(cache) == ["/own", "/part"])
      cache.close()
    }
  }

  @Test("A list has what a selection selects, and nothing that was removed", arguments: [false, true])
  func selections(isOnDisk: Bool) async throws {
    try await withTemporaryDirectory { directory in
      let setting = try Setting(directory: isOnDisk ? directory : nil)
      let (cache, target) = (
        setting.cache, TargetURI(scheme: "https", authority: "example.test", path: "/a/1")
      )
      try await store(["/a/1", "/a/2", "/b/1"], in: setting)
      setting.clock.advance(by: .seconds(10))
      try await store(["/c"], in: setting)
      let time = setting.clock.wallTime
      #expect(await paths(cache, .target(target)) == ["/a/1"])
      #expect(await paths(cache, .patterns([.glob("https://example.test/*/1")])) == ["/a/1", "/b/1"])
      #expect(await paths(cache, .patterns([])).isEmpty)
      #expect(await paths(cache, .group("a", of: target)) == ["/a/1", "/a/2"])
      #expect(await paths(cache, .origin(of: target)) == ["/a/1", "/a/2", "/b/1", "/c"])
      #expect(await paths(cache, .partition("p")).isEmpty)
      #expect(await paths(cache, .since(time)) == ["/c"])
      #expect(await paths(cache, .before(time)) == ["/a/1", "/a/2", "/b/1"])
      // Only marked, so that its bytes are still there.
      cache.remove(.group("a", of: target))
      #expect(await paths(cache) == ["/b/1", "/c"])
      cache.remove(.origin(of: target))
      #expect(await list(cache).isEmpty)
      cache.close()
    }
  }

  @Test("What is removed or stored while a list is read is not in its later pages", arguments: [false, true])
  func changes(isOnDisk: Bool) async throws {
    try await withTemporaryDirectory { directory in
      let setting = try Setting(directory: isOnDisk ? directory : nil)
      try await store((0..<2000).map { "/old/\($0)" }, in: setting)
      var iterator = setting.cache.storedResponses().makeAsyncIterator()
      _ = try #require(await iterator.next())
      setting.cache.remove(.patterns([.prefix("https://example.test/old/")]))
      try await store(["/new"], in: setting)
      var count = 1
      while let response = await iterator.next() {
        #expect(response.url.contains("/old/"))
        count += 1
      }
      // The first page is some hundred responses.
      #expect(count < 1000)
      #expect(setting.cache.usage.memoryEntries == 1)
      setting.cache.close()
    }
  }

  @Test("A list ends when its task is cancelled")
  func cancelled() async throws {
    let setting = try Setting()
    try await store(["/a"], in: setting)
    let gate = Gate()
    let task = Task { [cache = setting.cache] in
      await gate.pass()
      return await cache.storedResponses().reduce(0) { count, _ in count + 1 }
    }
    task.cancel()
    gate.open()
    #expect(await task.value == 0)
  }
}
