// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Request coalescing", .timeLimit(.minutes(10)))
struct FetchTests {
  @Test("64 concurrent requests make one request to the origin, and all get the content")
  func collapsed() async throws {
    let setting = try Setting()
    let gate = Gate()
    let origin = MemoryOrigin(holding: [gate]) { _, _ in .ok("content") }
    try await withThrowingTaskGroup(of: Answer.self) { group in
      for _ in 0..<64 { group.addTask { try await setting.get(from: origin) } }
      try await setting.cache.fetches.followers(63)
      gate.open()
      var collapsed = 0
      for try await answer in group {
        #expect(answer.text == "content")
        if answer.response.cacheStatus.isCollapsed == true { collapsed += 1 }
      }
      #expect(collapsed == 63)
    }
    #expect(origin.requests.count == 1)
  }

  @Test("A response stored between the lookup and the fetch is a hit")
  func landedMeanwhile() async throws {
    let clock = MeddlingClock()
    let cache = HTTPCache(
      store: try CacheStore(.init(memoryCapacity: 1 << 20)), configuration: .init(), clock: clock)
    let origin = MemoryOrigin { _, _ in .ok("origin's") }
    let key = try #require(CacheKey(.get(), partition: ""))
    // The time is asked for between the two.
    clock.meddle { [weak cache] in
      guard let cache else { return }
      let (claim, _) = cache.fetches.join(FetchKey(key: key))
      cache.store(
        HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"]),
        content: Array("another's".utf8), for: .get())
      cache.fetches.close(claim.fetch)
    }
    let response = try await cache.respond(to: .get(), transport: origin.transport)
    #expect(try await response.body.collect(upTo: .max) == Array("another's".utf8)[...])
    #expect(response.source == .hit)
    #expect(origin.requests.isEmpty)
    #expect(cache.fetches.count == 0)
  }

  @Test("Ended fetches are known by key until too many have ended")
  func endings() throws {
    func key(_ number: Int) -> FetchKey {
      FetchKey(key: CacheKey(TargetURI(scheme: "http", authority: "a.example", path: "/\(number)")))
    }
    let fetches = FetchTable(clock: ManualClock(Timestamp(seconds: 0)))
    func end(_ number: Int) {
      let (claim, isLeader) = fetches.join(key(number))
      #expect(isLeader)
      fetches.close(claim.fetch)
    }
    let start = fetches.endCount
    #expect(!fetches.mayHaveEnded(key(1), since: start))
    for number in 1...40 { end(number) }
    #expect(fetches.mayHaveEnded(key(1), since: start) && fetches.mayHaveEnded(key(40), since: start))
    #expect(!fetches.mayHaveEnded(key(41), since: start))
    #expect(!fetches.mayHaveEnded(key(1), since: start + 1))
    for number in 1...40 { end(number) }
    #expect(fetches.mayHaveEnded(key(41), since: start))
    #expect(fetches.mayHaveEnded(key(1), since: start + 20))
    #expect(!fetches.mayHaveEnded(key(41), since: start + 20))
    #expect(!fetches.mayHaveEnded(key(1), since: fetches.endCount))
  }

