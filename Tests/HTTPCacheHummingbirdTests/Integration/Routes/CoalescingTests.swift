// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheHummingbird
import Hummingbird
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Concurrent requests", .timeLimit(.minutes(10)))
struct CoalescingTests {
  /// Each request has a connection, with a descriptor at either end.
  @Test("200 requests at once run the handler once")
  func once() async throws {
    let watch = CoalescingWatch()
    let (setting, runs, gate) = (try Setting { $0.tracer = watch }.caching(), Runs(), Gate())
    setting.router.get("a") { _, _ in
      await gate.wait()
      return Response("\(runs.next())").caching(.public, maxAge: .seconds(60))
    }
    try await setting.run { server in
      try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<200 { group.addTask { try await server.send(.get, "/a").text } }
        // The server stops only when its handlers have ended.
        defer { gate.open() }
        try await watch.followers(199)
        gate.open()
        for try await text in group { #expect(text == "1") }
      }
      #expect(runs.count == 1)
    }
  }

  @Test("Requests for a response that cannot be shared do not wait for each other, from the second on")
  func unshared() async throws {
    let (setting, gate, runs) = (try Setting().caching(), Gate(), Runs())
    setting.router.get("poll") { _, _ in
      if runs.next() > 1 { await gate.wait() }
      return Response("done").caching(.noStore)
    }
    try await setting.run { server in
      try await server.send(.get, "/poll")
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<10 { group.addTask { try await server.send(.get, "/poll") } }
        await gate.arrived(10)
        gate.open()
        try await group.waitForAll()
      }
    }
  }

  /// Cancels the handling of requests that say so, as a time limit does, when the gate opens.
  private struct Cancelling<Base: HTTPResponder>: HTTPResponder where Base.Context: RequestContext {
    let base: Base
    let gate: Gate
    /// Opens when the handling has been cancelled.
    var cancelled = Gate()

    func respond(to request: Request, context: Base.Context) async throws -> Response {
      guard request.headers[.expires] == "cancel" else {
        return try await base.respond(to: request, context: context)
      }
      let task = Task { try await base.respond(to: request, context: context) }
      await gate.wait()
      task.cancel()
      cancelled.open()
      return (try? await task.value) ?? Response("cancelled", .serviceUnavailable)
    }
  }

  @Test("If the request that runs the handler is cancelled, one of the others runs it again")
  func cancelledLeader() async throws {
    let watch = CoalescingWatch()
    let (setting, runs, gate, started) = (try Setting { $0.tracer = watch }.caching(), Runs(), Gate(), Gate())
    started.open()
    setting.router.get("a") { _, _ in
      if runs.next() == 1 {
        await started.wait()
        // Until the request is cancelled.
        try await Runs().reached(1)
      }
      return Response("\(runs.count)").caching(.public, maxAge: .seconds(60))
    }
    try await Server.run(Cancelling(base: setting.router.buildCachingResponder(), gate: gate)) { server in
      async let leader = server.send(.get, "/a", [("expires", "cancel")])
      await started.arrived(1)
      try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<50 { group.addTask { try await server.send(.get, "/a").text } }
        try await watch.followers(50)
        gate.open()
        for try await text in group { #expect(text == "2") }
      }
      #expect(try await leader.status == 503)
      #expect(runs.count == 2)
    }
  }

  @Test(
    "A handler that does not notice that its request was cancelled delays no other, and its response is not stored"
  )
  func unnoticedCancellation() async throws {
    let (setting, runs, started) = (try Setting().caching(), Runs(), Gate())
    let (leaving, cancelled, ending) = (Gate(), Gate(), Gate())
    started.open()
    setting.router.get("a") { _, _ in
      let run = runs.next()
      if run == 1 {
        await started.wait()
        await ending.wait()
      }
      return Response("\(run)").caching(.public, maxAge: .seconds(60))
    }
    let responder = Cancelling(
      base: setting.router.buildCachingResponder(), gate: leaving, cancelled: cancelled)
    try await Server.run(responder) { server in
      async let leader = server.send(.get, "/a", [("expires", "cancel")])
      await started.arrived(1)
      leaving.open()
      await cancelled.wait()
      let other = try await server.send(.get, "/a")
      #expect(other.text == "2")
      ending.open()
      #expect(try await leader.status == 503)
      #expect(try await server.send(.get, "/a").text == "2")
      #expect(runs.count == 2)
    }
  }

  @Test("A cancelled request that only waits leaves the others alone")
  func cancelledFollower() async throws {
    let watch = CoalescingWatch()
    let (setting, runs, gate, leaving) = (try Setting { $0.tracer = watch }.caching(), Runs(), Gate(), Gate())
    setting.router.get("a") { _, _ in
      await gate.wait()
      return Response("\(runs.next())").caching(.public, maxAge: .seconds(60))
    }
    try await Server.run(Cancelling(base: setting.router.buildCachingResponder(), gate: leaving)) { server in
      async let leader = server.send(.get, "/a")
      await gate.arrived(1)
      async let follower = server.send(.get, "/a", [("expires", "cancel")])
      try await watch.followers(1)
      leaving.open()
      #expect(try await follower.status == 503)
      gate.open()
      #expect(try await leader.text == "1")
      #expect(runs.count == 1)
    }
  }
}
