// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Pinned targets", .timeLimit(.minutes(10)))
struct PinnedTargetTests {
  /// Loads other targets, of twice the capacity of the disk.
  private func churn(_ setting: Setting) async throws {
    let content = String(repeating: "x", count: 100_000)
    let origin = MemoryOrigin { _, _ in .ok(content) }
    for number in 0..<340 { _ = try await setting.get("/other/\(number)", from: origin) }
    #expect(setting.cache.store.usage.diskBytes <= setting.cache.store.capacity.disk)
  }

  @Test("A pinned response outlasts eviction and reopening, and is served by the same rules as before")
  func kept() async throws {
    try await withTemporaryDirectory { directory in
      var setting = try Setting(directory: directory)
      let origin = MemoryOrigin.varyingOnLanguage()
      for language in ["de", "en"] {
        _ = try await setting.get("/a", from: origin, fields: [.acceptLanguage: language])
      }
      try setting.cache.pin(.get("/a"))
      #expect(setting.cache.isPinned(.get("/a")) && !setting.cache.isPinned(.get("/b")))
      try await churn(setting)
      setting.cache.close()
      setting = try Setting(directory: directory)
      try await churn(setting)
      for language in ["de", "en"] {
        let answer = try await setting.get("/a", from: origin, fields: [.acceptLanguage: language])
        #expect(answer.source == .hit && answer.text == language)
      }
      let pinned = try #require(setting.cache.pinned.first)
      #expect(pinned.url == "https://example.test/a" && pinned.partition == "" && pinned.isProtected)
      #expect(pinned.responseCount == 2 && pinned.byteCount == setting.cache.store.usage.pinnedBytes)
      setting.clock.advance(seconds: 100)
      let late = try await setting.get("/a", from: origin, fields: [.acceptLanguage: "de"])
      #expect(late.source == .network && setting.cache.isPinned(.get("/a")))
      #expect(try setting.cache.unpin(.get("/a")))
      #expect(try !setting.cache.unpin(.get("/a")))
      setting.cache.close()
    }
  }

  @Test("An unsafe request and a purge by pattern remove a pinned response and leave the pin")
  func invalidated() async throws {
    try await withTemporaryDirectory { directory in
      let setting = try Setting(directory: directory)
      let origin = MemoryOrigin { request, number in .ok("\(number)") }
      for path in ["/a", "/b", "/c"] {
        _ = try await setting.get(path, from: origin)
        try setting.cache.pin(.get(path))
      }
      var post = HTTPRequest.get("/a")
      post.method = .post
      _ = try await setting.cache.respond(to: post, transport: origin.transport)
      #expect(setting.cache.remove(.patterns([.prefix("https://example.test/b")])).count == 1)
      #expect(setting.cache.pinned.map(\.responseCount) == [0, 0, 1])
      for path in ["/a", "/b"] { #expect(try await setting.get(path, from: origin).source == .network) }
      #expect(setting.cache.pinned.allSatisfy { $0.responseCount == 1 && $0.isProtected })
      #expect(setting.cache.remove(.target(of: .get("/c"))).count == 1)
      #expect(setting.cache.pinned.map(\.url) == ["https://example.test/a", "https://example.test/b"])
      setting.cache.remove(.all)
      #expect(setting.cache.pinned.isEmpty)
      setting.cache.close()
    }
  }

  @Test("Removing a partition removes its pins, and no others", arguments: ["ann", ""])
  func partitions(removed: String) async throws {
    try await withTemporaryDirectory { directory in
      let setting = try Setting(directory: directory)
      for partition in [removed, "bob"] { try setting.cache.pin(.get("/a"), partition: partition) }
      #expect(!setting.cache.isPinned(.get("/a"), partition: "eve"))
      #expect(setting.cache.isPinned(.get("/a"), partition: removed))
      setting.cache.remove(.partition(removed))
      #expect(setting.cache.pinned.map(\.partition) == ["bob"])
      setting.cache.close()
    }
  }

  @Test("A pin keeps the response that No-Vary-Search shares, until its last target is unpinned")
  func shared() async throws {
    try await withTemporaryDirectory { directory in
      let setting = try Setting(directory: directory) { $0.rules.usesNoVarySearch = true }
      let name = try #require(HTTPField.Name("No-Vary-Search"))
      let origin = MemoryOrigin { _, number in
        .ok("\(number)", [.cacheControl: "max-age=60", name: "params=(\"utm\")"])
      }
      _ = try await setting.get("/a?utm=1", from: origin)
      try setting.cache.pin(.get("/a?utm=1"))
      try setting.cache.pin(.get("/a?utm=2"))
      #expect(setting.cache.pinned.count == 2)
      try setting.cache.unpin(.get("/a?utm=2"))
      try await churn(setting)
      #expect(try await setting.get("/a?utm=3", from: origin).source == .hit)
      try setting.cache.unpin(.get("/a?utm=1"))
      #expect(setting.cache.store.pinned.isEmpty)
      setting.cache.close()
    }
  }

  @Test("Pinning without a disk, or without a URL, throws")
  func errors() throws {
    let setting = try Setting()
    #expect(#expect(throws: StoreError.self) { try setting.cache.pin(.get("/a")) }?.code == .noDisk)
    var request = HTTPRequest.get("/a")
    (request.scheme, request.authority) = (nil, nil)
    let error = #expect(throws: HTTPCacheError.self) { try setting.cache.pin(request) }
    #expect(error?.code == .noTarget && error?.description.contains("use http or https") == true)
    #expect(setting.cache.pinned.isEmpty && !setting.cache.isPinned(request))
  }
}
