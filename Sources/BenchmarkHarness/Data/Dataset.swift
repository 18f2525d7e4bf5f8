// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Keys by their numbers. A request's key in the store is the key of its number.
package enum Keys {
  package static let bytes = 64

  private static let origin = "https://cache.example.com"
  private static let prefix = origin + "/assets/objects/"
  private static let suffix = ".webp"
  private static let template = Array(
    (prefix + String(repeating: "0", count: bytes - prefix.utf8.count - suffix.utf8.count) + suffix).utf8)

  /// Returns a key in its own memory.
  package static func key(_ number: Int) -> StoreKey {
    var key = template
    let (digits, end) = (String(number).utf8, bytes - suffix.utf8.count)
    key.replaceSubrange(end - digits.count..<end, with: digits)
    return StoreKey(key)
  }

  // All requests share the fields: a million copies would take a gigabyte.
  private static let fields: HTTPFields = [
    .accept: "image/webp,*/*;q=0.8", .acceptEncoding: "gzip, deflate",
  ]

  /// Paths are distinct, because URLCache on Linux ignores the query.
  package static func request(_ number: Int) -> HTTPRequest {
    HTTPRequest(
      method: .get, scheme: "https", authority: "cache.example.com",
      path: String(decoding: key(number).bytes.dropFirst(origin.utf8.count), as: UTF8.self),
      headerFields: fields)
  }

  package static func urlRequest(_ number: Int) throws -> URLRequest {
    guard let url = URL(string: key(number).description) else {
      throw BenchError.unprepared("key \(number) has no valid URL")
    }
    var request = URLRequest(url: url)
    for field in fields { request.setValue(field.value, forHTTPHeaderField: field.name.rawName) }
    return request
  }
}

extension StoreKey {
  @inline(__always)
  package init(_ request: HTTPRequest) { self.init(CacheKey(request)?.bytes ?? []) }
}

/// Makes bodies, each in its own memory.
package struct Bodies: Sendable {
  package let size: Int
  private let template: [UInt8]

  package init(size: Int, seed: UInt64) {
    self.size = size
    var generator = SplitMix64(seed: seed)
    template = (0..<size).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
  }

  /// Returns a body like one from the network: the caller owns it.
  package func fresh() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: size) { buffer, filled in
      filled = buffer.initialize(fromContentsOf: template)
    }
  }
}

