import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import Testing

@Suite("Concurrent requests for the same thing")
struct FlightTests {
  @Test("64 make one request to the origin, and all get the content")
  func collapsed() async throws {
    let setting = try Setting()
    let gate = Gate()
    let origin = MemoryOrigin { _, _ in
      await gate.wait()
      return .ok("content")
    }
    try await withThrowingTaskGroup(of: Answer.self) { group in
      for _ in 0..<64 { group.addTask { try await setting.get(from: origin) } }
      await gate.arrived(1)
      gate.open()
      var collapsed = 0
      for try await answer in group {
        #expect(answer.text == "content")
        if answer.response.cacheStatus.isCollapsed { collapsed += 1 }
      }
      #expect(collapsed <= 63)
    }
    #expect(origin.requests.count == 1)
  }

  @Test("What may not be shared is asked for by each")
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

  @Test("Of those that wait, each gets what its own fields select")
  func variants() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { request, _ in
      .ok(
        request.headerFields[.acceptLanguage] ?? "none",
        [.cacheControl: "max-age=60", .vary: "Accept-Language"])
    }
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

  @Test("A reload does not share a request that was sent before it")
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

  @Test("A failure is one failure for all who wait")
  func failure() async throws {
    let setting = try Setting()
    let gate = Gate()
    let origin = MemoryOrigin { _, _ in
      await gate.wait()
      throw Unreachable()
    }
    let leader = Task { try await setting.get(from: origin) }
    await gate.arrived(1)
    let follower = Task { try await setting.get(from: origin) }
    gate.open()
    await #expect(throws: Unreachable.self) { try await leader.value }
    await #expect(throws: Unreachable.self) { try await follower.value }
  }

  @Test("The one who caused the request may go; those who wait get the response")
  func leaderLeaves() async throws {
    let setting = try Setting()
    let (stream, feed) = AsyncThrowingStream<ArraySlice<UInt8>, any Error>.makeStream()
    let origin = MemoryOrigin { _, _ in .streamed(stream) }
    feed.yield(Array("first ".utf8)[...])
    var leader: CachedResponse? = try await setting.cache.respond(to: .get(), transport: origin.transport)
    #expect(leader?.source == .network)
    let followers = (0..<4).map { _ in Task { try await setting.get(from: origin) } }
    // They wait for the whole: none may be answered, and none may ask the origin, before it is there.
    for _ in 0..<50 { await Task.yield() }
    leader = nil
    feed.yield(Array("second".utf8)[...])
    feed.finish()
    for follower in followers { #expect(try await follower.value.text == "first second") }
  }

  @Test("A request that nobody waits for any more is cancelled, and the next one asks anew")
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
    let second = Task { try await setting.get(from: origin).text }
    for _ in 0..<50 { await Task.yield() }
    gate.open()
    #expect(try await second.value == "2")
  }
}
