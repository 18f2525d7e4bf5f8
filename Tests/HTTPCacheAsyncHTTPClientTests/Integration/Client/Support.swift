// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheAsyncHTTPClient
import HTTPCacheStore
import Loopback
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

/// A client with a cache, and an origin for it.
struct Fixture: Sendable {
  let origin: LoopbackOrigin
  let cache: HTTPCache
  let clock: ManualClock
  let client: CachingHTTPClient

  /// Runs a test, and checks that no content stays in flight.
  ///
  /// - Parameter given: an existing client to use, which the test shuts down.
  static func with(
    _ kind: CacheEngine.Configuration.Kind = .private, options: CachingHTTPClient.Options = .init(),
    redirects: CachingHTTPClient.Redirects? = .follow(max: 5), given: HTTPClient? = nil,
    configure: (inout HTTPClient.Configuration) -> Void = { _ in },
    cacheOptions: (inout HTTPCache.Configuration) -> Void = { _ in },
    disk: FilePath? = nil,
    _ handler: @escaping LoopbackOrigin.Handler, test body: (Fixture) async throws -> Void
  ) async throws {
    let origin = try await LoopbackOrigin.start(handler)
    let clock = ManualClock(Timestamp(seconds: 1_700_000_000))
    var cacheConfiguration = HTTPCache.Configuration(kind: kind)
    cacheOptions(&cacheConfiguration)
    let store = try CacheStore(
      .init(memoryCapacity: 16 << 20, diskCapacity: disk == nil ? 0 : 512 << 20, directory: disk))
    let cache = HTTPCache(store: store, configuration: cacheConfiguration, clock: clock)
    var configuration = HTTPClient.Configuration()
    // The machine may have other work.
    configuration.timeout.connect = .minutes(4)
    configure(&configuration)
    let client =
      if let given {
        CachingHTTPClient(given, redirects: redirects, cache: cache, options: options)
      } else {
        CachingHTTPClient(configuration: configuration, redirects: redirects, cache: cache, options: options)
      }
    let result: Result<Void, any Error>
    do {
      try await body(Fixture(origin: origin, cache: cache, clock: clock, client: client))
      // The last reference to a transfer ends it, which nothing announces.
      result = .success(try await eventually { cache.transit.used == 0 })
    } catch {
      result = .failure(error)
    }
    try await client.shutdown()
    await origin.stop()
    cache.close()
    try result.get()
  }

  /// The source of an answer, its status and its content.
  struct Answer: Equatable, Sendable {
    var source: CachedResponse.Source?
    var status: UInt = 200
    var body: String
  }

  func request(_ path: String, _ fields: [(String, String)] = []) -> HTTPClientRequest {
    var request = HTTPClientRequest(url: origin.url(path))
    for (name, value) in fields { request.headers.add(name: name, value: value) }
    return request
  }

  func get(
    _ path: String, _ fields: [(String, String)] = [], options: CachingHTTPClient.RequestOptions = .init()
  ) async throws -> Answer {
    try await answer(to: request(path, fields), options: options)
  }

  func answer(
    to request: HTTPClientRequest, options: CachingHTTPClient.RequestOptions = .init()
  ) async throws -> Answer {
    let response = try await client.execute(request, timeout: .minutes(4), options: options)
    let body = try await response.body.collect(upTo: 64 << 20)
    return Answer(
      source: response.cacheStatus?.source, status: response.status.code, body: String(buffer: body))
  }
}

extension LoopbackOrigin.Response {
  static func fresh(_ body: String, _ fields: HTTPFields = [:]) -> Self {
    var fields = fields
    if fields[.cacheControl] == nil { fields[.cacheControl] = "max-age=60" }
    return .init(fields: fields, body: body)
  }
}
