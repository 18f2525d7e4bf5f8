// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import HTTPCacheTesting
import HTTPCacheURLSession
import HTTPTypes
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Stubs behind a URLSession", .timeLimit(.minutes(10)))
struct StubbedSessionTests {
  private func load(
    _ session: URLSession, _ url: String, _ change: (inout URLRequest) -> Void = { _ in }
  ) async throws -> (text: String, response: HTTPURLResponse) {
    var request = URLRequest(url: try #require(URL(string: url)))
    change(&request)
    let (data, response) = try await session.data(for: request)
    return (String(decoding: data, as: UTF8.self), try #require(response as? HTTPURLResponse))
  }

  private func withSession(
    _ stubs: HTTPStubs, cache: HTTPCache? = nil, _ body: (URLSession) async throws -> Void
  ) async throws {
    let stubbed = URLSessionConfiguration.stubbed(by: stubs)
    let session = URLSession(configuration: cache.map { .caching(with: $0, base: stubbed) } ?? stubbed)
    defer { session.finishTasksAndInvalidate() }
    try await body(session)
  }

  @Test("A session without a cache uses its own stubs only")
  func answers() async throws {
    let (stubs, others) = (HTTPStubs(), HTTPStubs())
    stubs.on(.post, "https://api.test/{name}") { call in
      .text("\(call.parameters["name"] ?? "") \(call.text) \(call.fields[.accept] ?? "")", status: 201)
    }
    others.on(nil, "**", .text("others"))
    try await withSession(stubs) { session async throws in
      try await withSession(others) { other async throws in
        let answer = try await load(session, "https://api.test/users") {
          $0.httpMethod = "POST"
          $0.httpBody = Data("body".utf8)
          $0.setValue("a/b", forHTTPHeaderField: "Accept")
        }
        #expect(answer.text == "users body a/b")
        #expect(answer.response.statusCode == 201)
        #expect(answer.response.mimeType == "text/plain")
        #expect(try await load(other, "https://api.test/users").text == "others")
      }
    }
    #expect(stubs.requests.count == 1)
  }

  @Test(
    "A request times out while its stub is delayed, by its own timeout or the session's",
    arguments: [nil, 2] as [TimeInterval?], [false, true])
  func timeout(own: TimeInterval?, isCached: Bool) async throws {
    let clock = TestClock()
    let stubs = HTTPStubs(clock: clock)
    stubs.on(.get, "**", .text("late").delayed(by: .seconds(7)))
    let base = URLSessionConfiguration.ephemeral
    base.timeoutIntervalForRequest = 3
    let stubbed = URLSessionConfiguration.stubbed(by: stubs, base: base)
    let session = URLSession(
      configuration: isCached ? .caching(with: try HTTPCache(), base: stubbed) : stubbed)
    defer { session.finishTasksAndInvalidate() }
    async let loaded = load(session, "https://api.test/") { if let own { $0.timeoutInterval = own } }
    await clock.sleepers(1)
    clock.advance(by: .seconds(own ?? 3))
    do {
      _ = try await loaded
      Issue.record("no error")
    } catch let error as URLError {
      #expect(error.code == .timedOut)
    }
    async let patient = load(session, "https://api.test/") { $0.timeoutInterval = 8 }
    await clock.sleepers(1)
    clock.advance(by: .seconds(7))
    #expect(try await patient.text == "late")
  }

  @Test("Uploads and streamed bodies reach the stub complete")
  func bodies() async throws {
    let stubs = HTTPStubs()
    stubs.on(nil, "/upload") { call in .text("\(call.body.count)") }
    let content = Data(repeating: 7, count: 200_000)
    try await withSession(stubs) { session async throws in
      let streamed = try await load(session, "https://api.test/upload") {
        $0.httpMethod = "PUT"
        $0.httpBodyStream = InputStream(data: content)
      }
      #expect(streamed.text == "200000")
      var request = URLRequest(url: try #require(URL(string: "https://api.test/upload")))
      request.httpMethod = "PUT"
      let uploaded = try await session.upload(for: request, from: content).0
      #expect(String(decoding: uploaded, as: UTF8.self) == "200000")
    }
  }

  @Test("A session with a cache stores stubbed responses, revalidates them and follows redirects")
  func caching() async throws {
    let (stubs, clock) = (HTTPStubs(), TestClock())
    let cache = try makeCache(clock: clock)
    stubs.on(
      .get, "https://api.test/old", .status(301, fields: [.location: "/feed", .cacheControl: "max-age=60"]))
    stubs.on(.get, "https://api.test/feed") { call in
      call.fields[.ifNoneMatch] != nil
        ? .status(304, fields: [.eTag: "\"a\""])
        : .text("feed", fields: [.cacheControl: "max-age=60", .eTag: "\"a\""])
    }
    try await withSession(stubs, cache: cache) { session async throws in
      for (seconds, source) in [(0, CachedResponse.Source.network), (1, .hit), (60, .validated)] {
        clock.advance(by: .seconds(seconds))
        let answer = try await load(session, "https://api.test/old")
        #expect(answer.text == "feed")
        #expect(answer.response.url?.path == "/feed")
        #expect(answer.response.cacheStatus?.source == source)
      }
    }
    #expect(stubs.requests.map { $0.request.path } == ["/old", "/feed", "/old", "/feed"])
  }

  @Test(
    "Stubs see the session's own fields, whenever they were set, and the request's before them",
    arguments: [false, true])
  func additionalFields(hasCache: Bool) async throws {
    let stubs = HTTPStubs()
    stubs.on(nil, "**") { call in
      .text(
        "\(call.fields[.authorization] ?? "") \(call.fields[.accept] ?? "") \(call.fields[.userAgent] ?? "")")
    }
    let base = URLSessionConfiguration.ephemeral.patient
    base.httpAdditionalHeaders = ["authorization": "token", "Accept": "a/a"]
    let configuration = URLSessionConfiguration.stubbed(by: stubs, base: base)
    configuration.httpAdditionalHeaders?["User-Agent"] = "test"
    let session = URLSession(
      configuration: hasCache ? .caching(with: try makeCache(), base: configuration) : configuration)
    defer { session.finishTasksAndInvalidate() }
    let answer = try await load(session, "https://api.test/") {
      $0.setValue("b/b", forHTTPHeaderField: "accept")
    }
    #expect(answer.text == "token b/b test")
  }

  @Test("Stubs over a configuration with a cache keep the cache in front of them, with its options")
  func stubbedCache() async throws {
    let (stubs, others) = (HTTPStubs(), HTTPStubs())
    let fields: HTTPFields = [.cacheControl: "max-age=60"]
    for own in [stubs, others] {
      own.on(.get, "/feed", .text(own === stubs ? "stubs" : "others", fields: fields))
    }
    let cache = try makeCache()
    var options = CachingOptions()
    options.shouldIntercept = { $0.url?.query != "bypass" }
    let caching = URLSessionConfiguration.caching(with: cache, options: options, base: .ephemeral.patient)
    // Twice: the last stubs answer.
    let stubbed = URLSessionConfiguration.stubbed(by: stubs, base: .stubbed(by: others, base: caching))
    let session = URLSession(configuration: stubbed)
    defer { session.finishTasksAndInvalidate() }
    for source in [CachedResponse.Source.network, .hit] {
      let answer = try await load(session, "https://api.test/feed")
      #expect(answer.text == "stubs" && answer.response.cacheStatus?.source == source)
    }
    #expect(stubs.requests.count == 1 && others.requests.isEmpty)
    #expect(cache.store.usage.memoryEntries == 1)
    _ = try? await load(session, "https://api.test/feed?bypass")
    #expect(stubs.requests.map { $0.request.path } == ["/feed", "/feed?bypass"])
  }

  // In processes of their own, because each has only one shared session.
  @Test("Stubs answer URLSession.shared until they are removed")
  func shared() async {
    await #expect(processExitsWith: .success) {
      func text(_ path: String) async throws -> String {
        let url = try #require(URL(string: "http://127.0.0.1:1/\(path)"))
        return String(decoding: try await URLSession.shared.data(from: url).0, as: UTF8.self)
      }
      // Foundation registers its own protocols with the first session.
      URLSession(configuration: .ephemeral).finishTasksAndInvalidate()
      for number in 1...2 {
        let stubs = HTTPStubs()
        stubs.on(.get, "/{name}") { call in .text("\(number) \(call.parameters["name"] ?? "")") }
        try stubs.installInSharedSession()
        let answer = try await text("a")
        #expect(answer == "\(number) a" && stubs.requests.count == 1)
      }
      HTTPStubs.removeFromSharedSession()
      let error = await #expect(throws: URLError.self) { try await text("b") }
      #expect(error?.code == .cannotConnectToHost)
    }
  }

  #if canImport(FoundationNetworking)
    @Test(
      "On Linux, stubs cannot be installed after the first use of URLSession.shared, and the error says so")
    func sharedTooLate() async {
      await #expect(processExitsWith: .success) {
        URLSession(configuration: .ephemeral).finishTasksAndInvalidate()
        _ = URLSession.shared
        let error = #expect(throws: StubError.self) { try HTTPStubs().installInSharedSession() }
        #expect(
          error?.code == .sharedSessionInUse && error?.description.contains("before its first use") == true)
      }
    }
  #endif

