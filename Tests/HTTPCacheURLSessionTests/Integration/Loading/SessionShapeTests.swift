// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
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

@Suite("Kinds of sessions and tasks", .timeLimit(.minutes(10)))
struct SessionShapeTests {
  private static let fresh: HTTPFields = [.cacheControl: "max-age=60"]

  private final class OtherProtocol: URLProtocol {
    override static func canInit(with request: URLRequest) -> Bool { request.url?.scheme == "other" }
    override static func canonicalRequest(for request: URLRequest) -> URLRequest { request }
    override func startLoading() {
      guard let url = request.url else { return }
      let response = URLResponse(
        url: url, mimeType: "text/plain", expectedContentLength: 5, textEncodingName: nil)
      client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
      client?.urlProtocol(self, didLoad: Data("other".utf8))
      client?.urlProtocolDidFinishLoading(self)
    }
    override func stopLoading() {}
  }

  @Test("Other protocol classes beside the cache receive their requests")
  func otherProtocol() async throws {
    let base = URLSessionConfiguration.ephemeral
    base.protocolClasses = [OtherProtocol.self] + (base.protocolClasses ?? [])
    try await Setting.with(base: base) { _ in
      .init(fields: Self.fresh, body: "ours")
    } test: { setting async throws in
      let url = try #require(URL(string: "other://host/x"))
      let (data, response) = try await setting.session.data(from: url)
      #expect(String(decoding: data, as: UTF8.self) == "other" && response.cacheStatus == nil)
      for source in [CachedResponse.Source.network, .hit] {
        #expect(try await setting.load().source == source)
      }
    }
  }

  @Test("Several sessions with several caches answer concurrently, each from its own")
  func severalCaches() async throws {
    try await Setting.with { request in
      .init(fields: Self.fresh, body: "\(request.number)")
    } test: { setting async throws in
      let caches = try (0..<4).map { _ in try HTTPCache() }
      let sessions = caches.map { URLSession(configuration: .caching(with: $0, base: .plain)) }
      let request = try setting.request()
      var first: [String] = []
      for session in sessions {
        first.append(String(decoding: try await session.data(for: request).0, as: UTF8.self))
      }
      #expect(Set(first).count == 4)
      try await withThrowingTaskGroup(of: (Int, String).self) { group in
        for number in 0..<40 {
          group.addTask {
            (number % 4, String(decoding: try await sessions[number % 4].data(for: request).0, as: UTF8.self))
          }
        }
        for try await (number, text) in group { #expect(text == first[number]) }
      }
      #expect(setting.origin.requestCount == 4)
      for session in sessions { session.finishTasksAndInvalidate() }
    }
  }

  @Test("Two sessions with one cache share stored responses")
  func sharedCache() async throws {
    try await Setting.with { _ in
      .init(fields: Self.fresh, body: "x")
    } test: { setting async throws in
      _ = try await setting.load()
      let other = URLSession(configuration: .caching(with: setting.cache, base: .default.patient))
      let (_, response) = try await other.data(for: setting.request())
      #expect(response.cacheStatus?.source == .hit)
      other.finishTasksAndInvalidate()
    }
  }

  @Test("A cache in memory stores responses and uses no disk")
  func ephemeral() async throws {
    try await Setting.with { _ in
      .init(fields: Self.fresh, body: "x")
    } test: { setting async throws in
      _ = try await setting.load()
      #expect(setting.cache.store.capacity.disk == 0)
      #expect(setting.cache.store.usage.memoryEntries == 1)
    }
  }

  #if canImport(FoundationNetworking)
    @Test("On Linux, URLSession.shared does not use a registered protocol class")
    func registered() async throws {
      try await Setting.with { request in
        .init(fields: Self.fresh, body: "\(request.number)")
      } test: { setting async throws in
        let own: AnyClass = try #require(
          URLSessionConfiguration.caching(with: setting.cache, base: .plain).protocolClasses?
            .first)
        #expect(URLProtocol.registerClass(own))
        defer { URLProtocol.unregisterClass(own) }
        var request = try setting.request()
        request.timeoutInterval = 600
        for expected in ["1", "2"] {
          let (data, response) = try await URLSession.shared.data(for: request)
          #expect(String(decoding: data, as: UTF8.self) == expected)
          #expect((response as? HTTPURLResponse)?.cacheStatus == nil)
        }
      }
    }
  #endif

