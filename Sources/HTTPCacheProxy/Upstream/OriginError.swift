// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCaching
import HTTPTypes

/// Why the origin sent no response, in the terms of `Proxy-Status` (RFC 9209 §2.3).
struct OriginError: Error, Hashable, CustomStringConvertible {
  enum Kind: String, Sendable {
    case dnsError = "dns_error"
    case unroutable = "destination_ip_unroutable"
    case connectionRefused = "connection_refused"
    case connectionTimeout = "connection_timeout"
    case connectionTerminated = "connection_terminated"
    case tlsProtocolError = "tls_protocol_error"
    case tlsCertificateError = "tls_certificate_error"
    case tlsAlertReceived = "tls_alert_received"
    case responseTimeout = "http_response_timeout"
    case responseIncomplete = "http_response_incomplete"
    case protocolError = "http_protocol_error"
    /// The response has a status that counts as none.
    case failureStatus = "failure_status"
    /// The proxy does not try, because earlier requests failed.
    case destinationUnavailable = "destination_unavailable"
    /// The origin has as many connections as it may have.
    case connectionLimitReached = "connection_limit_reached"
    /// The proxy, and not the origin, lacks file descriptors or memory.
    case proxyInternalError = "proxy_internal_error"
  }

  /// The known progress of a request.
  enum Reach: Sendable, CaseIterable {
    /// No byte was written, or the origin says that it has not looked at the request.
    case unsent
    /// The request was written, and the connection ended before the first byte of a response.
    case unanswered
    /// A response had begun.
    case answered
  }

  var kind: Kind
  var description: String
  var reach: Reach
  /// When the client may try again, in seconds.
  var retryAfter: Int?
  /// Whether the proxy itself ended the exchange.
  var isByProxy: Bool
  /// Whether the origin says that it has not looked at the request (RFC 9113 §8.7).
  var isRefusal = false
  /// Whether it has looked at others on the same connection: then it will look at this one on another.
  var hasServedOthers = false

  init(
    _ kind: Kind, _ description: String, reach: Reach = .answered, retryAfter: Int? = nil,
    isByProxy: Bool = false
  ) {
    self.kind = kind
    self.description = description
    self.reach = reach
    self.retryAfter = retryAfter
    self.isByProxy = isByProxy
  }

  /// Whether the origin, or the way to it, is at fault.
  var isOfOrigin: Bool {
    switch kind {
    case .proxyInternalError, .destinationUnavailable, .connectionLimitReached: false
    default: !isByProxy
    }
  }

  /// Whether the origin has not responded at all: this counts for the ``OriginBreaker``. A refusal says nothing about the origin.
  var isOutage: Bool { isOfOrigin && !isAnswer && !isRefusal }

  /// Whether the origin has responded, but badly.
  var isAnswer: Bool { isOfOrigin && (kind == .protocolError || kind == .responseIncomplete) }

  /// Maximum times that a request is sent, if the origin never looks at it: two connections may end at the same time.
  static let attempts = 3

  /// Whether a request may be sent again, on another connection.
  ///
  /// An origin may close a connection that serves many requests at any time, also while a request is in flight (RFC 9112
  /// §9.5). A request that was not sent was not applied, whatever its method, nor was one that a stream of HTTP/2 was refused
  /// for (RFC 9113 §8.7). Otherwise the request must be idempotent, its content must still be available, and no part of a
  /// response may have arrived (RFC 9110 §9.2.2). The proxy cannot know whether such an origin has read the request: it may
  /// get an idempotent request twice.
  ///
  func allowsRetry(_ request: OriginCall.Sent) -> Bool {
    guard kind == .connectionTerminated, !isByProxy else { return false }
    return switch reach {
    // An origin of HTTP/2 may end each connection after a few requests, and many requests wait for it.
    case .unsent: request.attempts < Self.attempts || hasServedOthers
    case .unanswered:
      request.attempts == 1 && request.isReused && request.request.method.isIdempotent
        && request.body.isInMemory
    case .answered: false
    }
  }

  /// Whether another server may get the request, of whose response nothing has been used.
  ///
  /// - Parameters:
  ///   - isRepeatable: whether it does no harm if both servers have got the request.
  ///   - mayHaveArrived: whether this server may have got it with an earlier attempt.
  func allowsNextServer(isRepeatable: Bool, mayHaveArrived: Bool) -> Bool {
    if isByProxy || kind == .proxyInternalError { return false }
    return isRepeatable || reach == .unsent && !mayHaveArrived
  }

  /// Counts a request that was not sent, because of a limit or of earlier failures.
  func count(in statistics: SiteStatistics) {
    switch kind {
    case .connectionLimitReached: statistics.originLimited.increment()
    case .destinationUnavailable: statistics.originUnavailable.increment()
    default: break
    }
  }

  /// RFC 9110 §15.6.3 to §15.6.5.
  var status: Int {
    switch kind {
    case .responseTimeout, .connectionTimeout: 504
    case .proxyInternalError, .destinationUnavailable, .connectionLimitReached: 503
    case .dnsError, .unroutable, .connectionRefused, .connectionTerminated, .tlsProtocolError,
      .tlsCertificateError, .tlsAlertReceived, .responseIncomplete, .protocolError, .failureStatus:
      502
    }
  }
}
