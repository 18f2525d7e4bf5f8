// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import AsyncHTTPClient
import CacheMutex
import HTTPCaching
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import NIOHTTPTypesHTTP1
import NIOPosix
import NIOSSL
import SystemPackage

/// The transport to origins: a client that follows no redirect itself. Each hop is a request to the cache.
final class HopClient: Sendable {
  let client: HTTPClient
  /// The client for requests that bypass the cache.
  let plain: HTTPClient
  /// How the cache follows redirects; `nil` if it does not.
  let redirects: CachingHTTPClient.Redirects?
  /// Whether the client decodes content; `nil` if that is unknown.
  let decodes: Bool?
  /// Whether this object made the clients.
  private let isOwner: Bool
  private let breakers: Mutex<UpstreamBreakers>

  /// Makes the clients.
  init(
    _ configuration: HTTPClient.Configuration, _ redirects: CachingHTTPClient.Redirects?,
    _ eventLoopGroup: any EventLoopGroup, _ breakers: UpstreamBreakers
  ) {
    var configuration = configuration
    configuration.redirectConfiguration = .disallow
    client = HTTPClient(eventLoopGroup: eventLoopGroup, configuration: configuration)
    if let redirects {
      configuration.redirectConfiguration = .follow(configuration: redirects)
      plain = HTTPClient(eventLoopGroup: eventLoopGroup, configuration: configuration)
    } else {
      plain = client
    }
    self.redirects = redirects
    decodes = configuration.isDecoding
    isOwner = true
    self.breakers = Mutex(breakers)
  }

  /// Uses an existing client. Only the configuration of the shared one is known: a client like that is made once.
  init(_ given: HTTPClient, _ redirects: CachingHTTPClient.Redirects?, _ breakers: UpstreamBreakers) {
    let isShared = given === HTTPClient.shared
    client = isShared ? Self.shared : given
    plain = given
    self.redirects = redirects ?? (isShared ? .follow(max: 20) : nil)
    decodes = isShared ? HTTPClient.Configuration.singletonConfiguration.isDecoding : nil
    isOwner = false
    self.breakers = Mutex(breakers)
  }

  /// Stands beside the shared client, and is never shut down, like that.
  private static let shared: HTTPClient = {
    var configuration = HTTPClient.Configuration.singletonConfiguration
    configuration.redirectConfiguration = .disallow
    return HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
  }()

  deinit {
    guard isOwner else { return }
    // Without this, the clients end a debug build. An error means that they were shut down before.
    client.shutdown { _ in }
    if plain !== client { plain.shutdown { _ in } }
  }

  func shutdown() async throws {
    guard isOwner else { return }
    try await client.shutdown()
    if plain !== client { try await plain.shutdown() }
  }

  // MARK: - Sending

  /// Sends a request; returns when the head of the response has arrived.
  ///
  /// It has no deadline: other callers may wait for the same response. Each wait has its own, and the last that ends
  /// cancels the request.
  ///
  /// - Parameters:
  ///   - template: the request that supplies everything except method and fields.
  ///   - reply: receives what the cache does not pass on.
  func send(
    _ request: HTTPRequest, like template: HTTPClientRequest, _ logger: Logger?, _ reply: UpstreamReply
  ) async throws -> TransportResponse {
    // A request that is cancelled already must not be the one that finds out.
    try Task.checkCancellation()
    let upstream = UpstreamBreakers.Upstream(request)
    if let refusal = breakers.withLock({ $0.refusal(by: upstream, at: .now()) }) { throw refusal }
    var outgoing = template
    outgoing.method = HTTPMethod(request.method)
    outgoing.headers = HTTPHeaders(request.headerFields)
    // A client with `decompression` would add its own, and the cache would not know that the content was decoded.
    if decodes == nil, !outgoing.headers.contains(name: "Accept-Encoding") {
      outgoing.headers.add(name: "Accept-Encoding", value: "identity")
    }
    do {
      let response = try await client.execute(outgoing, deadline: .distantFuture, logger: logger)
      if breakers.withLock({ $0.responded(upstream, at: .now()) }) {
        logger?.notice("The upstream responds again.", metadata: ["upstream": "\(upstream.name)"])
      }
      reply.version = response.version
      if response.history.count > 1 {
        return try await conceal(response, to: request, like: template, logger, reply)
      }
      return try await transportResponse(response, to: request)
    } catch {
      if Self.isSilence(error) { noteFailure(error, of: upstream, logger) }
      throw Self.isDisconnection(error) ? error : TransportFault(error)
    }
  }

  /// Counts a caller whose deadline has passed. Many may wait for one request, so they count once an interval.
  func noteOverdue(_ request: HTTPRequest, _ logger: Logger?) {
    let upstream = UpstreamBreakers.Upstream(request)
    guard breakers.withLock({ $0.mayCountDeadline(of: upstream, at: .now()) }) else { return }
    noteFailure(HTTPClientError.deadlineExceeded, of: upstream, logger)
  }

