// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheAsyncHTTPClient
import HTTPCacheTesting
import HTTPTypes
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@Suite("A server on SwiftNIO with the cache in front of its handler", .timeLimit(.minutes(10)))
struct AnyServerTests {
  private struct Unwell: Error {}

  /// Runs the server of the article until `body` returns.
  private func with(
    _ origin: MemoryOrigin, _ body: (_ url: String, HTTPCache, TestClock) async throws -> Void
  ) async throws {
    let clock = TestClock()
    let configuration = HTTPCache.Configuration(kind: .shared)
    let cache = HTTPCache(
      store: try CacheStore(configuration.store), configuration: configuration, clock: clock)
    let (ports, started) = AsyncStream.makeStream(of: Int.self)
    let server = Task {
      defer { started.finish() }
      try await CachedServer(cache: cache, handler: origin.transport).run(on: "127.0.0.1", port: 0) { port in
        if let port { started.yield(port) }
      }
    }
    var result = Result<Void, any Error>.success(())
    for await port in ports {
      do { try await body("http://127.0.0.1:\(port)", cache, clock) } catch { result = .failure(error) }
      server.cancel()
    }
    _ = await server.result
    cache.close()
    try result.get()
  }

  private func send(
    _ url: String, _ method: HTTPMethod = .GET, content: String? = nil
  ) async throws -> (status: UInt, source: String?, text: String) {
    var request = HTTPClientRequest(url: url)
    request.method = method
    if let content { request.body = .bytes(ByteBuffer(string: content)) }
    let response = try await HTTPClient.shared.execute(request, timeout: .minutes(4))
    let text = String(buffer: try await response.body.collect(upTo: 1 << 20))
    return (response.status.code, response.headers.first(name: "Cache-Status"), text)
  }

  private func expect(
    _ text: String, from url: String, _ method: HTTPMethod = .GET, content: String? = nil
  ) async throws {
    let answer = try await send(url, method, content: content)
    #expect(answer.text == text, "\(method) \(url)")
  }