  @Test("Concurrent requests for a response that must not be shared are all forwarded")
  func notShared() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, number in
      .ok("\(number)", [.cacheControl: "no-store"])
    }
    let texts = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<8 { group.addTask { try await setting.get(from: origin).text } }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(texts.count == 8)
    #expect(origin.requests.count == 8)
  }

  @Test("Each coalesced request gets the variant that its own fields select")
  func variants() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin.varyingOnLanguage()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<32 {
        let language = ["de", "en"][index % 2]
        group.addTask { () async throws in
          #expect(try await setting.get(from: origin, fields: [.acceptLanguage: language]).text == language)
        }
      }
      try await group.waitForAll()
    }
  }

  @Test(
    "A request that had to be forwarded itself is not reported as collapsed (RFC 9211 §2.6)",
    .timeLimit(.minutes(5)))
  func ownRequest() async throws {
    let setting = try Setting()
    let gate = Gate()
    let origin = MemoryOrigin { request, number in
      if number == 1 { await gate.wait() }
      return .ok(
        request.headerFields[.acceptLanguage] ?? "none",
        [.cacheControl: "max-age=60", .vary: "Accept-Language"])
    }
    async let first = setting.get(from: origin, fields: [.acceptLanguage: "de"])
    await gate.arrived(1)
    async let second = setting.get(from: origin, fields: [.acceptLanguage: "en"])
    try await setting.cache.fetches.followers(1)
    gate.open()
    #expect(try await first.response.cacheStatus.isCollapsed == nil)
    let answer = try await second
    #expect(answer.text == "en" && origin.requests.count == 2)
    #expect(answer.response.cacheStatus.isCollapsed == false)
  }

  @Test("A reload does not share a fetch that was sent before it")
  func reload() async throws {
    let setting = try Setting()
    let gate = Gate()
    let origin = MemoryOrigin { _, number in
      if number == 1 { await gate.wait() }
      return .ok("\(number)")
    }
    async let first = setting.get(from: origin)
    await gate.arrived(1)
    #expect(try await setting.get(from: origin, policy: .reloadIgnoringLocalCacheData).text == "2")
    gate.open()
    #expect(try await first.text == "1")
  }

  @Test("An error of the origin fails all coalesced requests")
  func failure() async throws {
    let setting = try Setting()
    let gate = Gate()
    let origin = MemoryOrigin(holding: [gate]) { _, _ in throw Unreachable() }
    let leader = Task { try await setting.get(from: origin) }
    await gate.arrived(1)
    let follower = Task { try await setting.get(from: origin) }
    gate.open()
    await #expect(throws: Unreachable.self) { try await leader.value }
    await #expect(throws: Unreachable.self) { try await follower.value }
  }

  @Test("Coalesced requests get the response after the first caller leaves")
  func leaderLeaves() async throws {
    let setting = try Setting()
    let (stream, feed) = ByteStream.makeStream()
    let origin = MemoryOrigin { _, _ in .streamed(stream) }
    feed.yield(Array("first ".utf8)[...])
    var leader: CachedResponse? = try await setting.cache.respond(to: .get(), transport: origin.transport)
    #expect(leader?.source == .network)
    let followers = (0..<4).map { _ in Task { try await setting.get(from: origin) } }
    // They read what comes, or wait for the whole: none may ask the origin.
    try await setting.cache.fetches.followers(4)
    leader = nil
    feed.yield(Array("second".utf8)[...])
    feed.finish()
    for follower in followers { #expect(try await follower.value.text == "first second") }
    #expect(origin.requests.count == 1)
  }

  @Test("A fetch without callers is cancelled, and the next request starts another")
  func abandoned() async throws {
    let setting = try Setting()
    let gate = Gate()
    let origin = MemoryOrigin { _, number in
      if number == 1 {
        await gate.wait()
        try Task.checkCancellation()
      }
      return .ok("\(number)")
    }
    let first = Task { try await setting.get(from: origin) }
    await gate.arrived(1)
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    // It does not wait for the end of the old one.
    #expect(try await setting.get(from: origin).text == "2")
    gate.open()
  }

  private func table() -> FetchTable { FetchTable(clock: ManualClock(Timestamp(seconds: 0))) }

  @Test("A caller that leaves before it takes its response leaves no reader behind")
  func leaderLeavesItsResponse() async throws {
    let transfer = Transfer(length: nil, writer: nil, budget: TransitBudget(capacity: 1 << 20))
    let claim = Fetch.make(in: table())
    do {
      let reader = TransferReader(
        transfer, try #require(transfer.addReader()), try #require(claim.fetch.claim(isLeader: true)))
      claim.fetch.deliver(
        .success(
          CachedResponse(
            head: HTTPResponse(status: .ok), body: MessageBody(reader), source: .network,
            reason: .fromOrigin, cacheStatus: CacheStatus(cache: "test"))))
    }
    #expect(transfer.isRead)
    let leader = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await claim.fetch.response()
    }
    await #expect(throws: CancellationError.self) { _ = try await leader.value }
    #expect(!transfer.isRead)
  }

  private func isEnded(_ waited: Fetch.Waited, _ isExpected: (Fetch.Ending) -> Bool) -> Bool {
    if case .ended(let ending) = waited { isExpected(ending) } else { false }
  }

  @Test("A leader that leaves before its request is sent ends the fetch for its followers")
  func unsent() async throws {
    let (table, key) = (table(), FetchKey(key: try #require(CacheKey(.get(), partition: ""))))
    var leader: Fetch.Claim? = table.join(key).claim
    let (follower, isLeader) = table.join(key)
    #expect(!isLeader && leader != nil)
    async let waited = follower.follow()
    leader = nil
    #expect(isEnded(await waited) { if case .notShared = $0 { true } else { false } })
    #expect(table.count == 0 && table.join(key).isLeader)
  }

  @Test("A request has waited for long enough at the limit after it joined, whenever its task got a turn")
  func limit() async throws {
    let clock = ManualClock(Timestamp(seconds: 0))
    let table = FetchTable(clock: clock, patience: .seconds(3))
    let key = FetchKey(key: try #require(CacheKey(.get(), partition: "")))
    let (leader, follower) = (table.join(key).claim, table.join(key).claim)
    clock.advance(seconds: 3)
    guard case .overdue = await follower.follow() else {
      Issue.record("the fetch has ended")
      return
    }
    withExtendedLifetime(leader) {}
  }

  @Test("A fetch whose task ends without a result ends for its followers and for its leader")
  func noResult() async throws {
    let (table, key) = (table(), FetchKey(key: try #require(CacheKey(.get(), partition: ""))))
    let leader = table.join(key).claim
    let follower = table.join(key).claim
    let gate = Gate()
    leader.fetch.run { _ in await gate.wait() }
    let response = Task { try await leader.fetch.response() }
    async let waited = follower.follow()
    gate.open()
    #expect(isEnded(await waited) { if case .abandoned = $0 { true } else { false } })
    await #expect(throws: CancellationError.self) { _ = try await response.value }
    #expect(table.count == 0)
  }

  @Test("Only the first end of a fetch counts")
  func firstEnd() async throws {
    let (table, key) = (table(), FetchKey(key: try #require(CacheKey(.get(), partition: ""))))
    let (leader, follower) = (table.join(key).claim, table.join(key).claim)
    leader.fetch.finish(.notShared)
    leader.fetch.finish(.abandoned)
    #expect(isEnded(await follower.follow()) { if case .notShared = $0 { true } else { false } })
  }

  @Test("An abandoned fetch accepts no further requests, and its task is cancelled")
  func latecomer() async throws {
    var claim: Fetch.Claim? = Fetch.make(in: table())
    let fetch = try #require(claim?.fetch)
    let isCancelled = Gate()
    fetch.run { _ in
      await untilCancelled()
      isCancelled.open()
    }
    #expect(fetch.claim() != nil)
    claim = nil
    await isCancelled.wait()
    #expect(fetch.claim() == nil)
  }

  /// Counts the jobs that it gets.
  private final class CountingExecutor: TaskExecutor {
    let jobs = Atomic(0)

    func enqueue(_ job: consuming ExecutorJob) {
      jobs.wrappingAdd(1, ordering: .relaxed)
      let job = UnownedJob(job)
      globalConcurrentExecutor.enqueue(ExecutorJob(job))
    }
  }

  @Test("A fetch runs on the caller's executor, unless the disk may block it", arguments: [false, true])
  func executor(hasDisk: Bool) async throws {
    try await withTemporaryDirectory { directory in
      let cache = try HTTPCache(
        .init(memoryCapacity: 1 << 20, diskCapacity: 1 << 20, directory: hasDisk ? directory : nil))
      let executor = CountingExecutor()
      let response = try await cache.respond(
        to: .get(), body: .empty, policy: .useProtocolCachePolicy, interim: nil, on: executor
      ) { _, _ in .ok("content") }
      #expect(try await response.body.collect(upTo: 100) == Array("content".utf8)[...])
      #expect((executor.jobs.load(ordering: .relaxed) > 0) == !hasDisk)
    }
  }

  @Test("Requests after an abandoned fetch share one new fetch before the old one ends")
  func givenUp() async throws {
    let setting = try Setting()
    let (old, new) = (Gate(), Gate())
    let origin = MemoryOrigin(holding: [old, new], each: 1) { .ok("\($1)") }
    let first = Task { try await setting.get(from: origin) }
    await old.arrived(1)
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    let others = (0..<8).map { _ in Task { try await setting.get(from: origin).text } }
    await new.arrived(1)
    try await setting.cache.fetches.followers(7)
    new.open()
    for other in others { #expect(try await other.value == "2") }
    #expect(origin.requests.count == 2)
    old.open()
  }

  @Test("A coalesced request does not wait for the end of a no-cache response")
  func unendingNoCache() async throws {
    let setting = try Setting()
    let (stream, feed) = ByteStream.makeStream()
    let gate = Gate()
    let origin = MemoryOrigin { _, number in
      if number == 1 {
        await gate.wait()
        return .streamed(stream, [.cacheControl: "no-cache"])
      }
      return .ok("\(number)")
    }
    let leader = Task { try await setting.cache.respond(to: .get(), transport: origin.transport) }
    await gate.arrived(1)
    let follower = Task { try await setting.get(from: origin).text }
    try await setting.cache.fetches.followers(1)
    gate.open()
    let response = try await leader.value
    #expect(try await follower.value == "2")
    #expect(try await setting.get(from: origin).text != "1")
    feed.finish()
    _ = try await response.body.collect(upTo: .max)
    #expect(setting.cache.fetches.count == 0)
  }

  @Test("A response that proves too large to be stored reaches all coalesced requests")
  func tooLarge() async throws {
    // A fifth of a quarter: neither reader is left behind.
    let setting = try Setting { $0.transitCapacity = 256 << 20 }
    let (stream, feed) = ByteStream.makeStream()
    let origin = MemoryOrigin { _, number in number == 1 ? .streamed(stream) : .ok("\(number)") }
    let leader = try await setting.cache.respond(to: .get(), transport: origin.transport)
    let follower = Task { try await setting.get(from: origin).text }
    try await setting.cache.fetches.followers(1)
    let piece = [UInt8](repeating: 65, count: 1 << 20)
    for _ in 0..<5 { feed.yield(piece[...]) }
    feed.finish()
    #expect(try await leader.body.collect(upTo: .max).count == 5 << 20)
    #expect(try await follower.value.utf8.count == 5 << 20)
    #expect(setting.log.reasons(.notStored) == [.tooLargeForMemory])
    #expect(origin.requests.count == 1)
    #expect(setting.cache.fetches.count == 0)
  }

  @Test(
    "A request after an invalidation does not get the response of an earlier fetch (§4.4)",
    arguments: [false, true])
  func invalidatedMeanwhile(hasHead: Bool) async throws {
    let setting = try Setting()
    let (stream, feed) = ByteStream.makeStream()
    let gate = Gate()
    let origin = MemoryOrigin { _, number in
      guard number == 1 else { return .ok("\(number)") }
      if !hasHead { await gate.wait() }
      return .streamed(stream)
    }
    func get() -> Task<String, any Error> { Task { try await setting.get(from: origin).text } }
    let first = get()
    try await origin.reach(1)
    let second = get()
    try await setting.cache.fetches.followers(1)
    var post = HTTPRequest.get()
    post.method = .post
    _ = try await setting.cache.respond(to: post, transport: origin.transport)
    let third = get()
    try await origin.reach(3)
    gate.open()
    feed.yield(Array("1".utf8)[...])
    feed.finish()
    #expect(try await third.value == "3")
    #expect(try await first.value == "1")
    // It asked before the invalidation, and may have the one or the other.
    _ = try await second.value
    #expect(try await setting.get(from: origin).text != "1")
    #expect(setting.cache.fetches.count == 0)
  }

  @Test("A transfer that loses its last reader before the end is not stored")
  func allLeave() async throws {
    let setting = try Setting()
    let gate = Gate()
    let taken = Gate()
    let pieces = HalfAStream(taken: taken)
    let origin = MemoryOrigin(holding: [gate]) { _, _ in
      .streamed(AsyncThrowingStream { await pieces.next() })
    }
    let leader = Task { try await setting.get(from: origin) }
    await gate.arrived(1)
    let follower = Task { try await setting.get(from: origin) }
    try await setting.cache.fetches.followers(1)
    leader.cancel()
    await #expect(throws: CancellationError.self) { try await leader.value }
    gate.open()
    await taken.wait()
    follower.cancel()
    await #expect(throws: CancellationError.self) { try await follower.value }
    try await setting.log.reach(.notStored)
    #expect(setting.cache.storedResponse(for: .get()) == nil)
  }
}

/// A clock that stands, and lets something happen when it is looked at for the first time.
private final class MeddlingClock: CacheClock {
  private let meddling = Mutex<(@Sendable () -> Void)?>(nil)

  func meddle(_ body: @escaping @Sendable () -> Void) { meddling.withLock { $0 = body } }

  var now: Timestamp {
    let body = meddling.withLock { body in
      defer { body = nil }
      return body
    }
    body?()
    return Timestamp(seconds: 1_700_000_000)
  }
}

/// Gives one piece; then waits, and when it is cancelled ends without an error, as an `AsyncStream` does.
private actor HalfAStream {
  private var isTaken = false
  private let taken: Gate

  init(taken: Gate) {
    self.taken = taken
  }

  func next() async -> ArraySlice<UInt8>? {
    guard isTaken else {
      isTaken = true
      return Array("half".utf8)[...]
    }
    taken.open()
    await untilCancelled()
    return nil
  }
}
