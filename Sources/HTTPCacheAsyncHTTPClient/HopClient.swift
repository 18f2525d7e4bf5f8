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
import NIOSSL

/// The transport to origins: a client with the configuration of the given one, that follows no redirect itself. Each hop
/// is a request to the cache.
final class HopClient: Sendable {
  let client: HTTPClient
  /// How the given client follows redirects; `nil` if it does not.
  let redirects: HTTPClient.Configuration.RedirectConfiguration.FollowConfiguration?
  /// Whether the client decodes content.
  let decodes: Bool
  /// Whether this object made the client.
  private let isOwned: Bool

  private typealias Configuration = HTTPClient.Configuration

  init(like given: HTTPClient) {
    // For a client whose configuration is unknown, the safe assumption is that it follows redirects: see `send`.
    let configuration = given.knownConfiguration
    redirects = configuration?.redirectConfiguration.followed
    decodes = configuration.map { if case .enabled = $0.decompression { true } else { false } } ?? false
    guard var configuration, redirects != nil else {
      (client, isOwned) = (given, false)
      return
    }
    if given === HTTPClient.shared {
      (client, isOwned) = (Self.shared, false)
      return
    }
    configuration.redirectConfiguration = .disallow
    client = HTTPClient(eventLoopGroup: given.eventLoopGroup, configuration: configuration)
    isOwned = true
  }

  /// Stands beside the shared client, and is never shut down, like that.
  private static let shared: HTTPClient = {
    var configuration = Configuration.singletonConfiguration
    configuration.redirectConfiguration = .disallow
    return HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
  }()

  deinit {
    // Without this, the client ends a debug build. An error means that it was shut down before.
    if isOwned { client.shutdown { _ in } }
  }

  func shutdown() async throws {
    if isOwned { try await client.shutdown() }
  }

  // MARK: - Sending

  /// Sends a request; returns when the head of the response has arrived.
  ///
  /// It has no deadline: other callers may wait for the same response. Each wait has its own, and the last that ends
  /// cancels the request.
  ///
  /// - Parameters:
  ///   - template: the request that supplies everything except method and fields.
  ///   - version: receives the HTTP version of the response.
  func send(
    _ request: HTTPRequest, like template: HTTPClientRequest, _ logger: Logger?, _ version: LastVersion
  ) async throws -> TransportResponse {
    var outgoing = template
    outgoing.method = HTTPMethod(request.method)
    outgoing.headers = HTTPHeaders(request.headerFields)
    do {
      let response = try await client.execute(outgoing, deadline: .distantFuture, logger: logger)
      // The response belongs to another URL: the client has followed a redirect.
      guard response.history.count <= 1 else { throw TransportFault(FollowedRedirect()) }
      version.value = response.version
      return try await transportResponse(response, to: request)
    } catch {
      throw Self.isDisconnection(error) ? error : TransportFault(error)
    }
  }

  private func transportResponse(
    _ response: HTTPClientResponse, to request: HTTPRequest
  ) async throws -> TransportResponse {
    var head = try HTTPResponse(
      HTTPResponseHead(version: response.version, status: response.status, headers: response.headers))
    // The client decodes these two (NIOHTTPCompression), and leaves the fields as they came.
    if decodes, ["gzip", "deflate"].contains(response.headers.first(name: "Content-Encoding")) {
      ContentDecoding.normalize(&head)
    }
    let length = head.headerFields[.contentLength].flatMap { Int($0) }
    if request.method == .head || head.status == .noContent || head.status == .notModified || length == 0 {
      // The connection can be used again when the end has been read.
      await response.body.drop(upTo: 0)
      return TransportResponse(head: head)
    }
    return TransportResponse(head: head, body: MessageBody(Chunks(response.body), length: length))
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

/// The given client has followed a redirect by itself, and its configuration is unknown.
struct FollowedRedirect: Error, CustomStringConvertible {
  var description: String {
    "the client followed a redirect that the cache did not see; set its redirectConfiguration to .disallow"
  }
}

/// The HTTP version of the origin's last response to one call.
final class LastVersion: Sendable {
  private let version = Mutex<HTTPVersion?>(nil)

  var value: HTTPVersion? {
    get { version.withLock { $0 } }
    set { version.withLock { $0 = newValue } }
  }
}
