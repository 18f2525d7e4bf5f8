// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheStore
import Hummingbird
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import HTTPCacheHummingbird
@testable import HTTPCaching

@Suite("Streamed content", .serialized, .timeLimit(.minutes(10)))
struct StreamingTests {
  /// Writes so many pieces of 64 KiB.
  private static func stream(
    _ count: Int, _ fields: HTTPFields, started: Runs? = nil, ended: Runs? = nil, pieces: Runs? = nil
  ) -> Response {
    let piece = ByteBuffer(repeating: 0x61, count: 64 << 10)
    return Response(
      status: .ok, headers: fields,
      body: .init { writer in
        started?.next()
        defer { ended?.next() }
        for _ in 0..<count {
          try await writer.write(piece)
          pieces?.next()
        }
        try await writer.finish([.expires: "ok"])
      })
  }

  /// Writes its last piece when the gate is open.
  private static func heldBack(_ gate: Gate, _ runs: Runs) -> Response {
    runs.next()
    return Response(
      status: .ok, headers: [.cacheControl: "max-age=60"],
      body: .init { writer in
        try await writer.write(ByteBuffer(string: "first"))
        await gate.wait()
        try await writer.write(ByteBuffer(string: " last"))
        try await writer.finish(nil)
      })
  }

  @Test(
    "100 MiB pass through, and nothing of them stays", arguments: ["max-age=60", "no-store"])
  func large(cacheControl: String) async throws {
    let (setting, pieces, ended) = (try Setting { $0.transitCapacity = 8 << 20 }.caching(), Runs(), Runs())
    setting.router.get("large") { _, _ in
      Self.stream(1600, [.cacheControl: cacheControl], ended: ended, pieces: pieces)
    }
    try await setting.run { server in
      let cache = setting.cache
      let (count, used) = try await Client.connect(to: server.port).talk { client in
        try await client.send(.get, "/large")
        #expect(try await client.head().status == 200)
        var (count, used) = (0, 0)
        while let chunk = try await client.chunk() {
          count += chunk.readableBytes
          used = max(used, cache.transit.used)
        }
        return (count, used)
      }
      #expect(count == 1600 << 16)
      #expect(used <= 16 << 20)
      try await ended.reached(1)
      try await eventually { cache.transit.used == 0 }
    }
  }

  @Test("Content that may be read once is read once, whatever its length", arguments: [0, 1, 1 << 10])
  func readOnce(length: Int) async throws {
    let reads = Runs()
    let body = ResponseBody(contentLength: length) { writer in
      reads.next()
      if length > 0 { try await writer.write(ByteBuffer(repeating: 0x61, count: length)) }
      try await writer.finish(nil)
    }
    let setting = try Setting().caching()
    // Refused, so the client gets the handler's own response.
    setting.router.get("once") { _, _ in
      Response(status: .ok, headers: [.cacheControl: "no-store"], body: body)
    }
    try await setting.run { server in
      let reply = try await server.send(.get, "/once")
      #expect(reply.status == 200)
      #expect(reply.body.readableBytes == length)
    }
    #expect(reads.count == 1)
  }

  @Test("The handler waits for its reader: one piece is in flight")
  func rendezvous() async throws {
    let (pieces, ended) = (Runs(), Runs())
    let trailers = HandlerContent.Trailers()
    let content = HandlerContent(Self.stream(100, [:], ended: ended, pieces: pieces).body, trailers)
    var iterator = content.makeAsyncIterator()
    for number in 1...100 {
      let piece = try await iterator.next()
      #expect(piece?.count == 64 << 10)
      #expect((number - 1...number).contains(pieces.count))
    }
    let end = try await iterator.next()
    #expect(end == nil)
    try await ended.reached(1)
    #expect(trailers.fields?[.expires] == "ok")
  }

  @Test("A reader that is released, or cancelled, ends the handler", arguments: [true, false])
  func released(isCancelled: Bool) async throws {
    let (started, ended) = (Runs(), Runs())
    let content = HandlerContent(
      Self.stream(.max, [:], started: started, ended: ended).body, HandlerContent.Trailers())
    let reading = Task {
      for try await _ in content where !isCancelled { break }
      try Task.checkCancellation()
    }
    if isCancelled {
      try await started.reached(1)
      reading.cancel()
      await #expect(throws: CancellationError.self) { try await reading.value }
    } else {
      try await reading.value
    }
    try await ended.reached(1)
  }

