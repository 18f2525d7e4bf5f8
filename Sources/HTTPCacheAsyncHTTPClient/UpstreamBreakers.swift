// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import HTTPTypes
import NIOCore

/// The error of a request that was not sent, because its upstream had not responded to several requests in a row.
///
/// It counts as a disconnection: a stored response answers where `stale-if-error` or the cache's settings permit it.
public struct UpstreamUnavailable: Error, CustomStringConvertible {
  /// Scheme, host and port of the upstream, for example `http://prices.internal:8080`.
  public let upstream: String
  /// Why the latest request failed.
  public let cause: any Error

  public var description: String {
    "\(upstream) has not responded to several requests in a row, so this one was not sent; the latest failed with: \(cause)"
  }
}

/// The upstreams that do not respond.
///
/// A request fails if its connection cannot be made, or if its time is over before the head of the response. After some
/// failures in a row an upstream gets one request per interval, until it responds to one. Any response will do,
/// whatever its status: an error page is for the rules of caching. What the request asks for decides nothing, so an
/// upstream is a scheme, a host and a port.
///
/// Only upstreams that have failed are kept. The value has no clock: events have their time.
struct UpstreamBreakers {
  struct Upstream: Hashable, Sendable {
    var scheme: String?
    var authority: String?

    init(_ request: HTTPRequest) { (scheme, authority) = (request.scheme, request.authority) }

    var name: String { "\(scheme ?? "http")://\(authority ?? "")" }
  }

  private struct Failing {
    var breaker: CircuitBreaker
    var cause: any Error
    /// When the next request may be sent, if the breaker is open.
    var next: NIODeadline
    /// When the next deadline that passes may count.
    var nextDeadline: NIODeadline
  }

  /// Failures in a row after which an upstream gets no requests; `nil` for no limit.
  let limit: Int?
  /// Time between the requests that are sent to an upstream that does not respond.
  let interval: TimeAmount
  private var failing: [Upstream: Failing] = [:]
  /// The callers choose the hosts, so there may be any number.
  static let maximumCount = 1024

  init(limit: Int?, interval: TimeAmount) {
    self.limit = limit
    self.interval = interval
  }

  /// The number of upstreams that have failed since their last response.
  var count: Int { failing.count }

  /// Returns the error of a request that must not be sent; `nil` if it is to be sent.
  mutating func refusal(by upstream: Upstream, at now: NIODeadline) -> UpstreamUnavailable? {
    guard !failing.isEmpty, let state = failing[upstream], !state.breaker.isClosed else { return nil }
    if state.next > now { return UpstreamUnavailable(upstream: upstream.name, cause: state.cause) }
    // This request finds out; the others do not wait for it.
    failing[upstream]?.next = now + interval
    return nil
  }

  /// Records a response.
  ///
  /// - Returns: whether the upstream gets all requests again from now on.
  mutating func responded(_ upstream: Upstream) -> Bool {
    guard !failing.isEmpty, let state = failing.removeValue(forKey: upstream) else { return false }
    return !state.breaker.isClosed
  }

  /// Returns whether a deadline that has passed counts: one an interval, because many callers may wait for one request.
  func mayCountDeadline(of upstream: Upstream, at now: NIODeadline) -> Bool {
    failing[upstream].map { $0.nextDeadline <= now } ?? true
  }

  /// Records a request that had no response.
  ///
  /// - Returns: whether the upstream gets only one request per interval from now on.
  mutating func failed(_ upstream: Upstream, _ cause: any Error, at now: NIODeadline) -> Bool {
    guard let limit else { return false }
    if failing[upstream] == nil, failing.count == Self.maximumCount,
      let oldest = failing.min(by: { $0.value.next < $1.value.next })?.key
    {
      failing[oldest] = nil
    }
    var state =
      failing[upstream]
      ?? Failing(
        breaker: CircuitBreaker(limit: limit, isClosed: true), cause: cause, next: now, nextDeadline: now)
    defer { failing[upstream] = state }
    (state.cause, state.nextDeadline) = (cause, now + interval)
    let isOpened = state.breaker.failed()
    // Not by a failure of an earlier request: it would put off the next one.
    if isOpened { state.next = now + interval }
    return isOpened
  }
}
