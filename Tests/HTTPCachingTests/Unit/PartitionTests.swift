// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@Suite("Partitions of a store", .timeLimit(.minutes(10)))
struct PartitionTests {
  /// Answers with a number and the partition that the test gives in a field.
  private let origin = MemoryOrigin { request, number in
    var fields: HTTPFields = [.cacheControl: "max-age=60"]
    if let name = HTTPField.Name("No-Vary-Search"), request.path?.hasPrefix("/nvs") == true {
      fields[name] = "params=(\"x\")"
    }
    return .ok("\(number)", fields)
  }

  private func send(
    _ setting: Setting, _ partition: String?, _ path: String = "/", method: HTTPRequest.Method = .get,
    content: String = ""
  ) async throws -> CachedResponse.Source {
    var request = HTTPRequest.get(path)
    request.method = method
    let response = try await setting.cache.respond(
      to: request, body: MessageBody(Array(content.utf8)), partition: partition, transport: origin.transport)
    _ = try await response.body.collect(upTo: .max)
    return response.source
  }

  @Test("A request's own partition overrides the configuration's and is part of the key")
  func keys() async throws {
    let setting = try Setting { $0.partition = "a" }
    #expect(try await send(setting, nil) == .network)
    #expect(try await send(setting, "a") == .hit)
    #expect(try await send(setting, "b") == .network)
    #expect(try await send(setting, "") == .network)
    #expect(try await send(setting, "b") == .hit)
    #expect(setting.cache.storedResponse(for: .get(), partition: "b") != nil)
    #expect(setting.cache.storedResponse(for: .get(), partition: "c") == nil)
    #expect(setting.log.all.filter { $0.action == .stored }.map(\.partition) == ["a", "b", ""])
  }

  @Test("Concurrent requests of two partitions are not coalesced")
  func flights() async throws {
    let (setting, gate) = (try Setting(), Gate())
    let slow = MemoryOrigin(holding: [gate]) { _, number in .ok("\(number)") }
    async let first = setting.cache.respond(to: .get(), partition: "a", transport: slow.transport)
    async let second = setting.cache.respond(to: .get(), partition: "b", transport: slow.transport)
    await gate.arrived(2)
    gate.open()
    _ = try await (first, second)
    #expect(slow.requests.count == 2)
  }