  private func noteFailure(
    _ cause: any Error, of upstream: UpstreamBreakers.Upstream, _ logger: Logger?
  ) {
    guard breakers.withLock({ $0.failed(upstream, cause, at: .now()) }) else { return }
    logger?.warning(
      "The upstream does not respond. Until it does, most requests are not sent; stored responses answer where they may.",
      metadata: ["upstream": "\(upstream.name)", "error": "\(cause)"])
  }

  /// Keeps a response for the caller that belongs to another URL: the given client has followed a redirect by itself.
  ///
  /// - Returns: the redirect, for the cache. Its content is gone, so it must not be stored.
  private func conceal(
    _ response: HTTPClientResponse, to request: HTTPRequest, like template: HTTPClientRequest,
    _ logger: Logger?, _ reply: UpstreamReply
  ) async throws -> TransportResponse {
    logger?.warning(
      "The client followed a redirect by itself, so the response is not cached. Use redirectConfiguration: .disallow.",
      metadata: ["url": "\(template.url)"])
    var head = try HTTPResponse(response.history[0].responseHead)
    // A targeted field (RFC 9213) would come before it.
    let targeted = Set(head.headerFields.map(\.name).filter { $0.canonicalName.hasSuffix("-cache-control") })
    for name in targeted { head.headerFields[name] = nil }
    head.headerFields[.cacheControl] = "no-store"
    // The target must not confirm or complete what is stored under the first URL. Only a retrieval may be sent again.
    if template.body == nil, [.GET, .HEAD].contains(template.method),
      HTTPRequest(template, decoding: false) != request
    {
      reply.followed = try await client.execute(template, deadline: .distantFuture, logger: logger)
    } else {
      reply.followed = response
    }
    return TransportResponse(head: head)
  }

  private func transportResponse(
    _ response: HTTPClientResponse, to request: HTTPRequest
  ) async throws -> TransportResponse {
    var head = try HTTPResponse(
      HTTPResponseHead(version: response.version, status: response.status, headers: response.headers))
    // A client with `decompression` decodes these two (NIOHTTPCompression), and leaves the fields as they came.
    let isEncoded = ["gzip", "deflate"].contains(response.headers.first(name: "Content-Encoding"))
    if isEncoded, decodes == true { ContentDecoding.normalize(&head) }
    let announced = head.headerFields[.contentLength].flatMap { Int($0) }
    let length = isEncoded && decodes == nil ? nil : announced
    if request.method == .head || head.status == .noContent || head.status == .notModified || announced == 0 {
      // The connection can be used again when the end has been read.
      await response.body.drop(upTo: 0)
      return TransportResponse(head: head)
    }
    return TransportResponse(head: head, body: MessageBody(Chunks(response.body), length: length))
  }

  /// Whether an error means that the upstream does not listen or does not answer. One that closes a connection does.
  private static func isSilence(_ error: any Error) -> Bool {
    switch error {
    case let error as HTTPClientError:
      [
        .connectTimeout, .readTimeout, .writeTimeout, .tlsHandshakeTimeout, .socksHandshakeTimeout,
        .httpProxyHandshakeTimeout,
      ].contains(error)
    // An address instead of a name in the URL.
    case let error as IOError:
      [.connectionRefused, .hostIsDown, .networkUnreachable, .noRouteToHost, .timedOut]
        .contains(Errno(rawValue: error.errnoCode))
    default: error is NIOConnectionError
    }
  }

  /// Whether an error means that the origin is unreachable (RFC 9111 §4.2.4). Others mean that the origin could not prove
  /// its identity, did not speak HTTP, or that the request could not be made or was cancelled.
  private static func isDisconnection(_ error: any Error) -> Bool {
    switch error {
    case let error as HTTPClientError:
      [
        .connectTimeout, .readTimeout, .writeTimeout, .remoteConnectionClosed, .tlsHandshakeTimeout,
        .socksHandshakeTimeout, .httpProxyHandshakeTimeout, .getConnectionFromPoolTimeout, .uncleanShutdown,
      ].contains(error)
    case is CancellationError, is HTTPParserError, is NIOSSLError, is BoringSSLError, is NIOSSLExtraError,
      is NIOHTTPDecompression.DecompressionError, is HTTP1TypeConversionError, is TransportFault:
      false
    default: true
    }
  }
}

/// What the cache does not pass on of the origin's last response to one call.
final class UpstreamReply: Sendable {
  private let state = Mutex<(version: HTTPVersion?, followed: HTTPClientResponse?)>((nil, nil))

  var version: HTTPVersion? {
    get { state.withLock { $0.version } }
    set { state.withLock { $0 = (newValue, nil) } }
  }

  /// The response to a redirect that the client followed by itself. It is the answer, and is not stored.
  var followed: HTTPClientResponse? {
    get { state.withLock { $0.followed } }
    set { state.withLock { $0.followed = newValue } }
  }
}

extension HTTPClient.Configuration {
  fileprivate var isDecoding: Bool { if case .enabled = decompression { true } else { false } }
}
