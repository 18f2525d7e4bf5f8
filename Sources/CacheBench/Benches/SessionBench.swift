// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheURLSession
import HTTPCaching
import HTTPTypes
import Histogram
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

  /// Requests of one kind.
  private struct Lane {
    var action: Action
    /// How many requests must reach the origin.
    var expected: Int
    /// Makes a request, and returns how many nanoseconds it took.
    var step: (_ number: Int) async throws -> UInt64
    var histogram = Loop.histogram()
    var reached = 0
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
    let fresh = try urlRequest(origin.url("/fresh"))
    let stale = try urlRequest(origin.url("/stale"))
    var staleByPolicy = stale
    staleByPolicy.cachePolicy = .returnCacheDataElseLoad
    let head = HTTPRequest(
      method: .get, scheme: "http", authority: "127.0.0.1:\(origin.port)", path: "/direct",
      headerFields: [.acceptEncoding: "gzip, deflate"])
    let direct = TransportResponse(
      head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=3600", .eTag: "\"1\""]),
      body: MessageBody([UInt8](repeating: 0, count: valueSize)))
    // What is to be hit is stored, and connections are open, before anything is measured.
    for request in [fresh, stale] {
      try expect(try await plain.data(for: request), .plainRequest, nil)
      try expect(try await cached.data(for: request), .missRequest, .network)
    }
    _ = try await cache.respond(to: head, transport: { _, _ in direct }).body.collect(upTo: .max)

    func adapter(_ action: Action, _ source: CachedResponse.Source, _ request: URLRequest) -> Lane {
      lane(action, reaching: source == .validated, { _ in try await cached.data(for: request) }) {
        try expect($0, action, source)
      }
    }
    var lanes = [
      lane(.plainRequest, reaching: true, { _ in try await plain.data(for: fresh) }) {
        try expect($0, .plainRequest, nil)
      },
      lane(
        .missRequest, reaching: true,
        { try await cached.data(for: try urlRequest(origin.url("/fresh/\($0)"))) }
      ) { try expect($0, .missRequest, .network) },
      adapter(.hitRequest, .hit, fresh), adapter(.validatedRequest, .validated, stale),
      adapter(.staleRequest, .stale, staleByPolicy),
      lane(
        .respond, reaching: false,
        { _ in try await cache.respond(to: head) { _, _ in throw URLError(.notConnectedToInternet) } }
      ) { try expect($0, .respond) },
      lane(.storedResponse, reaching: false, { _ in cache.storedResponse(for: head) }) {
        try expect($0, .storedResponse)
      },
    ]
    // In turns, so that other work on the machine affects all alike. Not a ``Contest``: requests are asynchronous.
    for number in 0..<requests {
      if number.isMultiple(of: 50) { progress.show("session: \(number) of \(requests) of each kind") }
      for index in lanes.indices {
        let before = origin.requestCount
        let took = try await lanes[index].step(number)
        lanes[index].reached += origin.requestCount - before
        lanes[index].histogram.record(min(took, lanes[index].histogram.highestTrackableValue))
        // The first was to warm up.
        if number == 0, requests > 10 { lanes[index].histogram = Loop.histogram() }
      }
    }
    return try lanes.map { lane in
      guard lane.reached == lane.expected else {
        throw BenchError.unexpected(
          what: lane.action.rawValue,
          found: "\(lane.reached) requests reached the origin, not \(lane.expected)")
      }
      var one = Measurement(
        .session, lane.action, lane.action == .plainRequest ? .urlSession : .ours,
        [.requests: Double(requests), .originRequests: Double(lane.reached)])
      one.add(lane.histogram)
      return one
    }
  }

  /// Times the request, and not the look at what came.
  private func lane<Answer>(
    _ action: Action, reaching: Bool, _ load: @escaping (_ number: Int) async throws -> Answer,
    check: @escaping (Answer) throws -> Void
  ) -> Lane {
    Lane(action: action, expected: reaching ? requests : 0) { number in
      let start = MonotonicClock.now
      let answer = try await load(number)
      let took = MonotonicClock.now - start
      try check(answer)
      return took
    }
  }

  /// - Parameter source: where the response is to come from; `nil` if no cache has a part in it.
  private func expect(
    _ answer: (Data, URLResponse), _ action: Action, _ source: CachedResponse.Source?
  ) throws {
    let story = (answer.1 as? HTTPURLResponse)?.cacheStatus
    guard answer.0.count == valueSize, story?.source == source else {
      throw BenchError.unexpected(
        what: action.rawValue,
        found: "\(answer.0.count) bytes from \(story?.source.rawValue ?? "no cache"), not \(valueSize) from "
          + "\(source?.rawValue ?? "none")")
    }
  }

  private func expect(_ response: CachedResponse?, _ action: Action) throws {
    guard let response, response.source == .hit, response.body.isInMemory, response.body.length == valueSize
    else {
      throw BenchError.unexpected(
        what: action.rawValue, found: response.map { "\($0.source), \($0.reason)" } ?? "nothing is stored")
    }
  }

  private func urlRequest(_ text: String) throws -> URLRequest {
    guard let url = URL(string: text) else { throw URLError(.badURL) }
    return URLRequest(url: url)
  }
}
