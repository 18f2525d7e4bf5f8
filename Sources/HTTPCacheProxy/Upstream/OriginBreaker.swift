// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import HTTPTypes
import NIOCore

/// Decides whether requests are sent to the origin: after some failures in a row they are not, until the origin has
/// responded to a probe.
///
/// A failure is a connection that cannot be made, one that ends before the head of the response, or a head that does not
/// come in time. Every response counts as an answer, whatever its status: an error page is for the rules of caching.
///
/// The proxy itself sends the probes, one at a time, as requests with HEAD. So a client never waits for one, as the
/// client of nginx's single live request does. A connection alone would not do: the kernel accepts connections for a
/// process that is stopped. The host of a probe is that of the latest request that was refused: an origin may respond only
/// to the hosts that it serves. Its path is `/`: a client must not choose it, for the path may be slow, or have an effect.
/// A probe has none of the request's fields.
///
/// The state has no clock and no timer: events have their time.
struct OriginBreaker {
  /// What an event changes.
  enum Change: Hashable {
    case none
    /// The origin gets no requests from now on.
    ///
    /// - Parameters:
    ///   - cause: the last error.
    ///   - probe: when to send the first probe.
    case opened(cause: OriginError, probe: NIODeadline)
    /// The origin gets requests again.
    case closed
  }

  private var breaker: CircuitBreaker
  /// Time from the end of a probe, or from the opening, to the next probe.
  private var interval: TimeAmount
  /// The host of the latest request that was refused.
  private var authority: String?
  /// When the origin responded for the last time.
  private var lastAnswer: NIODeadline?
  private var nextProbe = NIODeadline.uptimeNanoseconds(0)
  private var isProbing = false
  /// Why the origin gets no requests: the latest error; `nil` if it gets them.
  private(set) var cause: OriginError?

  /// - Parameter failures: the number of failures in a row that opens the breaker; `nil` for none.
  init(failures: Int?, interval: TimeAmount) {
    breaker = CircuitBreaker(limit: failures ?? .max, isClosed: true)
    self.interval = interval
  }

  // MARK: - Requests

  /// Returns the error of a request that must not be sent; `nil` if the origin gets requests.
  mutating func refusal(of request: HTTPRequest, at now: NIODeadline) -> OriginError? {
    if breaker.isClosed { return nil }
    authority = request.authority
    return refusal(at: now)
  }

  /// Returns the error of requests that were waiting when the breaker opened.
  func refusal(at now: NIODeadline) -> OriginError {
    let cause = cause.map { ": \($0)" } ?? ""
    return OriginError(
      .destinationUnavailable, "the origin gets no requests until it answers a probe\(cause)", reach: .unsent,
      retryAfter: (nextProbe - now).wholeSeconds)
  }

  /// Records a response.
  mutating func answered(at now: NIODeadline) -> Change {
    lastAnswer = now
    breaker.succeeded()
    guard breaker.close() else { return .none }
    cause = nil
    return .closed
  }

  /// Records a request without a response.
  ///
  /// - Parameter timeout: the time within which a response had to come. While the origin responds to other requests, one that
  ///   takes longer says nothing about the origin: clients could close it with a few requests for a slow page.
  mutating func failed(_ error: OriginError, within timeout: TimeAmount, at now: NIODeadline) -> Change {
    guard error.isOutage else { return error.isOfOrigin ? answered(at: now) : .none }
    if error.kind == .responseTimeout, let lastAnswer, lastAnswer + timeout > now { return .none }
    if !breaker.isClosed { cause = error }
    guard breaker.failed() else { return .none }
    cause = error
    nextProbe = now + interval
    return .opened(cause: error, probe: nextProbe)
  }

  // MARK: - Probes

  /// Begins a probe, if one is due and none is in flight.
  ///
  /// - Parameter authority: the authority to use if no request was refused.
  mutating func probeBegan(authority: String, at now: NIODeadline) -> HTTPRequest? {
    guard !breaker.isClosed, !isProbing, nextProbe <= now else { return nil }
    isProbing = true
    return HTTPRequest(method: .head, scheme: nil, authority: self.authority ?? authority, path: "/")
  }

  /// Records the end of a probe. The response, or the error, is recorded before.
  ///
  /// - Returns: when to send the next one; `nil` if none is needed.
  mutating func probeEnded(at now: NIODeadline) -> NIODeadline? {
    isProbing = false
    if breaker.isClosed { return nil }
    nextProbe = now + interval
    return nextProbe
  }

  // MARK: - Settings

  mutating func update(failures: Int?, interval: TimeAmount, at now: NIODeadline) -> Change {
    breaker.limit = failures ?? .max
    self.interval = interval
    return failures == nil ? answered(at: now) : .none
  }
}

extension TimeAmount {
  /// The time in seconds, rounded up, and at least 1: the value of `Retry-After`.
  var wholeSeconds: Int {
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return Swift.max(1, Int(seconds) + (rest > 0 ? 1 : 0))
  }
}
