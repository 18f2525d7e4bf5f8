// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// One import is enough to put a cache in front of a client.
@_exported import AsyncHTTPClient
@_exported import HTTPCaching
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1

#if !AsyncHTTPClient
  #error(
    "HTTPCacheAsyncHTTPClient needs the trait AsyncHTTPClient: pass --traits AsyncHTTPClient or set it in your .package"
  )
#endif

/// An `HTTPClient` with an HTTP cache in front.
///
/// ```swift
/// let client = CachingHTTPClient(.shared, cache: cache)
/// let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(10))
/// print(response.cacheStatus?.source)    // hit
/// ```
///
/// `execute` has the parameters of `HTTPClient`, so a program changes the line that makes its client.
///
/// - Content arrives as a stream with back-pressure, from memory, from the disk or from the origin.
/// - Concurrent requests for the same response are coalesced into one request to the origin. A deadline or a cancellation
///   ends the wait of its caller. It reaches the origin only if no other caller waits for the response.
/// - Redirects are followed hop by hop through the cache, by the rules of the client's `redirectConfiguration`.
/// - If the client decodes content (`decompression`), the cache stores decoded content, with fields that describe it.
///
/// The cache sends its requests with a client of its own, with the configuration and the event loops of the given one, but
/// without redirects. It has its own connections. The given client sends only the requests that `shouldIntercept` rejects.
///
/// All members may be used from any thread or task.
public final class CachingHTTPClient: Sendable {
  /// The client that was given.
  public let client: HTTPClient
  /// The cache that stores responses.
  public let cache: HTTPCache
  /// The options of all requests.
  public let options: Options
  private let origin: HopClient

  /// Makes a client with a cache.
  ///
  /// - Parameters:
  ///   - client: the client. It must not be shut down before the last request.
  ///   - cache: the cache that stores responses; several clients may share one.
  ///   - options: the options of all requests.
  public init(_ client: HTTPClient = .shared, cache: HTTPCache, options: Options = Options()) {
    self.client = client
    self.cache = cache
    self.options = options
    origin = HopClient(like: client)
  }

  /// Shuts down the given client and the connections of the cache. The shared client stays open. The cache stays open.
  ///
  /// - Throws: as `HTTPClient.shutdown()`.
  public func shutdown() async throws {
    try await origin.shutdown()
    if client !== HTTPClient.shared { try await client.shutdown() }
  }

  // MARK: - Executing

  /// Answers a request from the cache if the rules and the policy allow it, and otherwise from the origin.
  ///
  /// - Parameters:
  ///   - request: the request. Requests with schemes other than `http` and `https` bypass the cache. So do requests with
  ///     a `Host` field that differs from the URL, and requests with a `tlsConfiguration`, unless the options set their
  ///     partition: a client certificate identifies a user.
  ///   - deadline: when the head of the response must have arrived, after all redirects. If it has not, a stored response
  ///     answers where `stale-if-error` permits it.
  ///   - logger: the logger of the request to the origin.
  ///   - options: the options of this request.
  /// - Returns: the response. Its content may be read once, and arrives while it is read.
  /// - Throws: as `HTTPClient.execute`; `HTTPCacheError` (`notCached`) if the policy forbids the network and no stored
  ///   response can answer.
  public func execute(
    _ request: HTTPClientRequest, deadline: NIODeadline, logger: Logger? = nil,
    options: RequestOptions = RequestOptions()
  ) async throws -> HTTPClientResponse {
    guard self.options.shouldIntercept(request) else {
      return try await client.execute(request, deadline: deadline, logger: logger)
    }
    var hop = Hop(request: request, deadline: deadline, logger: logger, options: options)
    var history: [HTTPClientRequestResponse] = []
    while true {
      var response = try await answer(hop)
      let head = HTTPResponseHead(
        version: response.version, status: response.status, headers: response.headers)
      history.append(HTTPClientRequestResponse(request: hop.request, responseHead: head))
      response.history = history
      guard let next = try origin.redirects?.next(after: history) else { return response }
      // A redirect is stored when it has been read to its end.
      await response.body.drop(upTo: 1 << 20)
      hop.request = next
    }
  }

