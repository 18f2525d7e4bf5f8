// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheURLSession
import HTTPCaching
import HTTPTypes
import HTTPTypesFoundation
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
    /// Nanoseconds of processor time of the process, for each request.
    var processor: [Double] = []
    var reached = 0

    var reaches: Bool { source == .network || source == .validated || action == .plainRequest }
  }

  private func measure(_ origin: LoopbackOrigin) async throws -> [Measurement] {
    let cache = try HTTPCache(.init(memoryCapacity: (64 << 20) + 4 * requests * (valueSize + 1024)))
    let patient = URLSessionConfiguration.ephemeral
    // The machine may have other work.
    patient.timeoutIntervalForRequest = 600
    let plain = URLSession(configuration: patient)
    let cached = URLSession(configuration: .caching(with: cache, base: patient))
    let direct = HTTPCacheSession(cache: cache, configuration: patient)
    let bare = URLSession(configuration: ConstantProtocol.configuration(patient))
    // Not invalidateAndCancel: on Linux it cancels tasks that have just called their completion handler, which is then
    // called again.
    defer {
      plain.finishTasksAndInvalidate()
      cached.finishTasksAndInvalidate()
      bare.finishTasksAndInvalidate()
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
    let constant = try ConstantProtocol.request(valueSize)
    var withFields = fresh
    withFields.setValue("application/json", forHTTPHeaderField: "Accept")
    withFields.setValue("CacheBench/1.0", forHTTPHeaderField: "User-Agent")
    var staleByPolicy = stale
    staleByPolicy.cachePolicy = .returnCacheDataElseLoad
    let head = HTTPRequest(
      method: .get, scheme: "http", authority: "127.0.0.1:\(origin.port)", path: "/direct",
      headerFields: [.acceptEncoding: "gzip, deflate"])
    let given = TransportResponse(
      head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=3600", .eTag: "\"1\""]),
      body: MessageBody([UInt8](repeating: 0, count: valueSize)))
    // Before the measurement, store the entries to hit, and open the connections.
    guard let freshURL = fresh.url, let freshHead = HTTPRequest(fresh) else { throw URLError(.badURL) }
    for request in [fresh, stale, try request("/fresh/-1")] {
      try check(try await load(plain, request)(), .plainRequest, nil)
      try check(try await load(cached, request)(), .missRequest, .network)
    }
    _ = try await cache.respond(to: head, transport: { _, _ in given }).body.collect(upTo: .max)

    var lanes = [
      Lane(action: .plainRequest, source: nil) { _ in try await load(plain, fresh) },
      Lane(action: .bareRequest, source: nil) { _ in try await load(bare, constant) },
      Lane(action: .missRequest, source: .network) { try await load(cached, request("/fresh/\($0)")) },
      Lane(action: .hitRequest, source: .hit) { _ in try await load(cached, fresh) },
      Lane(action: .hitWithFields, source: .hit) { _ in try await load(cached, withFields) },
      // Stored before by the misses.
      Lane(action: .hitElsewhere, source: .hit) { try await load(cached, request("/fresh/\($0 - 1)")) },
      Lane(action: .validatedRequest, source: .validated) { _ in try await load(cached, stale) },
      Lane(action: .staleRequest, source: .stale) { _ in try await load(cached, staleByPolicy) },
      Lane(action: .loadedRequest, source: .hit) { _ in
        let (data, answer) = try await direct.data(for: fresh)
        return { (data.count, answer.source) }
      },
      Lane(action: .respond, source: .hit) { _ in
        let response = try await cache.respond(to: head) { _, _ in throw URLError(.notConnectedToInternet) }
        return { look(response) }
      },
      Lane(action: .storedResponse, source: .hit) { _ in
        let response = cache.storedResponse(for: head)
        return { look(response) }
      },
      Lane(action: .headOfRequest, source: nil) { _ in
        let made = HTTPRequest(withFields)
        return { (made == nil ? nil : valueSize, nil) }
      },
      Lane(action: .headOfResponse, source: nil) { _ in
        let made = cache.storedResponse(for: freshHead).flatMap {
          HTTPURLResponse(httpResponse: $0.finalHead, url: freshURL)
        }
        return { (made == nil ? nil : valueSize, nil) }
      },
      Lane(action: .changeOfThreads, source: nil) { _ in
        SessionQueue.wait { $0.finish() }
        return { (valueSize, nil) }
      },
    ]
    // In turns, so that other work on the machine affects all kinds alike, and in another order each time: a request is
    // slower after one that used the network. This is not a ``Contest``, because requests are asynchronous.
    var generator = SplitMix64(seed: 1)
    for number in 0..<requests {
      if number.isMultiple(of: 50) { progress.show("session: \(number) of \(requests) of each kind") }
      for index in lanes.indices.shuffled(using: &generator) {
        let before = origin.requestCount
        let busy = MonotonicClock.ofProcess
        let start = MonotonicClock.now
        let answer = try await lanes[index].load(number)
        let time = MonotonicClock.now - start
        let processorTime = MonotonicClock.ofProcess - busy
        try check(answer(), lanes[index].action, lanes[index].source)
        lanes[index].reached += origin.requestCount - before
        // The first request is for warming up.
        if number == 0, requests > 10 { continue }
        lanes[index].round.record(time)
        lanes[index].processor.append(Double(processorTime))
      }
    }
    return try lanes.map { lane in
      guard lane.reached == (lane.reaches ? requests : 0) else {
        throw BenchError.unexpected(
          what: lane.action.rawValue, found: "\(lane.reached) of \(requests) requests reached the origin")
      }
      var one = Measurement(
        .session, lane.action, [.plainRequest, .bareRequest].contains(lane.action) ? .urlSession : .ours,
        [.requests: Double(requests), .originRequests: Double(lane.reached)])
      one.add(lane.round)
      one[.processorNanoseconds] = median(lane.processor)
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

/// The least that a `URLProtocol` can do: it answers at once, on the session's queue, with a constant.
private final class ConstantProtocol: URLProtocol {
  private static let host = "constant.example"

  /// As many fields as a stored response has: Foundation works for each.
  private static let fields = [
    "Age": "1", "Cache-Control": "max-age=3600",
    "Cache-Status":
      "HTTPCacheEngine; hit; ttl=3599; detail=\"The stored response is fresh. (RFC 9111 §4.2)\"",
    "Content-Length": "1", "Content-Type": "text/plain", "Date": "Tue, 02 Jan 2024 03:04:05 GMT",
    "ETag": "\"1\"", "Last-Modified": "Tue, 02 Jan 2024 03:04:05 GMT",
  ]

  static func configuration(_ base: URLSessionConfiguration) -> URLSessionConfiguration {
    guard let configuration = base.copy() as? URLSessionConfiguration else { return base }
    configuration.urlCache = nil
    configuration.protocolClasses = [Self.self]
    return configuration
  }

  /// Makes a request that is answered with as many bytes.
  static func request(_ count: Int) throws -> URLRequest {
    guard let url = URL(string: "http://\(host)/\(count)") else { throw URLError(.badURL) }
    return URLRequest(url: url)
  }

  override class func canInit(with request: URLRequest) -> Bool { request.url?.host == host }

  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override func startLoading() {
    guard let url = request.url, let count = Int(url.lastPathComponent),
      let response = HTTPURLResponse(
        url: url, statusCode: 200, httpVersion: "HTTP/1.1",
        headerFields: Self.fields)
    else { return }
    client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
    client?.urlProtocol(self, didLoad: Data(count: count))
    client?.urlProtocolDidFinishLoading(self)
  }

  override func stopLoading() {}
}
