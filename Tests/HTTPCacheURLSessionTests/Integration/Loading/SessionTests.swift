// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import Loopback
import TestSupport
import Testing

@testable import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("A session with a cache over real sockets", .timeLimit(.minutes(10)))
struct SessionTests {
  @Test(
    "Two accounts get their own from an origin with one tag for all, and a reload replaces what it answers",
    arguments: [nil, "Accept-Language"])
  func accounts(vary: String?) async throws {
    let name = vary ?? "Authorization"
    try await Setting.with { request in
      let account = HTTPField.Name(name).flatMap { request.fields[$0] } ?? ""
      var fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\""]
      fields[.vary] = vary
      if request.fields[.cacheControl] == "no-cache" {
        return .init(status: 404, fields: [.cacheControl: "max-age=60"], body: "gone")
      }
      if request.fields[.ifNoneMatch] == "\"1\"" { return .init(status: 304, fields: fields, body: "") }
      return .init(fields: fields, body: account)
    } test: { (setting: Setting) async throws in
      for _ in 0..<2 {
        for account in ["anna", "bert"] {
          #expect(try await setting.load("/me", fields: [name: account]).text == account)
        }
      }
      #expect(setting.origin.requestCount == 2)
      setting.clock.advance(seconds: 61)
      for account in ["bert", "anna"] {
        let answer = try await setting.load("/me", fields: [name: account])
        #expect(answer.text == account && answer.source == .validated)
      }
      _ = try await setting.load(
        "/me", policy: .reloadIgnoringLocalCacheData, fields: [name: "anna", "Cache-Control": "no-cache"])
      #expect(try await setting.load("/me", fields: [name: "anna"]).text == "gone")
    }
  }

  @Test("A GET with content fails as it does without a cache")
  func getWithContent() async throws {
    try await Setting.with { _ in
      .init(fields: [.cacheControl: "max-age=600"], body: "plain")
    } test: { setting async throws in
      for _ in 0..<2 {
        #expect(try await setting.load("/a").text == "plain")
        await #expect(throws: URLError.self) {
          try await setting.load(setting.request("/a", body: Data([1, 2, 3])))
        }
      }
      #expect(setting.origin.requests.count == 1)
    }
  }

  @Test("The first load comes from the network, the second from the store without a request")
  func storesAndReuses() async throws {
    try await Setting.with { request in
      .init(fields: [.cacheControl: "max-age=60"], body: "answer \(request.number)")
    } test: { setting async throws in
      let first = try await setting.load("/a")
      #expect(first.text == "answer 1")
      #expect(first.source == .network)
      #expect(first.response.cacheStatus?.isStored == true)
      setting.clock.advance(seconds: 10)
      let second = try await setting.load("/a")
      #expect(second.text == "answer 1")
      #expect(second.source == .hit)
      #expect(second.response.cacheStatus?.age == .seconds(10))
      #expect(second.response.value(forHTTPHeaderField: "Age") == "10")
      #expect(setting.origin.requestCount == 1)
    }
  }

  @Test("A stale response is revalidated with a conditional request and served with its stored body")
  func validates() async throws {
    try await Setting.with { request in
      if request.fields[.ifNoneMatch] == "\"v1\"" {
        return .init(status: 304, fields: [.eTag: "\"v1\"", .cacheControl: "max-age=60"])
      }
      return .init(fields: [.eTag: "\"v1\"", .cacheControl: "max-age=60"], body: "content")
    } test: { setting async throws in
      #expect(try await setting.load().source == .network)
      setting.clock.advance(seconds: 61)
      let validated = try await setting.load()
      #expect(validated.response.statusCode == 200)
      #expect(validated.text == "content")
      #expect(validated.source == .validated)
      #expect(validated.response.cacheStatus?.forwardStatus == 304)
      #expect(setting.origin.requestCount == 2)
      #expect(try await setting.load().source == .hit)
      #expect(setting.origin.requestCount == 2)
    }
  }

  @Test("Different query strings are different resources")
  func queryIsPartOfTheKey() async throws {
    try await Setting.with { request in
      .init(fields: [.cacheControl: "max-age=60"], body: request.target)
    } test: { setting async throws in
      #expect(try await setting.load("/a?x=1").text == "/a?x=1")
      #expect(try await setting.load("/a?x=2").text == "/a?x=2")
      #expect(try await setting.load("/a?x=1").text == "/a?x=1")
      #expect(setting.origin.requestCount == 2)
    }
  }

  @Test("A response varies on the fields sent, including Accept-Encoding and the session's fields")
  func variesOnWhatIsSent() async throws {
    let base = URLSessionConfiguration.ephemeral
    base.httpAdditionalHeaders = ["X-Tenant": "blue"]
    let coding = SystemFields.acceptEncoding(scheme: "http")
    try await Setting.with(base: base) { request in
      let tenant = HTTPField.Name("X-Tenant").flatMap { request.fields[$0] } ?? "none"
      return .init(
        fields: [.cacheControl: "max-age=60", .vary: "X-Tenant, Accept-Encoding"],
        body: "\(tenant) \(request.fields[.acceptEncoding] ?? "none")")
    } test: { setting async throws in
      #expect(try await setting.load().text == "blue \(coding)")
      #expect(try await setting.load().source == .hit)
      let other = try await setting.load(fields: ["X-Tenant": "red"])
      #expect(other.text == "red \(coding)")
      #expect(other.reason == .storedWithLifetime)
      #expect(setting.origin.requestCount == 2)
    }
  }

  @Test("HEAD is answered from the stored GET response, without a body")
  func headFromGet() async throws {
    try await Setting.with { _ in
      .init(fields: [.cacheControl: "max-age=60"], body: "content")
    } test: { setting async throws in
      _ = try await setting.load()
      let head = try await setting.load(setting.request(method: "HEAD"))
      #expect(head.source == .hit)
      #expect(head.data.isEmpty)
      #expect(head.response.value(forHTTPHeaderField: "Content-Length") == "7")
      #expect(setting.origin.requestCount == 1)
    }
  }

  @Test("A QUERY reaches the origin with its content, and is reused for the same content only")
  func query() async throws {
    try await Setting.with { request in
      .init(
        fields: [.cacheControl: "max-age=60"],
        body: "\(request.number) " + String(decoding: request.body, as: UTF8.self))
    } test: { setting in
      func ask(_ content: String) async throws -> Answer {
        try await setting.load(
          setting.request(
            method: "QUERY", fields: ["Content-Type": "text/plain"], body: Data(content.utf8)))
      }
      #expect(try await ask("a").text == "1 a")
      #expect(try await ask("b").text == "2 b")
      let hit = try await ask("a")
      #expect(hit.text == "1 a")
      #expect(hit.source == .hit)
    }
  }

  @Test("A successful POST reaches the origin with its body and invalidates the stored response")
  func postInvalidates() async throws {
    try await Setting.with { request in
      .init(
        fields: [.cacheControl: "max-age=60"],
        body: "\(request.method) \(String(decoding: request.body, as: UTF8.self))")
    } test: { setting async throws in
      _ = try await setting.load()
      let post = try await setting.load(setting.request(method: "POST", body: Data("form".utf8)))
      #expect(post.text == "POST form")
      #expect(try await setting.load().source == .network)
      #expect(setting.origin.requestCount == 3)
    }
  }

  @Test("A response with no-store is not stored")
  func noStore() async throws {
    try await Setting.with { _ in
      .init(fields: [.cacheControl: "no-store"], body: "secret")
    } test: { setting async throws in
      let first = try await setting.load()
      #expect(first.reason == .responseNoStore)
      #expect(try await setting.load().source == .network)
      #expect(setting.cache.store.usage.memoryEntries == 0)
    }
  }

  @Test(
    "The cache status is that of this cache, whatever caches before it wrote",
    arguments: ["Edge; hit", "not a (structured field", "\"a, b\"; fwd=miss"])
  func upstreamCacheStatus(value: String) async throws {
    let name = try #require(HTTPField.Name("Cache-Status"))
    try await Setting.with { _ in
      .init(fields: [.cacheControl: "max-age=60", name: value], body: "x")
    } test: { setting async throws in
      for expected in [CachedResponse.Source.network, .hit] {
        let answer = try await setting.load()
        #expect(answer.source == expected)
        #expect(answer.response.value(forHTTPHeaderField: "Cache-Status")?.hasPrefix(value) == true)
      }
    }
  }

  @Test(
    "The cache status is readable with any cache name and with a key",
    arguments: ["a, \"b\"", "c\\", "Example CDN", "\""])
  func namedCache(name: String) async throws {
    try await Setting.with(
      configure: {
        $0.name = name
        $0.showsKeys = true
      }
    ) { _ in
      .init(fields: [.cacheControl: "max-age=60"], body: "x")
    } test: { setting async throws in
      #expect(try await setting.load("/?a,b").source == .network)
      #expect(try await setting.load("/?a,b").source == .hit)
    }
  }

  @Test("A response of a session without the cache has no cache status")
  func noStory() async throws {
    let name = try #require(HTTPField.Name("Cache-Status"))
    try await Setting.with { _ in
      .init(fields: [name: "Edge; hit"], body: "x")
    } test: { setting async throws in
      let session = URLSession(configuration: URLSessionConfiguration.plain)
      let (_, response) = try await session.data(for: setting.request())
      #expect(response.cacheStatus == nil)
      session.finishTasksAndInvalidate()
    }
  }

  @Test("Two sessions with two caches share nothing")
  func separateCaches() async throws {
    try await Setting.with { _ in
      .init(fields: [.cacheControl: "max-age=60"], body: "x")
    } test: { setting async throws in
      let other = try HTTPCache()
      let session = URLSession(configuration: .caching(with: other, base: .plain))
      _ = try await setting.load()
      let (_, response) = try await session.data(for: setting.request())
      #expect(response.cacheStatus?.source == .network)
      #expect(setting.origin.requestCount == 2)
      session.finishTasksAndInvalidate()
    }
  }

  @Test("A truncated response is an error and is not stored")
  func brokenBody() async throws {
    try await Setting.with { request in
      request.number == 1
        ? .init(
          fields: [.cacheControl: "max-age=60"], body: String(repeating: "x", count: 1000),
          ending: .cut(afterBytes: 500))
        : .init(fields: [.cacheControl: "max-age=60"], body: "whole")
    } test: { setting async throws in
      await #expect(throws: (any Error).self) { try await setting.load() }
      #expect(try await setting.load().text == "whole")
      #expect(setting.origin.requestCount == 2)
    }
  }

  @Test("The transport's own error reaches the caller when nothing is stored")
  func unreachable() async throws {
    try await Setting.with { _ in
      .init(body: "x")
    } test: { setting async throws in
      let request = try setting.request()
      await setting.origin.stop()
      let error = await #expect(throws: URLError.self) { try await setting.session.data(for: request) }
      #expect(error?.code == .cannotConnectToHost)
    }
  }

  @Test("64 concurrent identical requests cause one request to the origin", arguments: [1, 3])
  func collapses(rounds: Int) async throws {
    try await Setting.with { _ in
      .init(fields: [.cacheControl: "max-age=60"], body: String(repeating: "y", count: 20_000))
    } test: { setting async throws in
      for round in 1...rounds {
        try await withThrowingTaskGroup(of: Int.self) { group in
          for _ in 0..<64 { group.addTask { try await setting.load("/\(round)").data.count } }
          for try await count in group { #expect(count == 20_000) }
        }
        #expect(setting.origin.requestCount == round)
      }
    }
  }

  @Test("Cancelling one of several coalesced requests cancels no other")
  func cancellation() async throws {
    let (gate, watch) = (Gate(), CoalescingWatch())
    try await Setting.with(configure: { $0.tracer = watch }) { _ in
      await gate.wait()
      return .init(fields: [.cacheControl: "max-age=60"], body: "late")
    } test: { setting async throws in
      let first = Task { try await setting.load("/slow").text }
      await gate.arrived(1)
      let second = Task { try await setting.load("/slow").text }
      try await watch.followers(1)
      first.cancel()
      await #expect(throws: (any Error).self) { try await first.value }
      gate.open()
      #expect(try await second.value == "late")
      #expect(setting.origin.requestCount == 1)
    }
  }

  @Test(
    "Stored content found damaged while it is read is refetched, even during a completion",
    arguments: [true, false])
  func damagedContent(isWhole: Bool) async throws {
    let directory = temporaryURL()
    defer { try? FileManager.default.removeItem(at: directory) }
    let body = [UInt8](repeating: 7, count: 3 << 20)
    let count = isWhole ? body.count : 5 << 19
    let origin = try await LoopbackOrigin.start { request in
      var fields: HTTPFields = [.cacheControl: "max-age=3600", .eTag: "\"a\""]
      if request.fields[.range] != nil {
        fields[.contentRange] = "bytes \(count)-\(body.count - 1)/\(body.count)"
        return .init(status: 206, fields: fields, bytes: Array(body[count...]))
      }
      let isCut = !isWhole && request.number == 1
      return .init(fields: fields, bytes: body, ending: isCut ? .cut(afterBytes: count) : .whole)
    }
    let cache = try HTTPCache(.init(diskCapacity: 64 << 20, directory: directory))
    let session = URLSession(configuration: .caching(with: cache, base: .plain))
    let url = try #require(URL(string: origin.url("/")))
    if isWhole {
      _ = try await session.data(from: url)
      #expect(try await session.data(from: url).0.count == body.count)
    } else {
      await #expect(throws: URLError.self) { try await session.data(from: url) }
    }
    #expect(origin.requestCount == 1)
    let files = try FileManager.default.subpathsOfDirectory(atPath: directory.path).map {
      directory.appending(path: $0)
    }
    let large = try #require(
      try files.first {
        try Data(contentsOf: $0).count > count && $0.pathExtension != "log"
      })
    let handle = try FileHandle(forUpdating: large)
    try handle.seek(toOffset: 2 << 20)
    try handle.write(contentsOf: [1, 2, 3])
    try handle.close()
    #expect(Array(try await session.data(from: url).0) == body)
    #expect(origin.requestCount == (isWhole ? 2 : 3))
    #expect(cache.store.statistics.corruptRecords == 1)
    session.finishTasksAndInvalidate()
    cache.store.close()
    await origin.stop()
  }

  @Test(
    "The timeout of the request or the configuration limits the wait for the origin",
    arguments: [true, false])
  func timeout(isRequests: Bool) async throws {
    let gate = Gate()
    let base = URLSessionConfiguration.ephemeral
    if !isRequests { base.timeoutIntervalForRequest = 1 }
    try await Setting.with(base: base) { _ in
      await gate.wait()
      return .init(body: "late")
    } test: { setting async throws in
      var request = try setting.request()
      if isRequests { request.timeoutInterval = 1 }
      let error = await #expect(throws: URLError.self) { try await setting.load(request) }
      #expect(error?.code == .timedOut)
      #expect(error?.localizedDescription == "The origin did not answer within the request's timeout.")
      #expect(error?.failingURL == request.url)
      gate.open()
    }
  }

  @Test(
    "A URL reaches the origin and the caller as without the cache",
    arguments: [
      "", "/a%20b?q=%E2%82%AC&x=a+b", "/ü?q=€", "/a?b#fragment", "//double//slash", "/%2F..%2e/x", "?q",
      "/[x]|{y}?a[]=1", "/x;y=1,2'*()!$&", "/a/../b/./c",
    ])
  func unusualURL(path: String) async throws {
    try await Setting.with { request in
      .init(fields: [.cacheControl: "max-age=60"], body: request.target)
    } test: { setting async throws in
      let request = try setting.request(path)
      let plain = URLSession(configuration: URLSessionConfiguration.plain)
      let expected = String(decoding: try await plain.data(for: request).0, as: UTF8.self)
      for source in [CachedResponse.Source.network, .hit] {
        let answer = try await setting.load(request)
        #expect(answer.text == expected)
        #expect(answer.response.url == request.url)
        #expect(answer.source == source)
      }
      plain.finishTasksAndInvalidate()
    }
  }

  @Test("A truncated transfer is resumed, and ranges are answered from its stored part")
  func resumes() async throws {
    let content = String(repeating: "0123456789", count: 20_000)
    try await Setting.with { request in
      var fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\""]
      guard let range = request.fields[.range], let first = Int(range.dropFirst(6).dropLast()) else {
        return .init(fields: fields, body: content, ending: .cut(afterBytes: 150_000))
      }
      fields[.contentRange] = "bytes \(first)-\(content.utf8.count - 1)/\(content.utf8.count)"
      return .init(status: 206, fields: fields, body: String(content.dropFirst(first)))
    } test: { setting async throws in
      await #expect(throws: URLError.self) { _ = try await setting.load() }
      let range = try await setting.load(setting.request(fields: ["Range": "bytes=5-9"]))
      #expect(range.text == "56789")
      #expect(range.source == .hit)
      #expect(range.response.statusCode == 206)
      let whole = try await setting.load()
      #expect(whole.text == content)
      #expect(whole.response.statusCode == 200)
      #expect(whole.response.cacheStatus?.forwardStatus == 206)
      #expect(try await setting.load().source == .hit)
      #expect(setting.origin.requests.count == 2)
      #expect(setting.origin.requests.last?.fields[.ifRange] == "\"1\"")
    }
  }
}
