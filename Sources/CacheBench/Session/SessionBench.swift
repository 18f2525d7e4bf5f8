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

  func run() async throws -> [Scenario] {
    let body = [UInt8](repeating: UInt8(ascii: "x"), count: valueSize)
    let origin = try await LoopbackOrigin.start { request in Self.answer(request, body) }
    do {
      let scenarios = try await measure(origin)
      await origin.stop()
      return scenarios
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

  private func measure(_ origin: LoopbackOrigin) async throws -> [Scenario] {
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
      try expect(try await plain.data(for: request), .plain, nil)
      try expect(try await cached.data(for: request), .miss, .network)
    }
    _ = try await cache.respond(to: head, transport: { _, _ in direct }).body.collect(upTo: .max)

    func adapter(_ kind: Scenario.Kind, _ source: CachedResponse.Source, _ request: URLRequest) -> Lane {
      lane(kind, { _ in try await cached.data(for: request) }) { try expect($0, kind, source) }
    }
    var lanes = [
      lane(.plain, { _ in try await plain.data(for: fresh) }) { try expect($0, .plain, nil) },
      lane(.miss, { try await cached.data(for: try urlRequest(origin.url("/fresh/\($0)"))) }) {
        try expect($0, .miss, .network)
      },
      adapter(.hit, .hit, fresh),
      adapter(.validated, .validated, stale),
      adapter(.stale, .stale, staleByPolicy),
      lane(
        .directRespond,
        { _ in try await cache.respond(to: head) { _, _ in throw URLError(.notConnectedToInternet) } }
      ) { try expect($0, .directRespond) },
      lane(.directStored, { _ in cache.storedResponse(for: head) }) { try expect($0, .directStored) },
    ]
    // In turns, so that what else the machine does meets all alike.
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
    return try lanes.map { try scenario($0) }
  }

  /// Requests of one kind.
  private struct Lane {
    var kind: Scenario.Kind
    /// Makes a request, and says how many nanoseconds it took.
    var step: (_ number: Int) async throws -> UInt64
    var histogram = Loop.histogram()
    var reached = 0
  }

  /// Times the request, and not the look at what came.
  private func lane<Answer>(
    _ kind: Scenario.Kind, _ load: @escaping (_ number: Int) async throws -> Answer,
    check: @escaping (Answer) throws -> Void
  ) -> Lane {
    Lane(kind: kind) { number in
      let start = MonotonicClock.now
      let answer = try await load(number)
      let took = MonotonicClock.now - start
      try check(answer)
      return took
    }
  }

  private func scenario(_ lane: Lane) throws -> Scenario {
    let expected = lane.kind.expectedOriginRequests(of: requests)
    guard lane.reached == expected else {
      throw BenchError.unexpected(
        scenario: lane.kind.title, what: "\(lane.reached) requests reached the origin, not \(expected)")
    }
    return Scenario(
      kind: lane.kind, requests: requests, originRequests: lane.reached,
      latency: Percentiles(lane.histogram))
  }

  /// - Parameter source: where the response is to come from; `nil` if no cache has a part in it.
  private func expect(
    _ answer: (Data, URLResponse), _ kind: Scenario.Kind, _ source: CachedResponse.Source?
  ) throws {
    guard answer.0.count == valueSize else {
      throw BenchError.unexpected(
        scenario: kind.title, what: "\(answer.0.count) bytes came, not \(valueSize)")
    }
    let story = (answer.1 as? HTTPURLResponse)?.cacheStatus
    guard story?.source == source else {
      throw BenchError.unexpected(
        scenario: kind.title,
        what:
          "the response is from \(story?.source.rawValue ?? "no cache"), not \(source?.rawValue ?? "none")")
    }
  }

  private func expect(_ response: CachedResponse?, _ kind: Scenario.Kind) throws {
    guard let response, response.source == .hit, response.body.isInMemory, response.body.length == valueSize
    else {
      throw BenchError.unexpected(
        scenario: kind.title, what: response.map { "\($0.source), \($0.reason)" } ?? "nothing is stored")
    }
  }

  private func urlRequest(_ text: String) throws -> URLRequest {
    guard let url = URL(string: text) else { throw URLError(.badURL) }
    return URLRequest(url: url)
  }
}
