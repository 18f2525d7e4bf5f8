// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import TestSupport
import Testing

@Suite("Events of a cache", .timeLimit(.minutes(10)))
struct EventTests {
  private func setting() throws -> Setting { try Setting { $0.observers = [] } }

  private func listen(
    _ cache: HTTPCache, _ actions: [CacheEvent.Action] = CacheEvent.Action.allCases
  ) -> (Recorder<CacheEvent>, CacheObservation) {
    let log = Recorder<CacheEvent>()
    return (log, cache.observe(actions) { log.add($0) })
  }

  @Test("Events report a request from its forwarding to its response, with sources and bytes")
  func story() async throws {
    let setting = try setting()
    let (log, _) = listen(setting.cache)
    let origin = MemoryOrigin { _, number in
      switch number {
      case 1: return .ok("content", [.cacheControl: "max-age=10", .eTag: "\"a\""])
      case 2: return .ok("", [.eTag: "\"a\"", .cacheControl: "max-age=10"], status: .notModified)
      default: throw Unreachable()
      }
    }
    _ = try await setting.get(from: origin)
    _ = try await setting.get(from: origin)
    setting.clock.advance(seconds: 11)
    _ = try await setting.get(from: origin)
    setting.clock.advance(seconds: 11)
    _ = try? await setting.get(from: origin)
    _ = try? await setting.get("/other", from: origin, policy: .returnCacheDataDontLoad)
    let told = log.all.map { event in
      "\(event.action) \(event.source?.rawValue ?? "-") \(event.byteCount ?? -1) "
        + (event.reason?.rawValue ?? "-")
    }
    #expect(
      told == [
        "forwarded - -1 nothingStored", "received - -1 nothingStored", "answered network -1 fromOrigin",
        "stored - 7 storedWithLifetime",
        "served hit 7 fresh",
        "forwarded - -1 stale", "received - -1 stale", "updated - -1 freshened",
        "answered validated 7 validated",
        "forwarded - -1 stale", "failed - -1 originUnreachable",
        "refused - -1 policyForbidsNetwork",
      ])
    #expect(log.all[0].description.hasPrefix("forwarded GET https://example.test/: Nothing is stored"))
  }

  @Test("An event gives the reason why a response was not stored", arguments: [false, true])
  func notStored(isLate: Bool) async throws {
    let setting = try setting()
    let (log, _) = listen(setting.cache, [.notStored])
    let answer = try await setting.get(
      from: MemoryOrigin { _, _ in
        isLate
          ? .ok("four", [.cacheControl: "max-age=60", .contentLength: "5"])
          : .ok("four", [.cacheControl: "no-store"])
      })
    #expect(answer.text == "four")
    try await setting.cache.fetches.emptied()
    let expected: [CacheEngine.Reason] = isLate ? [.incompleteContent] : [.responseNoStore]
    #expect(log.all.map(\.reason) == expected)
  }

  @Test("Each observer gets the events it asked for until it is cancelled")
  func observers() async throws {
    let setting = try Setting()
    let (events, first) = listen(setting.cache)
    let (stores, second) = listen(setting.cache, [.stored])
    let origin = MemoryOrigin { _, _ in .ok("x") }
    _ = try await setting.get("/1", from: origin)
    first.cancel()
    _ = try await setting.get("/2", from: origin)
    second.cancel()
    second.cancel()
    _ = try await setting.get("/3", from: origin)
    #expect(Set(events.all.map(\.uri)) == ["https://example.test/1"])
    #expect(stores.all.map(\.uri) == ["https://example.test/1", "https://example.test/2"])
    // The configuration's own observer goes on.
    #expect(setting.log.reasons(.stored).count == 3)
  }

  @Test("Observers can be added and cancelled while others are notified")
  func comingAndGoing() async throws {
    let setting = try setting()
    _ = try await setting.get(from: MemoryOrigin { _, _ in .ok("x") })
    let (events, observation) = listen(setting.cache, [.served])
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<100 {
            let passing = setting.cache.observe { _ in }
            _ = setting.cache.storedResponse(for: .get())
            passing.cancel()
          }
        }
      }
    }
    observation.cancel()
    #expect(events.all.count == 800)
  }

  @Test("An observer may cancel itself and use the cache in its callback")
  func reentrant() async throws {
    let setting = try setting()
    let log = Recorder<CacheEvent>()
    let own = Mutex<CacheObservation?>(nil)
    let observation = setting.cache.observe { [cache = setting.cache] event in
      log.add(event)
      own.withLock { $0 }?.cancel()
      _ = cache.storedResponse(for: .get())
    }
    own.withLock { $0 = observation }
    _ = try await setting.get(from: MemoryOrigin { _, _ in .ok("x") })
    #expect(log.all.map(\.action) == [.forwarded])
  }

  @Test(
    "Each stream has its own events, and a slow one loses the oldest")
  func streams() async throws {
    let setting = try setting()
    let all = setting.cache.events()
    let newest = setting.cache.events(of: [.served], keeping: 2)
    let origin = MemoryOrigin { _, _ in .ok("x") }
    for path in ["/1", "/1", "/2", "/2", "/3", "/3"] { _ = try await setting.get(path, from: origin) }
    var iterator = all.makeAsyncIterator()
    #expect(await iterator.next()?.action == .forwarded)
    var paths: [String] = []
    for await event in newest {
      paths.append(event.request?.path ?? "")
      if paths.count == 2 { break }
    }
    #expect(paths == ["/2", "/3"])
  }

  @Test("An event stream ends with the cache")
  func end() async throws {
    let events: AsyncStream<CacheEvent>
    do {
      let setting = try setting()
      events = setting.cache.events()
      _ = try await setting.get(from: MemoryOrigin { _, _ in .ok("x") })
      try await setting.cache.fetches.emptied()
    }
    var actions: [CacheEvent.Action] = []
    for await event in events { actions.append(event.action) }
    #expect(actions == [.forwarded, .received, .answered, .stored])
  }

  /// A second response for a target that is watched, and whether it is an update of it.
  struct Second: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var path = "/"
    var method = HTTPRequest.Method.get
    var status = HTTPResponse.Status.ok
    var fields: HTTPFields = [.cacheControl: "max-age=60"]
    var partition: String?
    var isUpdate = false
  }

  static let seconds = [
    Second(testDescription: "new content", isUpdate: true),
    Second(
      testDescription: "new content that replaces a variant", fields: [.vary: "Accept", .eTag: "\"b\""],
      isUpdate: true),
    Second(testDescription: "another target", path: "/other"),
    Second(testDescription: "another query", path: "/?a"),
    Second(testDescription: "another partition", partition: "b"),
    Second(testDescription: "a validation", status: .notModified, fields: [.eTag: "\"a\""]),
    Second(testDescription: "a response that is not stored", fields: [.cacheControl: "no-store"]),
    Second(testDescription: "an unsafe method", method: .post),
    Second(testDescription: "a server error", status: .internalServerError, fields: [:]),
  ]

  @Test("The updates of a target are the responses that are stored for it", arguments: seconds)
  func updates(_ second: Second) async throws {
    let updates: AsyncStream<CacheEvent>
    do {
      let setting = try setting()
      let first: HTTPFields = [.cacheControl: "max-age=1", .eTag: "\"a\""]
      _ = try await setting.get("/", from: MemoryOrigin { _, _ in .ok("old", first) })
      try await setting.cache.fetches.emptied()
      setting.clock.advance(seconds: 2)
      updates = setting.cache.updates(for: .get("/", fields: [.accept: "anything"]))
      var request = HTTPRequest.get(second.path)
      request.method = second.method
      let origin = MemoryOrigin { _, _ in
        .ok(second.status == .notModified ? "" : "newer", second.fields, status: second.status)
      }
      let response = try await setting.cache.respond(
        to: request, partition: second.partition, transport: origin.transport)
      _ = try await response.body.collect(upTo: .max)
      #expect(origin.requests.count == 1)
      try await setting.cache.fetches.emptied()
    }
    var sizes: [Int?] = []
    for await update in updates { sizes.append(update.byteCount) }
    #expect(sizes == (second.isUpdate ? [5] : []))
  }

  @Test("The updates of a target follow the target rule, and end with the task that reads them")
  func updatesByRule() async throws {
    let setting = try Setting { $0.targetRule = .sortingParameters }
    let updates = setting.cache.updates(for: .get("/?b&a"))
    _ = try await setting.get("/?a&b", from: MemoryOrigin { _, _ in .ok("x", [.cacheControl: "max-age=60"]) })
    for await update in updates {
      #expect(update.uri.hasSuffix("/?a&b"))
      break
    }
    let reader = Task { for await _ in setting.cache.updates(for: .get("/")) {} }
    reader.cancel()
    await reader.value
  }

  @Test("A revalidation in the background is reported as forwarded, not as answered")
  func behind() async throws {
    let setting = try setting()
    let origin = MemoryOrigin { _, _ in .ok("x", [.cacheControl: "max-age=10, stale-while-revalidate=60"]) }
    _ = try await setting.get(from: origin)
    setting.clock.advance(seconds: 11)
    let (log, _) = listen(setting.cache)
    #expect(try await setting.get(from: origin).source == .stale)
    try await setting.cache.fetches.emptied()
    #expect(log.all.map(\.action) == [.served, .forwarded, .received, .stored])
    #expect(log.all.first?.source == .stale)
  }
}