  #if canImport(FoundationNetworking)
    /// A delegate that has what Foundation on Linux cannot tell it, and counts.
    private final class Hooks: NSObject, URLSessionDataDelegate, Sendable {
      let calls = EventCount()
      let status = Mutex<Int?>(nil)
      let end = Gate()

      func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposed: CachedURLResponse,
        completionHandler: @escaping (CachedURLResponse?) -> Void
      ) {
        calls.next()
        completionHandler(nil)
      }

      func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
      ) {
        calls.next()
        completionHandler(nil)
      }

      func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
      ) {
        calls.next()
        completionHandler(.performDefaultHandling, nil)
      }

      func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        status.withLock { $0 = (task.response as? HTTPURLResponse)?.statusCode }
        end.open()
      }
    }

    @Test(
      "On Linux, a delegate is not asked about storing, redirects and challenges, and its tasks end",
      arguments: [("/plain", 200), ("/moved", 200), ("/guarded", 401)])
    func delegateHooks(path: String, status: Int) async throws {
      try await Setting.with { request in
        switch request.target {
        case "/moved": .init(status: 302, fields: [.location: "/plain"])
        case "/guarded": .init(status: 401, fields: [.wwwAuthenticate: "Basic realm=\"r\""])
        default: .init(fields: Self.fresh, body: "x")
        }
      } test: { setting async throws in
        let hooks = Hooks()
        let session = URLSession(
          configuration: .caching(with: setting.cache, base: .plain), delegate: hooks,
          delegateQueue: nil)
        session.dataTask(with: try setting.request(path)).resume()
        await hooks.end.wait()
        #expect(hooks.status.withLock { $0 } == status)
        #expect(hooks.calls.count == 0)
        session.finishTasksAndInvalidate()
      }
    }
  #endif

  @Test("The session's fields reach the origin, and a request's fields override them")
  func additionalHeaders() async throws {
    let base = URLSessionConfiguration.ephemeral
    base.httpAdditionalHeaders = ["X-Mode": "session"]
    let name = try #require(HTTPField.Name("X-Mode"))
    try await Setting.with(base: base) { request in
      .init(fields: [.cacheControl: "max-age=60", .vary: "X-Mode"], body: request.fields[name] ?? "none")
    } test: { setting async throws in
      #expect(try await setting.load().text == "session")
      #expect(try await setting.load(fields: ["X-Mode": "request"]).text == "request")
      for fields in [[:], ["X-Mode": "request"]] {
        #expect(try await setting.load(fields: fields).source == .hit)
      }
    }
  }

  @Test("The fields that Foundation adds are those of a session without the cache, and belong to the key")
  func systemFields() async throws {
    let names: [HTTPField.Name] = [.acceptLanguage, .userAgent, .accept, .acceptEncoding]
    try await Setting.with { _ in
      .init(fields: [
        .cacheControl: "max-age=60", .vary: "Accept-Language, User-Agent, Accept, Accept-Encoding",
      ])
    } test: { setting async throws in
      let plain = URLSession(configuration: URLSessionConfiguration.plain)
      _ = try await plain.data(for: setting.request())
      _ = try await setting.load()
      let (system, ours) = (setting.origin.requests[0].fields, setting.origin.requests[1].fields)
      func words(_ fields: HTTPFields, _ name: HTTPField.Name) -> [Substring]? {
        fields[name]?.replacing(",", with: "").split(separator: " ").sorted()
      }
      for name in names { #expect(words(ours, name) == words(system, name), "\(name)") }
      // The same values, set by the caller, are the same request; others are not.
      let explicit = Dictionary(uniqueKeysWithValues: names.map { ($0.rawName, ours[$0] ?? "") })
      #expect(try await setting.load(fields: explicit).source == .hit)
      for name in names {
        #expect(try await setting.load(fields: [name.rawName: "other"]).source == .network, "\(name)")
      }
      plain.finishTasksAndInvalidate()
    }
  }

  @Test("Cookies are kept and sent as without the cache", arguments: [true, false])
  func cookies(areSent: Bool) async throws {
    let base = URLSessionConfiguration.ephemeral
    base.httpShouldSetCookies = areSent
    try await Setting.with(base: base) { request in
      request.target == "/set"
        ? .init(fields: [.setCookie: "user=ann; Path=/"])
        : .init(
          fields: [.cacheControl: "max-age=60", .vary: "Cookie"], body: request.fields[.cookie] ?? "no user")
    } test: { setting async throws in
      _ = try await setting.load("/set")
      let plain = URLSession(configuration: base.patient)
      _ = try await plain.data(for: setting.request("/set"))
      let expected = String(decoding: try await plain.data(for: setting.request("/who")).0, as: UTF8.self)
      #expect(try await setting.load("/who").text == expected)
      #expect(try await setting.load("/who").source == .hit)
      plain.finishTasksAndInvalidate()
    }
  }

  @Test("A request without httpShouldHandleCookies neither sends cookies nor keeps those of its response")
  func withoutCookies() async throws {
    let base = URLSessionConfiguration.ephemeral
    try await Setting.with(base: base) { request in
      .init(
        fields: [.cacheControl: "max-age=60", .vary: "Cookie", .setCookie: "user=\(request.number); Path=/"],
        body: request.fields[.cookie] ?? "no user")
    } test: { setting async throws in
      // A task of Foundation on Linux loses the setting before a protocol sees its request.
      let session = HTTPCacheSession(cache: setting.cache, configuration: base)
      func text(_ request: URLRequest) async throws -> String {
        String(decoding: try await session.data(for: request).0, as: UTF8.self)
      }
      var request = try setting.request()
      #expect(try await text(request) == "no user")
      #expect(try await text(request) == "user=1")
      request.httpShouldHandleCookies = false
      #expect(try await session.data(for: request).1.source == .hit)
      request.cachePolicy = .reloadIgnoringLocalCacheData
      #expect(try await text(request) == "no user")
      request.setValue("own=1", forHTTPHeaderField: "Cookie")
      #expect(try await text(request) == "own=1")
      #expect(base.httpCookieStorage?.cookies?.map(\.value) == ["2"])
    }
  }

  @Test("Request content arrives from data, streams, upload tasks and their files")
  func content() async throws {
    let body = Data((0..<150_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    try await Setting.with { request in
      .init(body: "\(request.method) \(request.body.elementsEqual(body))")
    } test: { setting async throws in
      let file = temporaryURL()
      try body.write(to: file)
      defer { try? FileManager.default.removeItem(at: file) }
      #expect(try await setting.load(setting.request(method: "POST", body: body)).text == "POST true")
      var streamed = try setting.request(method: "PUT")
      streamed.httpBodyStream = InputStream(data: body)
      #expect(try await setting.load(streamed).text == "PUT true")
      let request = try setting.request(method: "PUT")
      let (fromData, _) = try await setting.session.upload(for: request, from: body)
      #expect(String(decoding: fromData, as: UTF8.self) == "PUT true")
      let (fromFile, _) = try await setting.session.upload(for: request, fromFile: file)
      #expect(String(decoding: fromFile, as: UTF8.self) == "PUT true")
    }
  }

  @Test("Task priorities are accepted and change no answer")
  func priorities() async throws {
    try await Setting.with { request in
      .init(fields: Self.fresh, body: request.target)
    } test: { setting async throws in
      for (number, priority) in [URLSessionTask.lowPriority, URLSessionTask.highPriority].enumerated() {
        for _ in 1...2 {
          let request = try setting.request("/\(number)")
          let text: String = try await withCheckedThrowingContinuation { continuation in
            let task = setting.session.dataTask(with: request) { data, _, error in
              continuation.resume(
                with: error.map { .failure($0) } ?? .success(String(decoding: data ?? Data(), as: UTF8.self)))
            }
            task.priority = priority
            task.resume()
          }
          #expect(text == "/\(number)")
        }
      }
      #expect(setting.origin.requestCount == 2)
    }
  }

  @Test("100 concurrent loads each get their own answer")
  func hundred() async throws {
    try await Setting.with { request in
      .init(fields: Self.fresh, body: String(repeating: request.target, count: 1000))
    } test: { setting async throws in
      for source in [CachedResponse.Source.network, .hit] {
        try await withThrowingTaskGroup(of: (Int, Answer).self) { group in
          for number in 0..<100 { group.addTask { (number, try await setting.load("/\(number)")) } }
          for try await (number, answer) in group {
            #expect(answer.text == String(repeating: "/\(number)", count: 1000))
            #expect(answer.source == source)
          }
        }
      }
      #expect(setting.origin.requestCount == 100)
    }
  }
}
