// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheEngine
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Exchanges without a task", .timeLimit(.minutes(2)))
struct SentRequestTests {
  /// Requests for one target, one after the other, and what the origin answers.
  struct Scenario: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// The Cache-Control of the first response.
    var directives: String
    var requests: [HTTPRequest] = [.get(), .get()]
    /// Answers the requests but the first; without it, all get the same.
    var then: (@Sendable (HTTPRequest) throws -> TransportResponse)?
  }

  static let scenarios: [Scenario] = [
    Scenario(testDescription: "stored", directives: "max-age=60"),
    Scenario(testDescription: "passed on", directives: "no-store"),
    Scenario(testDescription: "private", directives: "private, max-age=60"),
    Scenario(testDescription: "validated", directives: "max-age=0") { _ in
      .ok("", [.eTag: "\"1\"", .cacheControl: "max-age=60"], status: .notModified)
    },
    Scenario(testDescription: "replaced", directives: "max-age=0") { _ in
      .ok("new", [.eTag: "\"2\"", .cacheControl: "max-age=60"])
    },
    Scenario(
      testDescription: "a server error in place of which the stored response is used",
      directives: "max-age=0, stale-if-error=60"
    ) { _ in .ok("oops", [:], status: .badGateway) },
    Scenario(testDescription: "a server error", directives: "max-age=0") { _ in
      .ok("oops", [:], status: .badGateway)
    },
    Scenario(testDescription: "no connection, and the stored response is used", directives: "max-age=0") {
      _ in
      throw Unreachable()
    },
    Scenario(testDescription: "no connection", directives: "no-store") { _ in throw Unreachable() },
    Scenario(testDescription: "not found", directives: "max-age=0") { _ in
      .ok("", [.cacheControl: "max-age=60"], status: .notFound)
    },
    Scenario(testDescription: "a 304 that nothing asked for", directives: "no-store") { _ in
      .ok("", [.eTag: "\"9\""], status: .notModified)
    },
    Scenario(testDescription: "a 304 for another entity tag", directives: "max-age=0") { request in
      request.headerFields[.ifNoneMatch] == nil
        ? .ok("whole", [.cacheControl: "max-age=60"]) : .ok("", [.eTag: "\"9\""], status: .notModified)
    },
    Scenario(testDescription: "HEAD", directives: "max-age=60", requests: [.head(), .get(), .head()]),
    Scenario(
      testDescription: "a part", directives: "max-age=60",
      requests: [.get(fields: [.range: "bytes=0-1"]), .get(fields: [.range: "bytes=2-3"]), .get()]
    ) { request in
      guard request.headerFields[.range] != nil else { return .ok("text", [.eTag: "\"1\""]) }
      return .ok(
        "xt", [.contentRange: "bytes 2-3/4", .eTag: "\"1\"", .cacheControl: "max-age=60"],
        status: .partialContent)
    },
    Scenario(
      testDescription: "removed by an unsafe request", directives: "max-age=60",
      requests: [.get(), .delete(), .get()]),
    Scenario(
      testDescription: "variants", directives: "max-age=60",
      requests: [.get(fields: [.acceptLanguage: "de"]), .get(fields: [.acceptLanguage: "fr"]), .get()]
    ) { _ in .ok("vary", [.vary: "Accept-Language", .cacheControl: "max-age=60"]) },
    Scenario(testDescription: "content in pieces", directives: "max-age=0") { _ in
      .streamed(
        AsyncThrowingStream { stream in
          stream.yield(Array("piece".utf8)[...])
          stream.finish()
        })
    },
    Scenario(testDescription: "content in pieces that no other request can use", directives: "no-store") {
      _ in
      .streamed(
        AsyncThrowingStream { stream in
          stream.yield(Array("piece".utf8)[...])
          stream.finish()
        })
    },
    Scenario(testDescription: "content that ends early", directives: "max-age=0") { _ in
      .streamed(
        AsyncThrowingStream { stream in
          stream.yield(Array("piece".utf8)[...])
          stream.finish(throwing: Unreachable())
        })
    },
    Scenario(testDescription: "an interim response first", directives: "max-age=0") { _ in
      TransportResponse(interim: HTTPResponse(status: .init(code: 103))) { .ok("later") }
    },
  ]

  /// What a client and an observer see of a request.
  struct Seen: Equatable {
    var status: Int?
    var fields: HTTPFields?
    var source: CachedResponse.Source?
    var reason: CacheEngine.Reason?
    var text: String?
  }

  @Test(
    "An exchange without a task answers, stores and reports what one with a task does",
    arguments: scenarios, [CacheEngine.Configuration.Kind.private, .shared])
  func equal(_ scenario: Scenario, _ kind: CacheEngine.Configuration.Kind) async throws {
    try await equal(scenario, kind, origin: nil)
  }

  @Test("The same for a handler in this process", arguments: scenarios)
  func equalForHandler(_ scenario: Scenario) async throws {
    try await equal(scenario, .shared, origin: LocalOrigin())
  }

  private func equal(
    _ scenario: Scenario, _ kind: CacheEngine.Configuration.Kind, origin: LocalOrigin?
  ) async throws {
    try await withTemporaryFolder { folder in
      for directory in [nil, folder] {
        let with = try await run(scenario, kind, directory, of: origin, isDirect: false)
        let without = try await run(scenario, kind, directory, of: origin, isDirect: true)
        #expect(without.seen == with.seen)
        #expect(without.events == with.events)
        #expect(without.asked == with.asked)
      }
    }
  }

  private func run(
    _ scenario: Scenario, _ kind: CacheEngine.Configuration.Kind, _ folder: URL?, of local: LocalOrigin?,
    isDirect: Bool
  ) async throws -> (seen: [Seen], events: [String], asked: [HTTPRequest]) {
    let directory = folder.map { FilePath($0.appendingPathComponent(isDirect ? "direct" : "task").path) }
    let setting = try Setting(kind: kind, directory: directory)
    let origin = MemoryOrigin { request, number in
      if number > 1, let then = scenario.then { return try then(request) }
      var fields: HTTPFields = [.cacheControl: scenario.directives, .eTag: "\"1\""]
      let isPart = request.headerFields[.range] != nil
      if isPart { fields[.contentRange] = "bytes 0-1/4" }
      return .ok(
        request.method == .head ? "" : isPart ? "te" : "text", fields, status: isPart ? .partialContent : .ok)
    }
    var seen: [Seen] = []
    for request in scenario.requests {
      do {
        let response =
          isDirect
          ? try await answerDirectly(request, from: origin, of: local, in: setting.cache)
          : try await answer(request, from: origin, of: local, in: setting.cache)
        let bytes = try? await response.body.collect(upTo: .max)
        seen.append(
          Seen(
            status: response.head.status.code, fields: response.head.headerFields, source: response.source,
            reason: response.reason, text: bytes.map { String(decoding: $0, as: UTF8.self) }))
      } catch is Unreachable {
        seen.append(Seen())
      }
      try await setting.cache.fetches.emptied()
      setting.clock.advance(seconds: 1)
    }
    let events = setting.log.all.map {
      "\($0.action) \($0.reason?.rawValue ?? "-") \(String(describing: $0.source))"
    }
    return (seen, events, origin.requests)
  }

  private func answer(
    _ request: HTTPRequest, begun pending: PendingRequest? = nil, from origin: MemoryOrigin,
    of local: LocalOrigin?, in cache: HTTPCache
  ) async throws -> CachedResponse {
    if let local {
      return try await cache.respond(
        to: request, begun: pending, body: .empty, partition: nil, from: local, handler: origin.transport)
    }
    guard let pending else { return try await cache.respond(to: request, transport: origin.transport) }
    return try await cache.respond(to: pending, transport: origin.transport)
  }

  private func answerDirectly(
    _ request: HTTPRequest, from origin: MemoryOrigin, of local: LocalOrigin?, in cache: HTTPCache
  ) async throws -> CachedResponse {
    let pending: PendingRequest
    let beginning = cache.begin(
      request, partition: nil, revalidatesInBackground: local == nil, isLocal: local != nil)
    switch beginning {
    case .answer(let response): return response
    case .pending(let begun): pending = begun
    }
    guard let exchange = begin(pending, Work(), from: origin, of: local, in: cache) else {
      return try await answer(request, begun: pending, from: origin, of: local, in: cache)
    }
    let result: Result<TransportResponse, any Error>
    do {
      result = .success(try await origin.transport(exchange.forwarded, .empty))
    } catch {
      result = .failure(error)
    }
    switch exchange.finish(result) {
    case .answer(let response): return response
    case .pending: return try await exchange.response()
    case .done: throw CancellationError()
    }
  }

  private func begin(
    _ pending: PendingRequest, _ work: Work, from origin: MemoryOrigin, of local: LocalOrigin? = nil,
    in cache: HTTPCache
  ) -> SentRequest? {
    cache.exchange(
      for: pending, work: work, on: globalConcurrentExecutor, from: local, transport: origin.transport)
  }

  /// Records whether it was cancelled.
  final class Work: Cancellable {
    private let count = Mutex(0)
    var cancelCount: Int { count.withLock { $0 } }
    func cancel() { count.withLock { $0 += 1 } }
  }

  /// An exchange that is begun, in a cache that nothing is stored in.
  private func begun(
    _ request: HTTPRequest = .get(), in setting: Setting, _ work: Work, from origin: MemoryOrigin
  ) throws -> SentRequest {
    guard case .pending(let pending) = setting.cache.begin(request) else { throw Unreachable() }
    return try #require(begin(pending, work, from: origin, in: setting.cache))
  }

  @Test(
    "Content of a handler that is not stored stays with the caller, and ends the exchange before it is read")
  func contentOfHandler() throws {
    let setting = try Setting(kind: .shared)
    let origin = MemoryOrigin { _, _ in throw Unreachable() }
    guard case .pending(let pending) = setting.cache.begin(.get()) else { throw Unreachable() }
    let exchange = try #require(begin(pending, Work(), from: origin, of: LocalOrigin(), in: setting.cache))
    let (stream, _) = AsyncThrowingStream<ArraySlice<UInt8>, any Error>.makeStream()
    guard
      case .answer(let response) = exchange.finish(.success(.streamed(stream, [.cacheControl: "no-store"])))
    else {
      Issue.record("the exchange waits for the content")
      return
    }
    #expect(response.isPassedThrough && response.source == .network)
  }

  @Test("Equal requests wait for an exchange without a task", arguments: [true, false])
  func followers(areAnswered: Bool) async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in .ok("own", [.cacheControl: "no-store"]) }
    let exchange = try begun(in: setting, Work(), from: origin)
    async let follower = setting.get(from: origin)
    try await setting.cache.fetches.followers(1)
    let directives = areAnswered ? "max-age=60" : "no-store"
    guard case .answer = exchange.finish(.success(.ok("shared", [.cacheControl: directives]))) else {
      Issue.record("no answer")
      return
    }
    #expect(try await follower.text == (areAnswered ? "shared" : "own"))
    #expect(origin.requests.count == (areAnswered ? 0 : 1))
  }

  @Test(
    "A client that leaves ends its exchange, unless another request waits for it", arguments: [true, false])
  func leaving(isAlone: Bool) async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in throw Unreachable() }
    let work = Work()
    let exchange = try begun(in: setting, work, from: origin)
    var follower: Task<Answer, any Error>?
    if !isAlone {
      follower = Task { try await setting.get(from: origin) }
      try await setting.cache.fetches.followers(1)
    }
    exchange.leave()
    #expect(work.cancelCount == (isAlone ? 1 : 0))
    // The transport always ends.
    guard case .done = exchange.finish(isAlone ? .failure(Unreachable()) : .success(.ok("shared"))) else {
      Issue.record("answers a client that has left")
      return
    }
    if let follower { #expect(try await follower.value.text == "shared") }
    try await setting.cache.fetches.emptied()
    #expect(setting.cache.fetches.count == 0)
  }

  @Test("A response that comes when no client waits for it is not stored, and delays no other request")
  func late() throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in throw Unreachable() }
    let exchange = try begun(in: setting, Work(), from: origin)
    exchange.leave()
    // This one follows no other.
    let next = try begun(in: setting, Work(), from: origin)
    guard case .done = exchange.finish(.success(.ok("late", [.cacheControl: "max-age=60"]))) else {
      Issue.record("answers a client that has left")
      return
    }
    #expect(setting.cache.storedResponse(for: .get()) == nil)
    next.leave()
    _ = next.finish(.failure(Unreachable()))
    #expect(setting.cache.fetches.count == 0)
  }

  @Test(
    "An unsafe request whose client has left removes what it has changed", arguments: [false, true],
    [false, true])
  func lateUnsafe(hasDisk: Bool, isAfterInterim: Bool) async throws {
    try await withTemporaryFolder { folder in
      let setting = try Setting(directory: hasDisk ? FilePath(folder.path) : nil)
      let origin = MemoryOrigin { _, _ in .ok("stored", [.cacheControl: "max-age=60"]) }
      #expect(try await setting.get(from: origin).source == .network)
      #expect(setting.cache.storedResponse(for: .get()) != nil)
      let exchange = try begun(.delete(), in: setting, Work(), from: origin)
      exchange.leave()
      let final = TransportResponse.ok("deleted", [:])
      let first =
        isAfterInterim
        ? TransportResponse(interim: HTTPResponse(status: .init(code: 103))) {
          try Task.checkCancellation()
          return final
        } : final
      guard case .done = exchange.finish(.success(first)) else {
        Issue.record("answers a client that has left")
        return
      }
      try await setting.log.reach(.invalidated)
      #expect(setting.cache.storedResponse(for: .get()) == nil)
    }
  }

  @Test("A client that leaves ends a request that no other can join", arguments: [true, false])
  func leavingAlone(isWhole: Bool) throws {
    let setting = try Setting()
    let work = Work()
    let exchange = try begun(
      .get(fields: [.cacheControl: "no-store"]), in: setting, work,
      from: MemoryOrigin { _, _ in throw Unreachable() })
    exchange.leave()
    #expect(work.cancelCount == 1)
    let late: TransportResponse = isWhole ? .ok("late") : .streamed(AsyncThrowingStream { $0.finish() })
    guard case .done = exchange.finish(.success(late)) else {
      Issue.record("answers a client that has left")
      return
    }
    exchange.leave()
    #expect(work.cancelCount == 1)
  }

  @Test("An exchange that nothing finishes is released, and a request that waits for it sends its own")
  func unfinished() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in .ok("own") }
    var exchange: SentRequest? = try begun(in: setting, Work(), from: origin)
    let follower = Task { try await setting.get(from: origin) }
    try await setting.cache.fetches.followers(1)
    exchange?.leave()
    exchange = nil
    #expect(try await follower.value.text == "own")
    try await setting.cache.fetches.emptied()
  }

  @Test("A request that waits for another has a task")
  func tasks() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in .ok("text") }
    let first = try begun(in: setting, Work(), from: origin)
    guard case .pending(let second) = setting.cache.begin(.get()) else { throw Unreachable() }
    #expect(begin(second, Work(), from: origin, in: setting.cache) == nil)
    _ = first.finish(.success(.ok("text")))
    #expect(try await setting.cache.respond(to: second, transport: origin.transport).source == .hit)
    #expect(origin.requests.isEmpty)
  }
}

extension HTTPRequest {
  fileprivate static func head() -> HTTPRequest { with(.head) }
  fileprivate static func delete() -> HTTPRequest { with(.delete) }

  private static func with(_ method: Method) -> HTTPRequest {
    var request = HTTPRequest.get()
    request.method = method
    return request
  }
}
