// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Foundation
import HTTPCacheURLSession
import HTTPCaching
import HTTPTypes

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
    let responses = (fresh: Self.responses("max-age=3600", body), stale: Self.responses("max-age=0", body))
    let origin = try ThreadedOrigin { request in
      let some = request.isFor("/stale") ? responses.stale : responses.fresh
      return request.has("if-none-match: \"1\"") ? some.unchanged : some.whole
    }
    do {
      let measurements = try await measure(origin)
      await origin.stop()
      return measurements
    } catch {
      await origin.stop()
      throw error
    }
  }

  /// Returns the bytes of a response, and of the 304 that confirms it.
  private static func responses(_ cacheControl: String, _ body: [UInt8]) -> (
    whole: [UInt8], unchanged: [UInt8]
  ) {
    let fields = """
      Cache-Control: \(cacheControl)\r
      ETag: "1"\r
      Content-Type: text/plain\r
      Last-Modified: Tue, 02 Jan 2024 03:04:05 GMT\r

      """
    let whole = "HTTP/1.1 200 OK\r\n\(fields)Content-Length: \(body.count)\r\n\r\n"
    return (Array(whole.utf8) + body, Array("HTTP/1.1 304 Not Modified\r\n\(fields)\r\n".utf8))
  }

  private typealias Answer = RequestLane.Answer

  private func measure(_ origin: ThreadedOrigin) async throws -> [Measurement] {
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

    let lanes = [
      RequestLane(.plainRequest, .urlSession, source: nil) { _ in try await load(plain, fresh) },
      RequestLane(.bareRequest, .urlSession, source: nil) { _ in try await load(bare, constant) },
      RequestLane(.missRequest, source: .network) { try await load(cached, request("/fresh/\($0)")) },
      RequestLane(.hitRequest, source: .hit) { _ in try await load(cached, fresh) },
      RequestLane(.hitWithFields, source: .hit) { _ in try await load(cached, withFields) },
      // Stored before by the misses.
      RequestLane(.hitElsewhere, source: .hit) { try await load(cached, request("/fresh/\($0 - 1)")) },
      RequestLane(.validatedRequest, source: .validated) { _ in try await load(cached, stale) },
      RequestLane(.staleRequest, source: .stale) { _ in try await load(cached, staleByPolicy) },
      RequestLane(.loadedRequest, source: .hit) { _ in
        let (data, answer) = try await direct.data(for: fresh)
        return { (data.count, answer.source) }
      },
      RequestLane(.respond, source: .hit) { _ in
        let response = try await cache.respond(to: head) { _, _ in throw URLError(.notConnectedToInternet) }
        return { look(response) }
      },
      RequestLane(.storedResponse, source: .hit) { _ in
        let response = cache.storedResponse(for: head)
        return { look(response) }
      },
      RequestLane(.headOfRequest, source: nil) { _ in
        let made = HTTPRequest(withFields)
        return { (made == nil ? nil : valueSize, nil) }
      },
      RequestLane(.headOfResponse, source: nil) { _ in
        let made = cache.storedResponse(for: freshHead).flatMap {
          HTTPURLResponse($0.head, url: freshURL)
        }
        return { (made == nil ? nil : valueSize, nil) }
      },
      RequestLane(.changeOfThreads, source: nil) { _ in
        SessionQueue.wait { $0.finish() }
        return { (valueSize, nil) }
      },
    ]
    let pair = [
      RequestLane(.bareAmongHits, .urlSession, source: nil) { _ in
        try await load(bare, ConstantProtocol.request(valueSize))
      },
      // Stored before by the misses.
      RequestLane(.hitAmongConstants, source: .hit) { try await load(cached, request("/fresh/\($0 - 1)")) },
    ]
    var measurements: [Measurement] = []
    for lanes in [lanes, pair] {
      measurements += try await RequestLane.measure(
        lanes, .session, requests: requests, valueSize: valueSize,
        originRequests: { origin.requestCount }, progress)
    }
    return measurements
  }

  private func check(_ answer: Answer, _ action: Action, _ source: CachedResponse.Source?) throws {
    try RequestLane.check(answer, action, source, valueSize)
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
