// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import HTTPTypes
import NIOCore

/// The error of a request that was not sent, because its upstream had not responded to most of its latest requests.
///
/// It counts as a disconnection: a stored response answers where `stale-if-error` or the cache's settings permit it.
public struct UpstreamUnavailable: Error, CustomStringConvertible {
  /// Scheme, host and port of the upstream, for example `http://prices.internal:8080`.
  public let upstream: String
  /// Why the latest request failed.
  public let cause: any Error

  public var description: String {
    "\(upstream) has not responded to most of its latest requests, so this one was not sent; the latest failed with: \(cause)"
  }
}

/// Knows which upstreams respond.
///
/// A request fails if its connection cannot be made, or if its time is over before the head of the response. An upstream that
/// does not respond to most of its requests (``CircuitBreaker``) gets only one now and then, until it responds to one. Any
/// response will do, whatever its status: an error page is for the rules of caching. What the request asks for decides
/// nothing, so an upstream is a scheme, a host and a port.
///
/// The value has no clock: events have their time.
struct UpstreamBreakers {
  struct Upstream: Hashable, Sendable {
    var scheme: String?
    var authority: String?

    init(_ request: HTTPRequest) { (scheme, authority) = (request.scheme, request.authority) }

    var name: String { "\(scheme ?? "http")://\(authority ?? "")" }
  }

  private struct State {
    var breaker: CircuitBreaker
    /// Why the latest request failed.
    var cause: (any Error)?
    /// When the upstream has last responded, or failed.
    var last: NIODeadline
    /// When the next deadline that passes may count.
    var nextDeadline = NIODeadline.uptimeNanoseconds(0)
  }

  private let limits: CircuitBreaker.Limits
  private let interval: TimeAmount
  private var states: [Upstream: State] = [:]
  /// The callers choose the hosts, so there may be any number.
  static let maximumCount = 1024

  /// - Parameters:
  ///   - limit: failures at which an upstream gets few requests; `nil` for no limit.
  ///   - interval: longest time between the requests that are sent to an upstream that does not respond.
  init(limit: Int?, interval: TimeAmount) {
    self.interval = interval
    let time = Duration.nanoseconds(interval.nanoseconds)
    // Deadlines count once an interval.
    let window = max(.seconds(5), time * (2 * min(limit ?? 1, 1000)))
    limits = .init(failures: limit, window: window, interval: time)
  }

  /// The number of upstreams whose latest requests are known.
  var count: Int { states.count }

  /// Returns the error of a request that must not be sent; `nil` if it is to be sent.
  mutating func refusal(by upstream: Upstream, at now: NIODeadline) -> UpstreamUnavailable? {
    guard let state = states[upstream], !state.breaker.isClosed, let cause = state.cause else { return nil }
    // This request finds out; the others do not wait for it.
    if states[upstream]?.breaker.beginProbe(at: now.time) == true { return nil }
    return UpstreamUnavailable(upstream: upstream.name, cause: cause)
  }

  /// Records a response.
  ///
  /// - Returns: whether the upstream gets all requests again from now on.
  mutating func responded(_ upstream: Upstream, at now: NIODeadline) -> Bool {
    change(upstream, at: now) { state in
      state.nextDeadline = now
      state.breaker.succeeded(at: now.time)
      return state.breaker.close()
    }
  }

  /// Returns whether a deadline that has passed counts: one an interval, because many callers may wait for one request.
  func mayCountDeadline(of upstream: Upstream, at now: NIODeadline) -> Bool {
    states[upstream].map { $0.nextDeadline <= now } ?? true
  }

  /// Records a request that had no response.
  ///
  /// - Returns: whether the upstream gets few requests from now on.
  mutating func failed(_ upstream: Upstream, _ cause: any Error, at now: NIODeadline) -> Bool {
    change(upstream, at: now) { [interval] state in
      state.nextDeadline = now + interval
      state.cause = cause
      return state.breaker.failed(at: now.time)
    }
  }

  private mutating func change(
    _ upstream: Upstream, at now: NIODeadline, _ body: (inout State) -> Bool
  ) -> Bool {
    if limits.failures == nil { return false }
    if states[upstream] == nil, states.count == Self.maximumCount,
      let oldest = states.min(by: { $0.value.last < $1.value.last })?.key
    {
      states[oldest] = nil
    }
    var state = states[upstream] ?? State(breaker: CircuitBreaker(limits), last: now)
    state.last = now
    defer { states[upstream] = state }
    return body(&state)
  }
}

extension NIODeadline {
  fileprivate var time: Int64 { Int64(clamping: uptimeNanoseconds) }
}