  @Test("Invalidations and removals stay within their partition")
  func invalidation() async throws {
    let setting = try Setting()
    for partition in ["a", "b"] { #expect(try await send(setting, partition) == .network) }
    #expect(try await send(setting, "a", method: .post) == .network)
    #expect(try await send(setting, "b") == .hit)
    #expect(try await send(setting, "a") == .network)
    setting.cache.remove(.target(of: .get(), partition: "a"))
    #expect(try await send(setting, "b") == .hit)
    #expect(try await send(setting, "a") == .network)
    setting.cache.remove(.origin(of: try #require(TargetURI(.get())), partition: "b"))
    #expect(try await send(setting, "a") == .hit)
    #expect(try await send(setting, "b") == .network)
  }

  /// What removes the responses for one target in every partition, each in its own way.
  enum Way: CaseIterable { case target, pattern, glob, origin, group }

  @Test(
    "While a rule makes partitions, a removal without one reaches all of them, and nothing else",
    arguments: Way.allCases, [false, true])
  func everyPartition(way: Way, isSoft: Bool) async throws {
    let setting = try Setting(kind: .shared) { $0.rules.tagFields = ["X-Tags"] }
    let field = try #require(HTTPField.Name("X-Tenant"))
    setting.cache.cacheRules = try CacheRules([CacheRule { $0.partitionField = field.rawName }])
    let tags = try #require(HTTPField.Name("X-Tags"))
    let origin = MemoryOrigin { request, number in
      var fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"\(number)\""]
      fields[tags] = request.path == "/a" ? "t" : "u"
      return .ok("\(number)", fields)
    }
    func sources(_ path: String, host: String = "a.example") async throws -> [CachedResponse.Source] {
      var sources: [CachedResponse.Source] = []
      for tenant in ["", "b", "https://a.example/a"] {
        var request = HTTPRequest.get(path)
        request.authority = host
        request.headerFields[field] = tenant.isEmpty ? nil : tenant
        let response = try await setting.cache.respond(to: request, transport: origin.transport)
        _ = try await response.body.collect(upTo: .max)
        sources.append(response.source)
      }
      return sources
    }
    for _ in 0..<2 {
      _ = try await (sources("/a"), sources("/b"), sources("/a", host: "b.example"))
    }
    let target = try #require(TargetURI(absolute: "https://a.example/a"))
    let selection: HTTPCache.Selection =
      switch way {
      case .target: .target(target)
      case .pattern: .patterns([.prefix("https://a.example/a")])
      case .glob: .patterns([.glob("*://a.example/a")])
      case .origin: .origin(of: target)
      case .group: .group("t", of: target)
      }
    let result = isSoft ? setting.cache.expire(selection) : setting.cache.remove(selection, counting: true)
    #expect(result.count == (way == .origin ? 6 : 3))
    #expect(try await !sources("/a").contains(.hit))
    #expect(try await sources("/b").allSatisfy { ($0 == .hit) == (way != .origin) })
    #expect(try await sources("/a", host: "b.example").allSatisfy { $0 == .hit })
    // A removal that names a partition stays within it.
    setting.cache.remove(.target(target, partition: "b"))
    #expect(try await sources("/a").map { $0 == .hit } == [true, false, true])
  }

  @Test(
    "In every partition, a removal of a target reaches what its queries share, QUERY and pins, on disk, too")
  func everyKind() async throws {
    try await withTemporaryDirectory { directory async throws in
      let setting = try Setting(kind: .shared, directory: directory) { $0.rules.usesNoVarySearch = true }
      setting.cache.cacheRules = try CacheRules([CacheRule { $0.partitionField = "X-Tenant" }])
      let query = try #require(HTTPRequest.Method(rawValue: "QUERY"))
      for expected in [CachedResponse.Source.network, .hit] {
        for partition in ["a", ""] {
          #expect(try await send(setting, partition, "/nvs?x=1") == expected)
          #expect(try await send(setting, partition, "/q") == expected)
          #expect(try await send(setting, partition, "/q", method: query, content: "q") == expected)
        }
      }
      try setting.cache.pin(.get("/q"), partition: "a")
      for path in ["/q", "/nvs?x=2"] { setting.cache.remove(.target(of: .get(path))) }
      #expect(!setting.cache.isPinned(.get("/q"), partition: "a"))
      setting.cache.close()
      let again = try Setting(kind: .shared, directory: directory) { $0.rules.usesNoVarySearch = true }
      for partition in ["a", ""] {
        #expect(try await send(again, partition, "/nvs?x=1") == .network)
        #expect(try await send(again, partition, "/q") == .network)
        #expect(try await send(again, partition, "/q", method: query, content: "q") == .network)
      }
      again.cache.close()
    }
  }

  @Test("Removing a partition removes its keys of every kind and no others", arguments: ["a", ""])
  func removal(removed: String) async throws {
    let setting = try Setting { $0.rules.usesNoVarySearch = true }
    let query = HTTPRequest.Method(rawValue: "QUERY")
    for expected in [CachedResponse.Source.network, .hit] {
      for partition in ["a", "ab", ""] {
        #expect(try await send(setting, partition) == expected)
        #expect(try await send(setting, partition, "/nvs?x=1") == expected)
        if let query { #expect(try await send(setting, partition, method: query, content: "q") == expected) }
      }
    }
    setting.cache.remove(.partition(removed))
    for partition in ["a", "ab", ""] {
      let expected: CachedResponse.Source = partition == removed ? .network : .hit
      #expect(try await send(setting, partition) == expected)
      #expect(try await send(setting, partition, "/nvs?x=2") == expected)
      if let query { #expect(try await send(setting, partition, method: query, content: "q") == expected) }
    }
    #expect(try await send(setting, removed) == .hit)
  }

  @Test("A removed partition stays removed after reopening", arguments: ["a", ""])
  func reopened(removed: String) async throws {
    try await withTemporaryDirectory { directory async throws in
      var setting = try Setting(directory: directory)
      for partition in [removed, "b"] { #expect(try await send(setting, partition) == .network) }
      setting.cache.remove(.partition(removed))
      setting.cache.close()
      setting = try Setting(directory: directory)
      #expect(try await send(setting, "b") == .hit)
      #expect(try await send(setting, removed) == .network)
      setting.cache.close()
    }
  }

  @Test("Credentials reach neither memory nor disk, though a response varies on them")
  func credentials() async throws {
    try await withTemporaryDirectory { directory async throws in
      let setting = try Setting(directory: directory) { $0.rules.withheldFields += ["Set-Cookie"] }
      let origin = MemoryOrigin { request, _ in
        .ok(
          "for \(request.headerFields[.authorization]?.count ?? 0)",
          [.cacheControl: "max-age=60", .vary: "Authorization, Cookie", .setCookie: "session=SECRET3"])
      }
      let fields: HTTPFields = [.authorization: "Bearer SECRET1", .cookie: "a=SECRET2"]
      #expect(try await setting.get(from: origin, fields: fields).text == "for 14")
      let hit = try await setting.get(from: origin, fields: fields)
      #expect(hit.source == .hit)
      #expect(hit.response.head.headerFields[.setCookie] == nil)
      let other = try await setting.get(
        from: origin, fields: [.authorization: "Bearer OTHER", .cookie: "a=SECRET2"])
      #expect(other.source == .network)
      let key = StoreKey(try #require(CacheKey(.get())).bytes)
      for entry in setting.cache.store.lookup(key) {
        #expect(!String(decoding: entry.metadata, as: UTF8.self).contains("SECRET"))
      }
      setting.cache.close()
      #expect(try files(in: directory).values.allSatisfy { !$0.contains("SECRET") })
      #expect(try files(in: directory).values.contains { $0.contains("for 14") })
    }
  }
}
