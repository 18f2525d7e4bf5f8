// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheAsyncHTTPClient
import InMemoryLogging
import Logging
import Loopback
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@Suite("A client whose upstream does not respond", .timeLimit(.minutes(10)))
struct UpstreamTests {
  private static func options(_ interval: TimeAmount) -> CachingHTTPClient.Options {
    var options = CachingHTTPClient.Options()
    (options.failureLimit, options.retryInterval) = (3, interval)
    return options
  }

  /// A refused connection is an error at once.
  private static func configure(_ configuration: inout HTTPClient.Configuration) {
    configuration.connectionPool.retryConnectionEstablishment = false
  }

  @Test(
    "After failures in a row, stored responses answer at once where they may, and other requests are not sent"
  )
  func refuses() async throws {
    try await Fixture.with(options: Self.options(.hours(1)), configure: Self.configure) { _ in
      .init(fields: [.cacheControl: "max-age=1, stale-if-error=1000"], body: "a")
    } test: { (fixture: Fixture) async throws in
      _ = try await fixture.get("/a")
      await fixture.origin.stop()
      fixture.clock.advance(seconds: 10)
      for _ in 1...2 { #expect(try await fixture.get("/a") == .init(source: .stale, body: "a")) }
      await #expect(throws: IOError.self) { try await fixture.get("/b") }
      #expect(try await fixture.get("/a") == .init(source: .stale, body: "a"))
      let error = await #expect(throws: UpstreamUnavailable.self) { try await fixture.get("/b") }
      #expect(error?.cause is IOError)
      // What bypasses the cache is not held back.
      await #expect(throws: IOError.self) {
        try await fixture.client.client.execute(fixture.request("/b"), timeout: .minutes(4))
      }
    }
  }

  @Test("The first response ends that, and both changes are logged")
  func recovers() async throws {
    let handler = InMemoryLogHandler()
    let logger = Logger(label: "test") { _ in handler }
    // Each request is the one of its interval.
    try await Fixture.with(options: Self.options(.nanoseconds(1)), configure: Self.configure) { _ in
      .init(body: "a")
    } test: { (fixture: Fixture) async throws in
      await fixture.origin.stop()
      for _ in 1...4 {
        await #expect(throws: IOError.self) {
          try await fixture.client.execute(fixture.request("/"), timeout: .minutes(4), logger: logger)
        }
      }
      #expect(handler.entries.count { $0.level >= .notice } == 1)
      let origin = try await LoopbackOrigin.start(port: fixture.origin.port) { _ in .init(body: "b") }
      for _ in 5...6 {
        _ = try await fixture.client.execute(fixture.request("/"), timeout: .minutes(4), logger: logger)
      }
      await origin.stop()
      let lines = handler.entries.filter { $0.level >= .notice }
      #expect(lines.map(\.level) == [.warning, .notice])
      #expect(lines.first?.message.description.hasPrefix("The upstream does not respond.") == true)
      #expect(lines.last?.message == "The upstream responds again.")
      let upstream = "http://127.0.0.1:\(fixture.origin.port)"
      #expect(lines.allSatisfy { $0.metadata["upstream"] == "\(upstream)" })
    }
  }

  @Test("An upstream that closes connections is there: each request is sent")
  func closes() async throws {
    try await Fixture.with(options: Self.options(.hours(1))) { _ in
      .init(body: "", ending: .noResponse)
    } test: { (fixture: Fixture) async throws in
      for number in 1...6 {
        await #expect(throws: HTTPClientError.remoteConnectionClosed) { try await fixture.get("/") }
        #expect(fixture.origin.requestCount == number)
      }
    }
  }

  @Test("Deadlines that pass count, if the upstream had some time to respond")
  func deadlines() async throws {
    let silence = Gate()
    try await Fixture.with(options: Self.options(.milliseconds(50))) { _ in
      await silence.wait()
      return .init(body: "late")
    } test: { (fixture: Fixture) async throws in
      defer { silence.open() }
      for _ in 1...10 {
        await #expect(throws: HTTPClientError.deadlineExceeded) {
          try await fixture.client.execute(fixture.request("/"), deadline: .now() - .seconds(1))
        }
      }
      // The callers share its request, which no deadline cancels.
      let patient = Task { try await fixture.get("/").body }
      await silence.arrived(1)
      var error: (any Error)?
      for number in 1...1000 where !(error is UpstreamUnavailable) {
        await #expect(throws: HTTPClientError.deadlineExceeded) {
          try await fixture.client.execute(fixture.request("/"), timeout: .milliseconds(20))
        }
        error = await #expect(throws: (any Error).self) {
          try await fixture.client.execute(fixture.request("/\(number)"), timeout: .milliseconds(20))
        }
      }
      let refusal = try #require(error as? UpstreamUnavailable)
      #expect(refusal.cause as? HTTPClientError == .deadlineExceeded)
      silence.open()
      #expect(try await patient.value == "late")
    }
  }

  @Test("Without a limit, each request is sent")
  func noLimit() async throws {
    var options = CachingHTTPClient.Options()
    options.failureLimit = nil
    try await Fixture.with(options: options, configure: Self.configure) { _ in
      .init(body: "a")
    } test: {
      (fixture: Fixture) async throws in
      await fixture.origin.stop()
      for _ in 1...10 {
        await #expect(throws: IOError.self) { try await fixture.get("/") }
      }
    }
  }

  @Test(
    "Code that depends on the protocol runs with a cache, with a plain client, and with answers from memory")
  func sending() async throws {
    struct Answers: RequestSending {
      func execute(
        _ request: HTTPClientRequest, deadline: NIODeadline, logger: Logger?
      ) async throws -> HTTPClientResponse {
        HTTPClientResponse(status: .ok, body: .bytes(ByteBuffer(string: "memory")))
      }
    }
    func content(_ url: String, by client: some RequestSending) async throws -> String {
      let response = try await client.execute(HTTPClientRequest(url: url), timeout: .minutes(4))
      return String(buffer: try await response.body.collect(upTo: 100))
    }
    try await Fixture.with { request in
      .init(fields: [.cacheControl: "max-age=60"], body: "\(request.number)")
    } test: { (fixture: Fixture) async throws in
      let url = fixture.origin.url("/")
      #expect(try await content(url, by: fixture.client) == "1")
      #expect(try await content(url, by: fixture.client) == "1")
      #expect(try await content(url, by: fixture.client.client) == "2")
      #expect(try await content(url, by: Answers()) == "memory")
      let any: any RequestSending = fixture.client
      let response = try await any.execute(fixture.request("/"), deadline: .distantFuture, logger: nil)
      #expect(response.cacheStatus?.source == .hit)
    }
  }
}
