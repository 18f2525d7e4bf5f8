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
/// - Redirects are followed hop by hop through the cache, by the rules of the parameter `redirects`.
/// - If the client decodes content (`decompression`), the cache stores decoded content, with fields that describe it.
///
/// All members may be used from any thread or task.
public final class CachingHTTPClient: Sendable {
  /// How redirects are followed.
  public typealias Redirects = HTTPClient.Configuration.RedirectConfiguration.FollowConfiguration

  /// The client that sends the requests that `shouldIntercept` rejects.
  public var client: HTTPClient { origin.plain }
  /// The cache that stores responses.
  public let cache: HTTPCache
  /// The options of all requests.
  public let options: Options
  private let origin: HopClient

  /// Makes a client with a cache, and its connections.
  ///
  /// It makes two HTTP clients with this configuration: one for the requests of the cache, which follows no redirects, and
  /// ``client``. ``shutdown()`` shuts down both.
  ///
  /// - Parameters:
  ///   - configuration: the configuration of connections and requests. Its `redirectConfiguration` is not used, because
  ///     AsyncHTTPClient does not publish what it contains. Set `timeout.connect`: AsyncHTTPClient repeats a
  ///     refused connection until that time is over (default: 10 seconds), and only then a stored response answers.
  ///   - redirects: how redirects are followed, for example `.follow(max: 5)`; `nil` if a redirect is the answer.
  ///   - eventLoopGroup: the event loops of the connections.
  ///   - cache: the cache that stores responses; several clients may share one.
  ///   - options: the options of all requests.
  public init(
    configuration: HTTPClient.Configuration, redirects: Redirects?,
    eventLoopGroup: any EventLoopGroup = HTTPClient.defaultEventLoopGroup, cache: HTTPCache,
    options: Options = Options()
  ) {
    origin = HopClient(configuration, redirects, eventLoopGroup, options.breakers)
    self.cache = cache
    self.options = options
  }

  /// Puts a cache in front of an existing client.
  ///
  /// AsyncHTTPClient does not publish the configuration of a client. So this initializer is for `HTTPClient.shared`, whose
  /// configuration is known, and for clients with `redirectConfiguration: .disallow` and without `decompression`:
  ///
  /// - If the client follows a redirect by itself, the cache has not seen the hops. The caller gets the response as it came,
  ///   with its `history` and without a `cacheStatus`. It is not stored, and the logger of the request gets a warning.
  /// - The cache sends `Accept-Encoding: identity` unless the request has the field, so that the client decodes nothing.
  ///
  /// - Parameters:
  ///   - client: the client. It must not be shut down before the last request, and ``shutdown()`` does not do so.
  ///   - redirects: how redirects are followed through the cache. With `nil`, a redirect is the answer, or, for
  ///     `HTTPClient.shared`, up to 20 are followed.
  ///   - cache: the cache that stores responses; several clients may share one.
  ///   - options: the options of all requests.
  public init(
    _ client: HTTPClient = .shared, redirects: Redirects? = nil, cache: HTTPCache,
    options: Options = Options()
  ) {
    self.cache = cache
    self.options = options
    origin = HopClient(client, redirects, options.breakers)
  }

  /// Shuts down the clients that this one has made. A client that was given and the cache stay open.
  ///
  /// - Throws: as `HTTPClient.shutdown()`.
  public func shutdown() async throws { try await origin.shutdown() }

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
    try await readContent(of: &hop)
    var history: [HTTPClientRequestResponse] = []
    while true {
      var response = try await answer(hop)
      if response.history.isEmpty {
        let head = HTTPResponseHead(
          version: response.version, status: response.status, headers: response.headers)
        history.append(HTTPClientRequestResponse(request: hop.request, responseHead: head))
      } else {
        history += response.history
      }
      response.history = history
      guard let next = try origin.redirects?.next(after: history),
        next.body == nil || hop.content != nil
      else { return response }
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
    /// The content, if it was read into memory.
    var content: ByteBuffer?

    var isQuery: Bool { request.method.rawValue == "QUERY" }
  }

  /// Reads the content of a request, if it is part of the key or may be sent again.
  private func readContent(of hop: inout Hop) async throws {
    guard let body = hop.request.body,
      hop.isQuery || (origin.redirects != nil && options.canResendContent(hop.request))
    else { return }
    let limit = hop.isQuery ? cache.maximumQueryContent : 0
    let read = try await withDeadline(hop.deadline) { try await RequestContent(reading: body, upTo: limit) }
    (hop.request.body, hop.content) = (read.body, read.bytes)
  }

  private func answer(_ hop: Hop) async throws -> HTTPClientResponse {
    let partition = hop.options.partition ?? options.partition(hop.request)
    guard let head = HTTPRequest(hop.request, decoding: origin.decodes == true),
      hop.request.tlsConfiguration == nil || partition != nil
    else {
      return try await origin.client.execute(hop.request, deadline: hop.deadline, logger: hop.logger)
    }
    // The store must not answer a GET with content.
    if let body = hop.request.body {
      return try await withDeadline(hop.deadline) { [self] in try await load(head, body, hop, partition) }
    }
    switch cache.begin(head, policy: hop.options.policy, partition: partition) {
    case .answer(let stored): return HTTPClientResponse(stored)
    case .pending(let pending):
      let begun = NIODeadline.now()
      do {
        return try await withDeadline(hop.deadline) { [self] in
          let reply = UpstreamReply()
          let response = try await cache.respond(
            to: pending, lifetime: lifetime(of: hop, reply), transport: transport(hop, reply))
          return answer(response, reply)
        }
      } catch let error as HTTPClientError where error == .deadlineExceeded {
        if begun < hop.deadline { origin.noteOverdue(head, hop.logger) }
        return HTTPClientResponse(
          try await cache.respond(
            toOverdue: head, policy: hop.options.policy, partition: partition, error: error))
      }
    }
  }

  /// Answers a request with content.
  private func load(
    _ head: HTTPRequest, _ body: HTTPClientRequest.Body, _ hop: Hop, _ partition: String?
  ) async throws -> HTTPClientResponse {
    // Only the content of a QUERY is part of the key.
    let known = hop.isQuery ? hop.content.map { MessageBody(Array($0.readableBytesView)) } : nil
    let reply = UpstreamReply()
    let response = try await cache.respond(
      to: head, body: known ?? MessageBody(Chunks(body)), policy: hop.options.policy, partition: partition,
      lifetime: lifetime(of: hop, reply), transport: transport(hop, reply))
    return answer(response, reply)
  }

  private func transport(_ hop: Hop, _ reply: UpstreamReply) -> Transport {
    { [origin] forwarded, _ in try await origin.send(forwarded, like: hop.request, hop.logger, reply) }
  }

  private func answer(_ response: CachedResponse, _ reply: UpstreamReply) -> HTTPClientResponse {
    guard response.source == .network else { return HTTPClientResponse(response) }
    if let followed = reply.followed { return followed }
    var answer = HTTPClientResponse(response)
    if let version = reply.version { answer.version = version }
    return answer
  }

  private func lifetime(of hop: Hop, _ reply: UpstreamReply) -> LifetimeRule? {
    if let lifetime = hop.options.lifetime { return fixedLifetime(lifetime) }
    guard let rule = options.lifetime else { return nil }
    return { [request = hop.request] _, response in
      reply.followed == nil ? rule(request, HTTPResponseHead(response)) : nil
    }
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