/// The keys and values of a measurement, made in advance and the same for every cache.
package struct Dataset: Sendable {
  /// The data that caches get in addition to keys and bodies.
  package enum Form {
    /// Nothing else: for disks. Bodies repeat beyond 64 MiB, so that they do not all fit in the processor's cache.
    case entries
    case requests
    /// Requests, and Foundation's requests and responses.
    case foundation
  }

  /// The variant of all entries. It is not 1, the variant of an index: the cache would look for more variants.
  package static let variant = VariantID(rawValue: 2)

  package let valueSize: Int
  package let now = SystemCacheClock.shared.now
  package let keys: [StoreKey]
  package let bodies: [[UInt8]]
  /// The origin's response; with it, its form in the store.
  package let response: HTTPResponse
  package let head: [UInt8]
  package let requests: [HTTPRequest]
  /// Requests for missing keys.
  package let absentRequests: [HTTPRequest]
  package let urlRequests: [URLRequest]
  package let absentURLRequests: [URLRequest]
  package let cachedResponses: [SendableCachedResponse]

  package init(count: Int, valueSize: Int, seed: UInt64, _ form: Form) throws {
    self.valueSize = valueSize
    response = Self.response(valueSize)
    head = try Self.head(valueSize, now: now)
    keys = (0..<count).map { Keys.key($0) }
    let distinct = form == .entries ? max(1, min(count, (64 << 20) / max(1, valueSize))) : count
    let source = Bodies(size: valueSize, seed: seed)
    bodies = (0..<distinct).map { _ in source.fresh() }
    let absent = count..<count + min(count, 1 << 14)
    requests = form == .entries ? [] : (0..<count).map { Keys.request($0) }
    absentRequests = form == .entries ? [] : absent.map { Keys.request($0) }
    guard form == .foundation else {
      (urlRequests, absentURLRequests, cachedResponses) = ([], [], [])
      return
    }
    urlRequests = try (0..<count).map { try Keys.urlRequest($0) }
    absentURLRequests = try absent.map { try Keys.urlRequest($0) }
    var fields: [String: String] = [:]
    for field in response.headerFields { fields[field.name.rawName] = field.value }
    cachedResponses = try zip(urlRequests, bodies).map {
      try SendableCachedResponse($0, fields: fields, $1)
    }
  }

  /// Returns the approximate memory of a run, in bytes, for all caches together: bodies, our copy of them, and
  /// Foundation's.
  package static func footprint(keys: Int, valueSize: Int, forFoundation: Bool) -> Double {
    Double(keys) * (Double(valueSize) * (forFoundation ? 3 : 2) + (forFoundation ? 6000 : 1500))
  }

  package func body(_ number: Int) -> [UInt8] { bodies[number % bodies.count] }
  /// Returns a key, built from the request if there are requests.
  package func key(_ number: Int) -> StoreKey { requests.isEmpty ? keys[number] : StoreKey(requests[number]) }

  /// Bytes of key, head and body.
  package var entryBytes: Int { Keys.bytes + head.count + valueSize }

  /// Reads a key and its body, so that they are in the processor's cache as if they had just arrived. Scheme and
  /// authority are the same in all requests.
  package func touch(_ number: Int) {
    let path = requests.isEmpty ? nil : requests[number].path?.utf8
    BlackHole.take(Self.sum(body(number)) &+ (path.map { Self.sum($0) } ?? 0))
  }

  /// Does the same with Foundation's form of a key and its body.
  package func touchFoundation(_ number: Int) {
    let path = urlRequests[number].url?.path.utf8.count ?? 0
    BlackHole.take(cachedResponses[number].value.data.withUnsafeBytes { Self.sum($0) } &+ path)
  }

  private static func sum(_ bytes: some Collection<UInt8>) -> Int { bytes.reduce(0) { $0 &+ Int($1) } }

  /// Returns a request for a missing entry, and the origin's response; `nil` if the request is not forwarded.
  package static func exchange(
    _ request: HTTPRequest, _ head: HTTPResponse, _ engine: CacheEngine, now: Timestamp
  ) -> CacheEngine.Exchange? {
    let plan = engine.plan(for: request, policy: .useProtocolCachePolicy, candidates: [], now: now)
    guard case .forward(let forwarding) = plan else { return nil }
    return CacheEngine.Exchange(
      forwarding: forwarding, candidates: [], result: .response(head), requestTime: now, responseTime: now)
  }

  /// Returns the engine's judgement of a response from the origin; `nil` if it must not be stored.
  package static func judge(
    _ request: HTTPRequest, _ head: HTTPResponse, _ engine: CacheEngine, now: Timestamp
  ) -> StoredResponse? {
    guard let exchange = exchange(request, head, engine, now: now),
      case .store(let stored, _) = engine.outcome(of: exchange).storage
    else { return nil }
    return stored
  }

  package static func response(_ valueSize: Int) -> HTTPResponse {
    HTTPResponse(
      status: .ok,
      headerFields: [
        .contentType: "image/webp", .contentLength: String(valueSize),
        .cacheControl: "public, max-age=86400, stale-while-revalidate=600", .eTag: "\"5f3a-61c7e0d9b2a40\"",
        .lastModified: "Tue, 02 Jan 2024 03:04:05 GMT", .server: "origin", .vary: "Accept-Encoding",
        .acceptRanges: "bytes",
      ])
  }

  /// Returns a response's head in its stored form.
  package static func head(_ valueSize: Int, now: Timestamp = SystemCacheClock.shared.now) throws -> [UInt8] {
    let engine = CacheEngine(.init(kind: .private))
    guard let stored = judge(Keys.request(0), response(valueSize), engine, now: now) else {
      throw BenchError.unprepared("the engine does not store the response of the measurement")
    }
    return stored.encoded()
  }
}

package struct SendableCachedResponse: @unchecked Sendable {
  // Unchecked: the object never changes after its creation.
  package let value: CachedURLResponse

  package init(_ request: URLRequest, fields: [String: String], _ body: [UInt8]) throws {
    guard let url = request.url,
      let head = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields)
    else { throw BenchError.unprepared("no response for \(request)") }
    value = CachedURLResponse(response: head, data: Data(body), userInfo: nil, storagePolicy: .allowed)
  }
}
