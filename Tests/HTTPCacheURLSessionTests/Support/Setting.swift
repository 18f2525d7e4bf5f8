// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCacheURLSession
import HTTPCaching
import HTTPTypes
import Loopback
import TestSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// An origin, a cache and a session that uses it, over real sockets.
struct Setting: Sendable {
  let origin: LoopbackOrigin
  let cache: HTTPCache
  let session: URLSession
  let clock: ManualClock

  /// Runs a test with an origin that answers with `handler`.
  static func with(
    base: URLSessionConfiguration = .plain, options: CachingOptions = CachingOptions(),
    configure: (inout HTTPCache.Configuration) -> Void = { _ in },
    _ handler: @escaping LoopbackOrigin.Handler, test body: (Setting) async throws -> Void
  ) async throws {
    let clock = ManualClock(SystemCacheClock.shared.now)
    var configuration = HTTPCache.Configuration(kind: .private)
    configure(&configuration)
    let cache = HTTPCache(
      store: try CacheStore(.init(memoryCapacity: 16 << 20)), configuration: configuration, clock: clock)
    let origin = try await LoopbackOrigin.start(handler)
    let base = base.patient
    let session = URLSession(configuration: .caching(with: cache, options: options, base: base))
    let setting = Setting(origin: origin, cache: cache, session: session, clock: clock)
    let result: Result<Void, any Error>
    do {
      result = .success(try await body(setting))
    } catch {
      result = .failure(error)
    }
    // Not invalidateAndCancel: on Linux it cancels tasks that have just called their completion handler, which is then
    // called again.
    session.finishTasksAndInvalidate()
    await origin.stop()
    cache.close()
    try result.get()
  }

  func request(
    _ path: String = "/", policy: URLRequest.CachePolicy = .useProtocolCachePolicy, method: String = "GET",
    fields: [String: String] = [:], body: Data? = nil
  ) throws -> URLRequest {
    guard let url = URL(string: origin.url(path)) else { throw URLError(.badURL) }
    var request = URLRequest(url: url, cachePolicy: policy)
    request.httpMethod = method
    request.httpBody = body
    for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
    return request
  }

  func load(_ request: URLRequest) async throws -> Answer {
    let (data, response) = try await session.data(for: request)
    guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
    return Answer(response: response, data: data)
  }

  func load(
    _ path: String = "/", policy: URLRequest.CachePolicy = .useProtocolCachePolicy,
    fields: [String: String] = [:]
  ) async throws -> Answer {
    try await load(request(path, policy: policy, fields: fields))
  }
}

struct Answer: Sendable {
  var response: HTTPURLResponse
  var data: Data

  var text: String { String(decoding: data, as: UTF8.self) }
  var source: CachedResponse.Source? { response.cacheStatus?.source }
  var reason: CacheEngine.Reason? { response.cacheStatus?.reason }
}

extension URLSessionConfiguration {
  /// A patient configuration without storages for cookies and credentials, and so with the settings of all others like it:
  /// their sessions share a session to origins.
  ///
  /// On Linux, two sessions to origins can meet in a descriptor: libcurl closes a socket, another session's socket gets its
  /// number, and then libdispatch ends what it thinks is still the first. The second one waits until its timeout. It
  /// happened once in 60 runs of all tests, and after some hundred rounds of uploads beside cancelled loads.
  static var plain: URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral.patient
    configuration.httpCookieStorage = nil
    configuration.urlCredentialStorage = nil
    return configuration
  }

  /// The same, unless it has a timeout of its own, with one that a busy machine does not reach.
  var patient: URLSessionConfiguration {
    guard timeoutIntervalForRequest == 60, let copy = copy() as? URLSessionConfiguration else { return self }
    copy.timeoutIntervalForRequest = 600
    return copy
  }
}