  @Test("The code of the article is that of this test")
  func article() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    let code = try String(contentsOf: folder.appending(path: "CachedServer.swift"), encoding: .utf8)
    let path = "../../../../Sources/HTTPCaching/HTTPCaching.docc/CacheAnyServer.md"
    let article = try String(contentsOf: folder.appending(path: path).standardizedFileURL, encoding: .utf8)
    let block = try #require(article.components(separatedBy: "```swift\n").dropFirst().first)
    #expect(code.hasSuffix("\n\n" + (block.components(separatedBy: "```").first ?? "")))
  }

  @Test("A response is stored if its handler declares it, and removed by a change")
  func storing() async throws {
    let origin = MemoryOrigin { request, number in
      request.method == .put
        ? .ok("changed", [:])
        : .ok("\(number)", [.cacheControl: "no-store", .targeted: "max-age=60, stale-while-revalidate=60"])
    }
    try await with(origin) { url, cache, clock in
      try await expect("1", from: url)
      let hit = try await send(url)
      #expect(hit.text == "1" && hit.source?.contains("; hit") == true)
      let head = try await HTTPClient.shared.execute(Self.head(url), timeout: .minutes(4))
      #expect(head.headers["Content-Length"] == ["1"])
      try await expect("changed", from: url, .PUT, content: "new")
      try await expect("3", from: url)

      clock.advance(by: .seconds(61))
      let stored = cache.events(of: [.stored])
      try await expect("3", from: url)
      for await _ in stored { break }
      try await expect("4", from: url)
      #expect(origin.requests.count == 4)
    }
  }

  private static func head(_ url: String) -> HTTPClientRequest {
    var request = HTTPClientRequest(url: url)
    request.method = .HEAD
    return request
  }

  @Test("Content after an interim response arrives, stored or not", arguments: [nil, "max-age=60"])
  func interim(cacheControl: String?) async throws {
    let origin = MemoryOrigin { _, _ in
      TransportResponse(interim: HTTPResponse(status: .init(code: 103))) {
        .ok("page", cacheControl.map { [.cacheControl: $0] } ?? [:])
      }
    }
    try await with(origin) { url, _, _ in
      for _ in 1...2 { try await expect("page", from: url) }
      #expect(origin.requests.count == (cacheControl == nil ? 2 : 1))
    }
  }

  @Test("A response with a cookie is not stored by the field for the cache alone")
  func cookie() async throws {
    let origin = MemoryOrigin { _, number in
      .ok("\(number)", [.cacheControl: "no-store", .targeted: "max-age=60", .setCookie: "a=1"])
    }
    try await with(origin) { url, _, _ in
      for number in 1...2 { try await expect("\(number)", from: url) }
    }
  }

  @Test("Clients do not get the field that is for the cache alone")
  func targetedField() async throws {
    let origin = MemoryOrigin { _, _ in .ok("a", [.cacheControl: "no-store", .targeted: "max-age=60"]) }
    try await with(origin) { url, _, _ in
      for _ in 1...2 {
        let response = try await HTTPClient.shared.execute(HTTPClientRequest(url: url), timeout: .minutes(4))
        #expect(response.headers["HTTPCacheEngine-Cache-Control"].isEmpty)
        #expect(response.headers["Cache-Control"] == ["no-store"])
        _ = try await response.body.collect(upTo: 10)
      }
      #expect(origin.requests.count == 1)
    }
  }

  @Test("A response that declares nothing is passed on, as a whole or as a stream", arguments: [false, true])
  func passing(isStreamed: Bool) async throws {
    let origin = MemoryOrigin { _, number in
      guard isStreamed else { return .ok("\(number)", [:]) }
      return .streamed(
        AsyncThrowingStream { continuation in
          continuation.yield(Array("\(number)".utf8)[...])
          continuation.finish()
        }, [:])
    }
    try await with(origin) { url, _, _ in
      // HEAD has no content, and no end of one either.
      try await expect("", from: url, .HEAD)
      for number in 2...3 { try await expect("\(number)", from: url) }
    }
  }

  @Test(
    "A handler that throws gets a 500, unless a stored response may answer",
    arguments: [(nil, 500), ("max-age=1, stale-if-error=60", 200), ("max-age=1, must-revalidate", 500)])
  func failing(cacheControl: String?, status: UInt) async throws {
    let origin = MemoryOrigin { _, number in
      guard let cacheControl, number == 1 else { throw Unwell() }
      return .ok("stored", [.cacheControl: cacheControl])
    }
    try await with(origin) { url, cache, clock in
      _ = try await send(url)
      clock.advance(by: .seconds(2))
      let answer = try await send(url)
      #expect(answer.status == status && (status != 200 || answer.text == "stored"))
      if cacheControl?.contains("must-revalidate") == true {
        // The error is the handler's, and not one of the cache.
        await #expect(throws: Unwell.self) {
          try await cache.handle(
            HTTPRequest(method: .get, scheme: "http", authority: String(url.dropFirst(7)), path: "/"),
            handler: origin.transport)
        }
      }
    }
  }

  @Test("Requests at once run the handler once")
  func coalescing() async throws {
    let gate = Gate()
    let origin = MemoryOrigin { _, _ in
      await gate.wait()
      return .ok("one", [.cacheControl: "max-age=60"])
    }
    try await with(origin) { url, cache, _ in
      try await withThrowingTaskGroup(of: String.self) { group in
        // As many as the client has connections to one host.
        for _ in 1...8 { group.addTask { try await send(url).text } }
        try await cache.fetches.followers(7)
        gate.open()
        for try await text in group { #expect(text == "one") }
      }
      #expect(origin.requests.count == 1)
    }
  }
}

extension HTTPField.Name {
  /// The field for the cache of this process.
  fileprivate static let targeted = HTTPField.Name("HTTPCacheEngine-Cache-Control") ?? .cacheControl
}