  @Test("The first piece arrives before the last is written, for all clients")
  func arriving() async throws {
    let (setting, gate, runs) = (try Setting().caching(), Gate(), Runs())
    setting.router.get("a") { _, _ in Self.heldBack(gate, runs) }
    try await setting.run { server in
      try await Client.connect(to: server.port).talk { one in
        try await one.send(.get, "/a")
        _ = try await one.head()
        #expect(try await one.chunk().map { String(buffer: $0) } == "first")
        try await Client.connect(to: server.port).talk { two in
          try await two.send(.get, "/a")
          _ = try await two.head()
          #expect(try await two.chunk().map { String(buffer: $0) } == "first")
          gate.open()
          #expect(try await two.chunk().map { String(buffer: $0) } == " last")
        }
      }
      #expect(try await server.send(.get, "/a").text == "first last")
      #expect(runs.count == 1)
    }
  }

  @Test(
    "A client that leaves ends the handler's content, and nothing stays",
    arguments: ["max-age=60", "no-store"])
  func leaving(cacheControl: String) async throws {
    let (setting, started, ended) = (try Setting().caching(), Runs(), Runs())
    setting.router.get("endless") { _, _ in
      Self.stream(.max, [.cacheControl: cacheControl], started: started, ended: ended)
    }
    let before = LiveCount.Kind.allCases.map(\.count)
    try await setting.run { server in
      for number in 0..<20 {
        try await Client.connect(to: server.port).talk { client in
          try await client.send(.get, "/endless?\(number)")
          _ = try await client.head()
          _ = try await client.chunk()
        }
      }
      try await ended.reached(20)
      try await setting.cache.fetches.emptied()
    }
    #expect(started.count == 20)
    // Other tests may run at the same time.
    try await eventually { zip(LiveCount.Kind.allCases, before).allSatisfy { $0.count <= $1 } }
  }

  @Test("If one of two readers leaves, the other gets all of the content")
  func oneLeaves() async throws {
    let watch = CoalescingWatch()
    let (setting, gate, runs) = (try Setting { $0.tracer = watch }.caching(), Gate(), Runs())
    setting.router.get("a") { _, _ in Self.heldBack(gate, runs) }
    try await setting.run { server in
      async let other = server.send(.get, "/a")
      try await Client.connect(to: server.port).talk { one in
        try await one.send(.get, "/a")
        _ = try await one.head()
        _ = try await one.chunk()
        try await watch.followers(1)
      }
      gate.open()
      #expect(try await other.text == "first last")
      #expect(runs.count == 1)
    }
  }

  @Test("Trailers reach the client whose request ran the handler", arguments: ["max-age=60", "no-store"])
  func trailers(cacheControl: String) async throws {
    let setting = try Setting().caching()
    setting.router.get("a") { _, _ in Self.stream(2, [.cacheControl: cacheControl]) }
    try await setting.run { server in
      let reply = try await server.send(.get, "/a")
      #expect(reply.body.readableBytes == 2 << 16)
      #expect(reply.trailers?.first(name: "expires") == "ok")
    }
  }

  @Test("Content that ends without finish, or in an error, is not stored", arguments: [true, false])
  func broken(throwsError: Bool) async throws {
    struct Broken: Error {}
    let (setting, runs) = (try Setting().caching(), Runs())
    setting.router.get("a") { _, _ in
      runs.next()
      return Response(
        status: .ok, headers: [.cacheControl: "max-age=60"],
        body: .init { writer in
          try await writer.write(ByteBuffer(string: "first"))
          if throwsError { throw Broken() }
        })
    }
    try await setting.run { server in
      for run in 1...2 {
        await #expect(throws: (any Error).self) { try await server.send(.get, "/a") }
        #expect(runs.count == run)
      }
    }
  }

  @Test("A request's content streams to the handler")
  func request() async throws {
    let setting = try Setting().caching()
    setting.router.post("echo") { request, _ in
      var text = ""
      for try await chunk in request.body { text += String(buffer: chunk) }
      return Response(text)
    }
    setting.router.post("stream") { request, _ in
      Response(status: .ok, body: .init(asyncSequence: request.body))
    }
    try await setting.run { server in
      #expect(try await server.send(.post, "/echo", body: "hello").text == "hello")
      try await Client.connect(to: server.port).talk { client in
        for _ in 1...3 {
          try await client.send(.post, "/stream", body: "hello")
          #expect(try await client.reply().text == "hello")
        }
      }
    }
  }
}