  @Test(
    "A connection error, half a body and an unexpected request are errors for the caller",
    arguments: [false, true])
  func failures(hasCache: Bool) async throws {
    let stubs = HTTPStubs()
    stubs.on(.get, "/refused", .failure(URLError(.cannotConnectToHost)))
    stubs.on(.get, "/half", .text("half of it").cut(afterBytes: 4))
    stubs.on(.get, "/broken", .status(500))
    try await withSession(stubs, cache: hasCache ? makeCache() : nil) { session async throws in
      for (path, code) in [("refused", URLError.Code.cannotConnectToHost), ("half", .networkConnectionLost)] {
        let error = await #expect(throws: (any Error).self) {
          try await load(session, "https://api.test/\(path)")
        }
        #expect((error as? URLError)?.code == code)
      }
      #expect(try await load(session, "https://api.test/broken").response.statusCode == 500)
      let error = await #expect(throws: (any Error).self) { try await load(session, "https://api.test/else") }
      #expect("\(String(describing: error))".contains("no stub for GET https://api.test/else"))
    }
    #expect(stubs.unexpected.count == 1)
  }

  @Test("A task that is suspended and resumed during the delay of its stub ends with its answer")
  func suspending() async throws {
    let clock = TestClock()
    let stubs = HTTPStubs(clock: clock)
    let requested = EventCount()
    stubs.on(nil, "/slow") { call in
      requested.next()
      return .text("\(call.body.count)").delayed(by: .seconds(60))
    }
    try await withSession(stubs) { session async throws in
      for number in 1...20 {
        var request = URLRequest(url: try #require(URL(string: "https://api.test/slow")))
        request.httpMethod = "POST"
        request.httpBodyStream = InputStream(data: Data(count: 7))
        let (texts, ended) = AsyncStream.makeStream(of: String.self)
        let task = session.dataTask(with: request) { data, _, error in
          ended.yield(error.map { "\($0)" } ?? String(decoding: data ?? Data(), as: UTF8.self))
        }
        task.resume()
        await clock.sleepers(1)
        task.suspend()
        task.resume()
        try await requested.reached(2 * number)
        await clock.sleepers(1)
        clock.advance(by: .seconds(120))
        for await text in texts.prefix(1) { #expect(text == "7") }
      }
    }
  }

  @Test("A task that is cancelled during the delay of its stub ends as cancelled")
  func cancelling() async throws {
    let clock = TestClock()
    let stubs = HTTPStubs(clock: clock)
    stubs.on(.get, "/slow", .text("slow").delayed(by: .seconds(60)))
    try await withSession(stubs) { session async throws in
      let loading = Task { try await load(session, "https://api.test/slow") }
      await clock.sleepers(1)
      loading.cancel()
      let error = await #expect(throws: (any Error).self) { try await loading.value }
      #expect(error is CancellationError || (error as? URLError)?.code == .cancelled)
    }
  }
}
