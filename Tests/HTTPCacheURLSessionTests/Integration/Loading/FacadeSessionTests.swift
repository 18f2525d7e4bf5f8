// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCacheURLSession
import HTTPCaching
import HTTPTypes
import Loopback
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("The interface of URLCache, beside a session", .timeLimit(.minutes(10)))
struct FacadeSessionTests {
  private func request(_ path: String = "/") throws -> URLRequest {
    URLRequest(url: try #require(URL(string: "http://a.example\(path)")))
  }

  private func response(
    _ text: String, to request: URLRequest, fields: [String: String] = ["Cache-Control": "max-age=60"]
  ) throws -> CachedURLResponse {
    let url = try #require(request.url)
    let head = try #require(
      HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields))
    return CachedURLResponse(response: head, data: Data(text.utf8))
  }

  @Test("The urlCache of a session reads, stores and removes what the session has stored")
  func urlCacheOfSession() async throws {
    try await Setting.with { request in
      .init(fields: [.cacheControl: "max-age=60"], body: "\(request.number)")
    } test: { setting async throws in
      let urlCache = try #require(setting.session.configuration.urlCache)
      func isStored(_ path: String = "/") throws -> Bool {
        let request = try setting.request(path)
        let found = HTTPURLCache(setting.cache).cachedResponse(for: request)
        #expect(urlCache.cachedResponse(for: request)?.data == found?.data)
        return found != nil
      }
      for remove in Removal.allCases {
        _ = try await setting.load()
        _ = try await setting.load("/other")
        #expect(try isStored() && isStored("/other"))
        #expect(urlCache.currentMemoryUsage > 0 && urlCache.currentDiskUsage == 0)
        try await remove.run(urlCache, setting)
        #expect(try !isStored())
        #expect(try isStored("/other") == remove.isOfOne)
        #expect(try await setting.load().source == .network)
      }
      let byHand = try setting.request("/b")
      urlCache.storeCachedResponse(try response("by hand", to: byHand), for: byHand)
      #expect(try await setting.load("/b").text == "by hand")
    }
  }

  @Test("A URL, and a request with fields, select the responses for them", arguments: [true, false])
  func selection(byURL: Bool) async throws {
    try await Setting.with { request in
      .init(fields: [.cacheControl: "max-age=60", .vary: "Accept-Language"], body: "\(request.number)")
    } test: { setting async throws in
      var request = try setting.request("/a?b=ä#part")
      let url = try #require(request.url)
      for language in ["de", "en"] {
        request.setValue(language, forHTTPHeaderField: "Accept-Language")
        _ = try await setting.load(request)
      }
      _ = try await setting.load("/other")
      request.setValue("other.example", forHTTPHeaderField: "Host")
      request.httpMethod = "POST"
      let selection: HTTPCache.Selection = byURL ? .url(url) : .target(of: request)
      #expect(setting.cache.remove(selection, counting: true).count == 2)
      #expect(try await setting.load("/other").source == .hit)
      #expect(setting.cache.remove(.url(URL(fileURLWithPath: "/a"))).count == 0)
    }
  }

  /// The ways in which an application clears what is stored, for example when a user signs out.
  private enum Removal: CaseIterable {
    case request, task, since, all, reset

    var isOfOne: Bool { self == .request || self == .task }

    func run(_ urlCache: URLCache, _ setting: Setting) async throws {
      let request = try setting.request()
      switch self {
      case .request: urlCache.removeCachedResponse(for: request)
      case .task: urlCache.removeCachedResponse(for: setting.session.dataTask(with: request))
      case .since: urlCache.removeCachedResponses(since: Date(timeIntervalSinceNow: -600))
      case .all: urlCache.removeAllCachedResponses()
      case .reset:
        await withCheckedContinuation { continuation in
          setting.session.reset { continuation.resume() }
        }
      }
    }
  }

  @Test("A session and HTTPURLCache share stored responses")
  func bothWays() async throws {
    try await Setting.with { request in
      .init(
        fields: [.cacheControl: "max-age=60", .vary: "Accept-Encoding"],
        body: "from the origin \(request.number)")
    } test: { setting async throws in
      let facade = HTTPURLCache(setting.cache)
      _ = try await setting.load("/a")
      let found = try #require(facade.cachedResponse(for: setting.request("/a")))
      #expect(String(decoding: found.data, as: UTF8.self) == "from the origin 1")
      #expect((found.response as? HTTPURLResponse)?.statusCode == 200)
      #expect(found.response.url == (try setting.request("/a").url))
      let byHand = try setting.request("/b")
      let stored = facade.storeCachedResponse(
        try response("by hand", to: byHand, fields: ["Cache-Control": "max-age=60", "X-Mine": "1"]),
        for: byHand)
      #expect(stored == .storedWithLifetime)
      let answer = try await setting.load("/b")
      #expect(answer.text == "by hand")
      #expect(answer.source == .hit)
      #expect(answer.response.value(forHTTPHeaderField: "X-Mine") == "1")
      #expect(setting.origin.requestCount == 1)
      facade.removeCachedResponse(for: byHand)
      #expect(try await setting.load("/b").source == .network)
    }
  }

  @Test("A task can stand in for its request")
  func byTask() throws {
    let cache = HTTPURLCache(try HTTPCache())
    let session = URLSession(configuration: URLSessionConfiguration.plain)
    let task = session.dataTask(with: try request())
    cache.storeCachedResponse(try response("x", to: request()), for: task)
    #expect(cache.cachedResponse(for: try request()) != nil)
    cache.getCachedResponse(for: task) { #expect($0.map { String(decoding: $0.data, as: UTF8.self) } == "x") }
    cache.removeCachedResponse(for: task)
    cache.getCachedResponse(for: task) { #expect($0 == nil) }
    session.finishTasksAndInvalidate()
  }

  @Test(
    "A response too large for the disk limit is not stored, and the reason reports it",
    arguments: [0.05, 0.5])
  func share(share: Double) async throws {
    let folder = temporaryURL()
    defer { try? FileManager.default.removeItem(at: folder) }
    var configuration = HTTPCache.Configuration(
      memoryCapacity: 8 << 20, diskCapacity: 8 << 20, directory: folder)
    configuration.store.maximumEntryShare = share
    let cache =
      share == HTTPURLCache.defaultMaximumEntryShare
      ? HTTPURLCache(memoryCapacity: 8 << 20, diskCapacity: 8 << 20, directory: folder)
      : HTTPURLCache(configuration)
    let body = String(repeating: "x", count: 600_000)
    let reason = cache.storeCachedResponse(try response(body, to: request()), for: try request())
    #expect(reason == (share == 0.05 ? .tooLarge : .storedWithLifetime))
    // The session's caller learns it too, though it is known only when the content is there.
    let origin = try await LoopbackOrigin.start { _ in
      .init(fields: [.cacheControl: "max-age=60"], body: body, isChunked: true)
    }
    let session = URLSession(configuration: .caching(with: cache, base: .plain))
    let url = try #require(URL(string: origin.url()))
    let (data, answer) = try await session.data(from: url)
    #expect(data.count == body.utf8.count)
    let story = (answer as? HTTPURLResponse)?.cacheStatus
    #expect(story?.reason == (share == 0.05 ? .tooLarge : .storedWithLifetime))
    #expect(story?.isStored == (share != 0.05))
    session.finishTasksAndInvalidate()
    await origin.stop()
    cache.cache.close()
  }
}
