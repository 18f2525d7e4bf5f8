// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Requests that wait for each other", .timeLimit(.minutes(10)))
struct WaitingTests {
  private static let authorization: HTTPFields = [.authorization: "Bearer a"]

  private func gates(_ count: Int) -> [Gate] { (0..<count).map { _ in Gate() } }

  private func get(
    _ count: Int, _ setting: Setting, _ origin: MemoryOrigin, fields: HTTPFields = [:]
  ) -> [Task<Answer, any Error>] {
    (0..<count).map { _ in Task { try await setting.get(from: origin, fields: fields) } }
  }

  /// A response that answers only its own request.
  enum Alone: String, CaseIterable {
    case noStore, noCache, noCacheWithValidator, stale, varyStar, setsCookie, undeclaredError
    case streamNoCache, large

    private static let largeContent = String(repeating: "0", count: 5 << 20)

    func response(_ number: Int) -> TransportResponse {
      switch self {
      case .noStore: .ok("\(number)", [.cacheControl: "no-store"])
      case .noCache: .ok("\(number)", [.cacheControl: "no-cache"])
      case .noCacheWithValidator: .ok("\(number)", [.cacheControl: "no-cache", .eTag: "\"\(number)\""])
      case .stale: .ok("\(number)", [.cacheControl: "max-age=0"])
      case .varyStar: .ok("\(number)", [.cacheControl: "max-age=60", .vary: "*"])
      case .setsCookie: .ok("\(number)", [.setCookie: "a=\(number)"])
      case .undeclaredError: .ok("\(number)", [:], status: .forbidden)
      case .streamNoCache:
        TransportResponse(
          head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "no-cache"]),
          body: MessageBody(inPieces: "\(number)".utf8))
      case .large: .ok(Self.largeContent)
      }
    }
  }

  @Test(
    "Once a response could not be shared, requests for it do not wait for each other",
    arguments: Alone.allCases, [CacheEngine.Configuration.Kind.shared, .private])
  func alone(kind: Alone, cache: CacheEngine.Configuration.Kind) async throws {
    // A private cache stores cookies for its only user.
    if kind == .setsCookie, cache == .private { return }
    let setting = try Setting(kind: cache)
    let origin = MemoryOrigin(holding: gates(3), each: 4) { kind.response($1) }
    let first = get(4, setting, origin)
    // Nothing is known yet.
    try await setting.cache.fetches.followers(3)
    origin.gates[0].open()
    for request in first { _ = try await request.value }
    #expect(origin.requests.count == 4)
    for round in 1...2 {
      let next = get(4, setting, origin)
      await origin.gates[round].arrived(4)
      #expect(setting.cache.fetches.followerCount == 0)
      origin.gates[round].open()
      for request in next { _ = try await request.value }
    }
    #expect(origin.requests.count == 12)
  }

  @Test(
    "After two minutes, or when a response is stored that others can use, requests wait for each other again")
  func forgets() async throws {
    for isStored in [false, true] {
      let setting = try Setting()
      let gate = Gate()
      let origin = MemoryOrigin { _, number in
        if number > (isStored ? 2 : 1) { await gate.wait() }
        return .ok("\(number)", [.cacheControl: isStored && number == 2 ? "max-age=1" : "no-store"])
      }
      _ = try await setting.get(from: origin)
      if isStored { _ = try await setting.get(from: origin) } else { setting.clock.advance(seconds: 118) }
      setting.clock.advance(seconds: 2)
      let requests = get(3, setting, origin)
      try await setting.cache.fetches.followers(2)
      gate.open()
      for request in requests { _ = try await request.value }
    }
  }

  /// A request whose response says nothing of the next one.
  @Test(
    "What one request forbids, and an error ten seconds ago, do not part the others",
    arguments: [false, true])
  func together(isError: Bool) async throws {
    let setting = try Setting(kind: .shared)
    let gate = Gate()
    let origin = MemoryOrigin { _, number in
      if number > 1 { await gate.wait() }
      return number == 1 && isError ? .ok("", [:], status: .serviceUnavailable) : .ok("\(number)")
    }
    _ = try await setting.get(from: origin, fields: isError ? [:] : [.cacheControl: "no-store"])
    if isError { setting.clock.advance(seconds: 10) }
    let requests = get(3, setting, origin)
    try await setting.cache.fetches.followers(2)
    gate.open()
    for request in requests { #expect(try await request.value.text == "2") }
  }

  @Test("A request that forbids the storing of its response neither waits nor is waited for")
  func forbidsStoring() async throws {
    let setting = try Setting()
    let gates = [Gate(), Gate()]
    let origin = MemoryOrigin { request, _ in
      let forbids = request.headerFields[.cacheControl] != nil
      await gates[forbids ? 0 : 1].wait()
      return .ok(forbids ? "own" : "stored")
    }
    let forbidding = get(3, setting, origin, fields: [.cacheControl: "no-store"])
    await gates[0].arrived(3)
    let others = get(3, setting, origin)
    try await setting.cache.fetches.followers(2)
    gates[1].open()
    for request in others { #expect(try await request.value.text == "stored") }
    gates[0].open()
    for request in forbidding { #expect(try await request.value.text == "own") }
    #expect(origin.requests.count == 4)
  }

  @Test(
    "Requests do not wait for each other whatever their directives, once the response could not be shared",
    arguments: ["max-age=0", "max-stale=10", "no-transform"], [HTTPResponse.Status.ok, .serviceUnavailable])
  func directives(directive: String, status: HTTPResponse.Status) async throws {
    let setting = try Setting(kind: .shared)
    let origin = MemoryOrigin(holding: gates(2), each: 1) {
      .ok("\($1)", [.cacheControl: "no-store"], status: status)
    }
    origin.gates[0].open()
    let fields: HTTPFields = [.cacheControl: directive]
    _ = try await setting.get(from: origin, fields: fields)
    let requests = get(3, setting, origin, fields: fields)
    await origin.gates[1].arrived(3)
    origin.gates[1].open()
    for request in requests { _ = try await request.value }
  }

  @Test(
    "In a shared cache, requests with credentials wait for each other only once a response was shared (§3.5)",
    arguments: ["private", "max-age=60", "no-store"])
  func credentials(cacheControl: String) async throws {
    let setting = try Setting(kind: .shared)
    let origin = MemoryOrigin(holding: gates(3), each: 4) { .ok("\($1)", [.cacheControl: cacheControl]) }
    for gate in origin.gates {
      let requests = get(4, setting, origin, fields: Self.authorization)
      await gate.arrived(4)
      gate.open()
      let texts = try await texts(requests)
      #expect(Set(texts).count == 4)
    }
  }

  private func texts(_ requests: [Task<Answer, any Error>]) async throws -> [String] {
    var texts: [String] = []
    for request in requests { texts.append(try await request.value.text) }
    return texts
  }

  @Test("A shared response to a request with credentials is known, so that the next requests share a fetch")
  func sharedCredentials() async throws {
    for isStored in [false, true] {
      let setting = try Setting(kind: .shared)
      let gate = Gate()
      let origin = MemoryOrigin { _, number in
        if number > 1 { await gate.wait() }
        return .ok("\(number)", [.cacheControl: "public, max-age=60"])
      }
      _ = try await setting.get(from: origin, fields: Self.authorization)
      if !isStored { setting.cache.remove(.all) } else { setting.clock.advance(seconds: 200) }
      let requests = get(4, setting, origin, fields: Self.authorization)
      try await setting.cache.fetches.followers(3)
      gate.open()
      #expect(try await texts(requests) == ["2", "2", "2", "2"])
    }
  }

  @Test("A user's request does not wait behind another user's")
  func otherUsers() async throws {
    let setting = try Setting(kind: .shared)
    let gate = Gate()
    let origin = MemoryOrigin { request, _ in
      if request.headerFields[.authorization] == "slow" { await gate.wait() }
      return .ok("fast")
    }
    let slow = get(1, setting, origin, fields: [.authorization: "slow"])
    await gate.arrived(1)
    #expect(try await setting.get(from: origin, fields: [.authorization: "fast"]).text == "fast")
    gate.open()
    _ = try await texts(slow)
  }

  @Test(
    "A request waits for another no longer than the limit, and later ones do not wait for a silent origin")
  func overdue() async throws {
    let setting = try Setting { $0.followerTimeout = .seconds(3) }
    let (silent, gate) = (Gate(), Gate())
    let origin = MemoryOrigin(holding: [silent, gate], each: 1) { .ok("\($1)") }
    let first = get(1, setting, origin)
    await silent.arrived(1)
    let others = get(5, setting, origin)
    try await setting.cache.fetches.followers(5)
    try await setting.clock.sleepers()
    setting.clock.advance(seconds: 3)
    await gate.arrived(5)
    let later = get(1, setting, origin)
    await gate.arrived(6)
    gate.open()
    #expect(Set(try await texts(others)) == ["2", "3", "4", "5", "6"])
    #expect(try await texts(later) == ["7"])
    silent.open()
    #expect(try await texts(first) == ["1"])
    try await setting.cache.fetches.emptied()
  }

  @Test("Each request waits for the limit from its own beginning")
  func overdueOneByOne() async throws {
    let setting = try Setting { $0.followerTimeout = .seconds(3) }
    let (silent, gate) = (Gate(), Gate())
    let origin = MemoryOrigin(holding: [silent, gate], each: 1) { .ok("\($1)") }
    let first = get(1, setting, origin)
    await silent.arrived(1)
    let early = get(1, setting, origin)
    try await setting.cache.fetches.followers(1)
    try await setting.clock.sleepers()
    setting.clock.advance(seconds: 2)
    let late = get(1, setting, origin)
    try await setting.cache.fetches.followers(2)
    setting.clock.advance(seconds: 1)
    await gate.arrived(1)
    gate.open()
    #expect(try await texts(early) == ["2"])
    // The other one waits on, and then finds what is stored.
    try await setting.clock.sleepers()
    setting.clock.advance(seconds: 3)
    #expect(try await texts(late) == ["2"])
    silent.open()
    #expect(try await texts(first) == ["1"])
    #expect(origin.requests.count == 2)
  }

  @Test("A validated response answers the requests that waited for the validation")
  func validated() async throws {
    let setting = try Setting()
    let gate = Gate()
    let origin = MemoryOrigin { _, number in
      let fields: HTTPFields = [.cacheControl: "max-age=1", .eTag: "\"1\""]
      if number == 1 { return .ok("1", fields) }
      await gate.wait()
      return .ok("", fields, status: .notModified)
    }
    _ = try await setting.get(from: origin)
    setting.clock.advance(seconds: 10)
    let requests = get(4, setting, origin)
    try await setting.cache.fetches.followers(3)
    gate.open()
    var statuses: [CacheStatus] = []
    for request in requests {
      let answer = try await request.value
      #expect(answer.text == "1")
      statuses.append(answer.response.cacheStatus)
    }
    #expect(statuses.count { $0.isCollapsed == true && $0.forwardStatus == 304 } == 3)
    #expect(origin.requests.count == 2)
  }

  @Test("After an answer that the cache generates, the waiting requests send their own at once")
  func generated() async throws {
    let setting = try Setting(kind: .shared)
    let origin = MemoryOrigin(holding: gates(2), each: 1) { _, _ in .ok("", [:], status: .notModified) }
    let requests = get(4, setting, origin)
    try await setting.cache.fetches.followers(3)
    origin.gates[0].open()
    // None of them waits for another.
    await origin.gates[1].arrived(3)
    origin.gates[1].open()
    for request in requests { #expect(try await request.value.source == .generated) }
  }

  @Test(
    "Content that may have no room in flight is not shared, so a slow client loses none of it to a fast one")
  func withoutRoom() async throws {
    let setting = try Setting { $0.transitCapacity = 256 << 10 }
    let content = [UInt8](repeating: 7, count: 1 << 20)
    let gate = Gate()
    let origin = MemoryOrigin { _, number in
      if number == 1 { await gate.wait() }
      let (stream, feed) = ByteStream.makeStream()
      for start in stride(from: 0, to: content.count, by: 64 << 10) {
        feed.yield(content[start..<start + (64 << 10)])
      }
      feed.finish()
      return .streamed(stream, length: content.count)
    }
    let requests = (0..<3).map { _ in
      Task { try await setting.cache.respond(to: .get(), transport: origin.transport) }
    }
    try await setting.cache.fetches.followers(2)
    gate.open()
    for request in requests {
      #expect(try await request.value.body.collect(upTo: 2 << 20).elementsEqual(content))
    }
    #expect(origin.requests.count == 3)
  }

  @Test("After the application has refused a response, the waiting requests send their own at once")
  func refusedByApplication() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin(holding: gates(2), each: 1) { .ok("\($1)") }
    let requests = (0..<4).map { _ in
      Task {
        try await setting.cache.respond(
          to: .get(), willStore: { $0.tiers = [] }, transport: origin.transport)
      }
    }
    try await setting.cache.fetches.followers(3)
    origin.gates[0].open()
    await origin.gates[1].arrived(3)
    origin.gates[1].open()
    for request in requests { #expect(try await request.value.source == .network) }
  }

  @Test("A response that ends early is fetched once more for those that wait for its end")
  func endsEarly() async throws {
    let setting = try Setting()
    let gates = [Gate(), Gate()]
    let origin = MemoryOrigin { _, number in
      let gate = gates[min(number, 2) - 1]
      return .streamed(
        AsyncThrowingStream {
          await gate.wait()
          throw Unreachable()
        })
    }
    // With a hook, the content of another's response cannot be read as it arrives.
    let requests = (0..<3).map { _ in
      Task {
        try await setting.cache.respond(to: .get(), willStore: { _ in }, transport: origin.transport)
          .body.collect(upTo: 10)
      }
    }
    await gates[0].arrived(1)
    try await setting.cache.fetches.followers(2)
    gates[0].open()
    await gates[1].arrived(1)
    try await setting.cache.fetches.followers(1)
    gates[1].open()
    for request in requests { await #expect(throws: Unreachable.self) { try await request.value } }
    #expect(origin.requests.count == 2)
  }

  @Test("If a fetch fails, one of the waiting requests repeats it for all", arguments: [false, true])
  func failure(failsAgain: Bool) async throws {
    let setting = try Setting()
    let gates = [Gate(), Gate()]
    let origin = MemoryOrigin(holding: gates, each: 1) { _, number in
      if number == 1 || failsAgain { throw Unreachable() }
      return .ok("\(number)")
    }
    let first = get(1, setting, origin)
    await gates[0].arrived(1)
    let others = get(4, setting, origin)
    try await setting.cache.fetches.followers(4)
    gates[0].open()
    await #expect(throws: Unreachable.self) { try await first[0].value }
    try await setting.cache.fetches.followers(3)
    gates[1].open()
    for request in others {
      if failsAgain {
        await #expect(throws: Unreachable.self) { try await request.value }
      } else {
        #expect(try await request.value.text == "2")
      }
    }
    #expect(origin.requests.count == 2)
    try await setting.cache.fetches.emptied()
  }

  @Test("If a fetch fails, the waiting requests use a stale response where that is allowed")
  func failureWithStale() async throws {
    let setting = try Setting()
    let gate = Gate()
    let origin = MemoryOrigin { _, number in
      if number == 1 { return .ok("old", [.cacheControl: "max-age=1, stale-if-error=600"]) }
      await gate.wait()
      throw Unreachable()
    }
    _ = try await setting.get(from: origin)
    setting.clock.advance(seconds: 10)
    let requests = get(4, setting, origin)
    try await setting.cache.fetches.followers(3)
    gate.open()
    for request in requests { #expect(try await request.value.reason == .staleIfError) }
    #expect(origin.requests.count == 2)
  }

  @Test(
    "A response that is stale only because it took long answers the requests that waited for it, and no others",
    arguments: [false, true])
  func slowResponse(isStreamed: Bool) async throws {
    let setting = try Setting(kind: .shared)
    let gate = Gate()
    let origin = MemoryOrigin { _, number in
      if number == 1 { await gate.wait() }
      let fields: HTTPFields = [.cacheControl: "max-age=1"]
      var response = TransportResponse.ok("\(number)", fields)
      if isStreamed { response.body = MessageBody(inPieces: "\(number)".utf8) }
      return response
    }
    let requests = get(20, setting, origin)
    try await setting.cache.fetches.followers(19)
    setting.clock.advance(seconds: 2)
    gate.open()
    for request in requests {
      let answer = try await request.value
      #expect(answer.text == "1")
      // The age is what it is (§4.2.3).
      if answer.source == .hit {
        #expect(answer.response.head.headerFields[.age] == "2")
        #expect(answer.response.cacheStatus.isCollapsed == true)
      }
    }
    #expect(origin.requests.count == 1)
    #expect(try await setting.get(from: origin).text == "2")
  }
}
