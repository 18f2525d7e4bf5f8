// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheURLSession
import HTTPCaching
import HTTPTypes
import LoopbackOrigin

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Requests through a `URLSession` to an origin on loopback, one after another, of each kind in turn.
struct SessionBench {
  var requests: Int
  var valueSize: Int
  var progress: ProgressLine

  func run() async throws -> [Measurement] {
    let body = [UInt8](repeating: UInt8(ascii: "x"), count: valueSize)
    let origin = try await LoopbackOrigin.start { request in Self.answer(request, body) }
    do {
      let measurements = try await measure(origin)
      await origin.stop()
      return measurements
    } catch {
      await origin.stop()
      throw error
    }
  }

  private static func answer(_ request: LoopbackOrigin.Request, _ body: [UInt8]) -> LoopbackOrigin.Response {
    let isFresh = !request.target.hasPrefix("/stale")
    let tag = "\"1\""
    let fields: HTTPFields = [
      .cacheControl: isFresh ? "max-age=3600" : "max-age=0", .eTag: tag, .contentType: "text/plain",
      .lastModified: "Tue, 02 Jan 2024 03:04:05 GMT",
    ]
    if request.fields[.ifNoneMatch] == tag { return .init(status: 304, fields: fields, bytes: []) }
    return .init(fields: fields, bytes: body)
  }

  /// The response: its bytes in memory, and its source; `nil` if no cache took part.
  private typealias Answer = (bytes: Int?, source: CachedResponse.Source?)

  /// Requests of one kind.
  private struct Lane {
    var action: Action
    /// The expected source of the responses.
    var source: CachedResponse.Source?
    /// Makes a request, and returns a check of the response, which is not timed.
    var load: (_ number: Int) async throws -> () -> Answer
    var round = Round(timesEach: true)
    var reached = 0

    var reaches: Bool { source != .hit && source != .stale }
  }

  private func measure(_ origin: LoopbackOrigin) async throws -> [Measurement] {
    let cache = try HTTPCache(.init(memoryCapacity: (64 << 20) + 4 * requests * (valueSize + 1024)))
    let patient = URLSessionConfiguration.ephemeral
    // The machine may have other work.
    patient.timeoutIntervalForRequest = 600
    let plain = URLSession(configuration: patient)
    let cached = URLSession(configuration: .caching(with: cache, base: patient))
    // Not invalidateAndCancel: on Linux it cancels tasks that have just called their completion handler, which is then
    // called again.
    defer {
      plain.finishTasksAndInvalidate()
      cached.finishTasksAndInvalidate()
    }
    func request(_ path: String) throws -> URLRequest {
      guard let url = URL(string: origin.url(path)) else { throw URLError(.badURL) }
      return URLRequest(url: url)
    }
    func load(_ session: URLSession, _ request: URLRequest) async throws -> () -> Answer {
      let (data, response) = try await session.data(for: request)
      return { (data.count, (response as? HTTPURLResponse)?.cacheStatus?.source) }
    }
    func look(_ response: CachedResponse?) -> Answer {
      (response.flatMap { $0.body.isInMemory ? $0.body.length.map { Int($0) } : nil }, response?.source)
    }
    let (fresh, stale) = (try request("/fresh"), try request("/stale"))
    var staleByPolicy = stale
    staleByPolicy.cachePolicy = .returnCacheDataElseLoad
    let head = HTTPRequest(
      method: .get, scheme: "http", authority: "127.0.0.1:\(origin.port)", path: "/direct",
      headerFields: [.acceptEncoding: "gzip, deflate"])
    let direct = TransportResponse(
      head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=3600", .eTag: "\"1\""]),
      body: MessageBody([UInt8](repeating: 0, count: valueSize)))
    // Before the measurement, store the entries to hit, and open the connections.
    for request in [fresh, stale] {
      try check(try await load(plain, request)(), .plainRequest, nil)
      try check(try await load(cached, request)(), .missRequest, .network)
    }
    _ = try await cache.respond(to: head, transport: { _, _ in direct }).body.collect(upTo: .max)

    var lanes = [
      Lane(action: .plainRequest, source: nil) { _ in try await load(plain, fresh) },
      Lane(action: .missRequest, source: .network) { try await load(cached, request("/fresh/\($0)")) },
      Lane(action: .hitRequest, source: .hit) { _ in try await load(cached, fresh) },
      Lane(action: .validatedRequest, source: .validated) { _ in try await load(cached, stale) },
      Lane(action: .staleRequest, source: .stale) { _ in try await load(cached, staleByPolicy) },
      Lane(action: .respond, source: .hit) { _ in
        let response = try await cache.respond(to: head) { _, _ in throw URLError(.notConnectedToInternet) }
        return { look(response) }
      },
      Lane(action: .storedResponse, source: .hit) { _ in
        let response = cache.storedResponse(for: head)
        return { look(response) }
      },
    ]
    // In turns, so that other work on the machine affects all kinds alike. This is not a ``Contest``, because requests
    // are asynchronous.
    for number in 0..<requests {
      if number.isMultiple(of: 50) { progress.show("session: \(number) of \(requests) of each kind") }
      for index in lanes.indices {
        let before = origin.requestCount
        let start = MonotonicClock.now
        let answer = try await lanes[index].load(number)
        lanes[index].round.record(MonotonicClock.now - start)
        try check(answer(), lanes[index].action, lanes[index].source)
        lanes[index].reached += origin.requestCount - before
        // The first request is for warming up.
        if number == 0, requests > 10 { lanes[index].round = Round(timesEach: true) }
      }
    }
    return try lanes.map { lane in
      guard lane.reached == (lane.reaches ? requests : 0) else {
        throw BenchError.unexpected(
          what: lane.action.rawValue, found: "\(lane.reached) of \(requests) requests reached the origin")
      }
      var one = Measurement(
        .session, lane.action, lane.action == .plainRequest ? .urlSession : .ours,
        [.requests: Double(requests), .originRequests: Double(lane.reached)])
      one.add(lane.round)
      return one
    }
  }

  private func check(_ answer: Answer, _ action: Action, _ source: CachedResponse.Source?) throws {
    guard answer.bytes == valueSize, answer.source == source else {
      throw BenchError.unexpected(
        what: action.rawValue,
        found:
          "\(answer.bytes ?? 0) bytes from \(answer.source?.rawValue ?? "no cache"), not \(valueSize) from "
          + "\(source?.rawValue ?? "none")")
    }
  }
}