  /// Answers a request; see ``execute(_:deadline:logger:options:)``.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - timeout: how long the head of the response may take, after all redirects.
  ///   - logger: the logger of the request to the origin.
  ///   - options: the options of this request.
  public func execute(
    _ request: HTTPClientRequest, timeout: TimeAmount, logger: Logger? = nil,
    options: RequestOptions = RequestOptions()
  ) async throws -> HTTPClientResponse {
    try await execute(request, deadline: .now() + timeout, logger: logger, options: options)
  }

  // MARK: - One hop

  /// One request of a chain of redirects, and what holds for all of them.
  private struct Hop: Sendable {
    var request: HTTPClientRequest
    let deadline: NIODeadline
    let logger: Logger?
    let options: RequestOptions
  }

  private func answer(_ hop: Hop) async throws -> HTTPClientResponse {
    let partition = hop.options.partition ?? options.partition(hop.request)
    guard let head = HTTPRequest(hop.request, decoding: origin.decodes),
      hop.request.tlsConfiguration == nil || partition != nil
    else {
      return try await origin.client.execute(hop.request, deadline: hop.deadline, logger: hop.logger)
    }
    // The store must not answer a GET with content.
    guard hop.request.body == nil else {
      return try await withDeadline(hop.deadline) { [self] in try await load(head, hop, partition) }
    }
    switch cache.begin(head, policy: hop.options.policy, partition: partition) {
    case .answer(let stored): return HTTPClientResponse(stored)
    case .pending(let pending):
      do {
        return try await withDeadline(hop.deadline) { [self] in
          let version = LastVersion()
          let response = try await cache.respond(
            to: pending, lifetime: lifetime(of: hop), transport: transport(hop, like: hop.request, version))
          return answer(response, version)
        }
      } catch let error as HTTPClientError where error == .deadlineExceeded {
        return HTTPClientResponse(
          try await cache.respond(
            toOverdue: head, policy: hop.options.policy, partition: partition, error: error))
      }
    }
  }

  /// Answers a request with content.
  private func load(
    _ head: HTTPRequest, _ hop: Hop, _ partition: String?
  ) async throws -> HTTPClientResponse {
    let (content, body) = try await RequestContent.split(
      hop.request.body, of: head, upTo: cache.maximumQueryContent)
    var template = hop.request
    template.body = body
    let version = LastVersion()
    let response = try await cache.respond(
      to: head, body: content, policy: hop.options.policy, partition: partition, lifetime: lifetime(of: hop),
      transport: transport(hop, like: template, version))
    return answer(response, version)
  }

  private func transport(
    _ hop: Hop, like template: HTTPClientRequest, _ version: LastVersion
  ) -> Transport {
    { [origin, logger = hop.logger] forwarded, _ in
      try await origin.send(forwarded, like: template, logger, version)
    }
  }

  private func answer(_ response: CachedResponse, _ version: LastVersion) -> HTTPClientResponse {
    var answer = HTTPClientResponse(response)
    if response.source == .network, let version = version.value { answer.version = version }
    return answer
  }

  private func lifetime(of hop: Hop) -> LifetimeRule? {
    if let lifetime = hop.options.lifetime { return fixedLifetime(lifetime) }
    guard let rule = options.lifetime else { return nil }
    return { [request = hop.request] _, response in rule(request, HTTPResponseHead(response)) }
  }
}

/// Ends a wait when a deadline passes.
///
/// - Throws: `HTTPClientError.deadlineExceeded`, or the error of the work.
private func withDeadline<Result: Sendable>(
  _ deadline: NIODeadline, _ work: @escaping @Sendable () async throws -> Result
) async throws -> Result {
  guard deadline < .distantFuture else { return try await work() }
  return try await withThrowingTaskGroup(of: Result?.self) { group in
    group.addTask { try await work() }
    group.addTask {
      try await Task.sleep(for: .nanoseconds(max(0, (deadline - .now()).nanoseconds)))
      return nil
    }
    defer { group.cancelAll() }
    guard let result = try await group.next() ?? nil else { throw HTTPClientError.deadlineExceeded }
    return result
  }
}
