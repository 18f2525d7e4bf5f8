// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import AsyncHTTPClient
import Logging
import NIOCore

/// A client that sends a request and returns its response: `HTTPClient`, or ``CachingHTTPClient``.
///
/// Code that depends on it runs with a cache in production, and in a test with a plain client, or with one that answers from
/// memory.
public protocol RequestSending: Sendable {
  /// Sends a request, or answers it from a cache.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - deadline: when the head of the response must have arrived.
  ///   - logger: the logger of the request.
  /// - Returns: the response. Its content may be read once, and arrives while it is read.
  /// - Throws: what the client throws, for example `HTTPClientError`.
  func execute(
    _ request: HTTPClientRequest, deadline: NIODeadline, logger: Logger?
  ) async throws -> HTTPClientResponse
}

extension RequestSending {
  /// Sends a request, or answers it from a cache; see ``execute(_:deadline:logger:)``.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - timeout: how long the head of the response may take.
  ///   - logger: the logger of the request.
  public func execute(
    _ request: HTTPClientRequest, timeout: TimeAmount, logger: Logger? = nil
  ) async throws -> HTTPClientResponse {
    try await execute(request, deadline: .now() + timeout, logger: logger)
  }
}

extension HTTPClient: RequestSending {}

extension CachingHTTPClient: RequestSending {
  /// Answers a request with the options of the client; see ``execute(_:deadline:logger:options:)``.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - deadline: when the head of the response must have arrived, after all redirects.
  ///   - logger: the logger of the request to the origin.
  public func execute(
    _ request: HTTPClientRequest, deadline: NIODeadline, logger: Logger?
  ) async throws -> HTTPClientResponse {
    try await execute(request, deadline: deadline, logger: logger, options: RequestOptions())
  }
}
