// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import HTTPTypes
import NIOCore

/// Decides whether requests are sent to the origin: after some failures in a row they are not, until the origin has
/// responded to a probe.
///
/// A failure is a connection that cannot be made, one that ends before the head of the response, or a head that does not
/// come in time. Every response counts as an answer, whatever its status, unless
/// ``ProxyConfiguration/Origin/failureStatuses`` has it: an error page is for the rules of caching.
///
/// The proxy itself sends the probes, one at a time, as requests with HEAD. So a client never waits for one, as the
/// client of nginx's single live request does. A connection alone would not do: the kernel accepts connections for a
/// process that is stopped. The host of a probe is that of the latest request: an origin may respond only
/// to the hosts that it serves. Its path is `/`: a client must not choose it, for the path may be slow, or have an effect.
/// A probe has none of the request's fields.
///
/// With a path for checks, the server is probed all the time, with GET and that path. Only a status of 2xx or 3xx is then an
/// answer to a probe: several others in a row are failures, too.
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
  private var checks: CircuitBreaker
  private var checkPath: String?
  /// Time from the end of a probe, or from the opening, to the next probe.
  private var interval: TimeAmount
  /// The host of the latest request.
  private var authority: String?
  /// When the origin responded for the last time.
  private var lastAnswer: NIODeadline?
  private var nextProbe = NIODeadline.uptimeNanoseconds(0)
  private var isProbing = false
  /// Why the origin gets no requests: the latest error; `nil` if it gets them.
  private(set) var cause: OriginError?

  /// - Parameters:
  ///   - failures: the number of failures in a row that opens the breaker; `nil` for none.
  ///   - checkPath: the path of checks; `nil` if there are none.
  init(failures: Int?, interval: TimeAmount, checkPath: String? = nil) {
    breaker = CircuitBreaker(limit: failures ?? .max, isClosed: true)
    checks = breaker
    (self.interval, self.checkPath) = (interval, checkPath)
  }

  /// Whether the server gets requests.
  var isAvailable: Bool { breaker.isClosed && checks.isClosed }

  // MARK: - Requests

  /// Returns the error of a request that must not be sent; `nil` if the origin gets requests.
  mutating func refusal(of request: HTTPRequest, at now: NIODeadline) -> OriginError? {
    authority = request.authority
    if isAvailable { return nil }
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
    return checkPath == nil ? close() : .none
  }

  private mutating func close() -> Change {
    guard !isAvailable else { return .none }
    _ = (breaker.close(), checks.close())
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
    return counted(error, in: \.breaker, at: now)
  }

  private mutating func counted(
    _ error: OriginError, in counter: WritableKeyPath<Self, CircuitBreaker>, at now: NIODeadline
  ) -> Change {
    let wasAvailable = isAvailable
    if !wasAvailable { cause = error }
    guard self[keyPath: counter].failed(), wasAvailable else { return .none }
    cause = error
    nextProbe = now + interval
    return .opened(cause: error, probe: nextProbe)
  }

  // MARK: - Probes

  /// Begins a probe, if one is due and none is in flight.
  ///
  /// - Parameter authority: that of checks, and of probes before the first request.
  mutating func probeBegan(authority: String, at now: NIODeadline) -> HTTPRequest? {
    guard !isAvailable || checkPath != nil, !isProbing, nextProbe <= now else { return nil }
    isProbing = true
    if let checkPath {
      return HTTPRequest(method: .get, scheme: nil, authority: authority, path: checkPath)
    }
    return HTTPRequest(method: .head, scheme: nil, authority: self.authority ?? authority, path: "/")
  }

  /// Records that a probe was not sent.
  ///
  /// - Returns: when to send the next one; `nil` if none is needed.
  mutating func probeSkipped(at now: NIODeadline) -> NIODeadline? {
    isProbing = false
    if isAvailable, checkPath == nil { return nil }
    nextProbe = now + interval
    return nextProbe
  }

  /// Records the end of a probe.
  ///
  /// - Parameters:
  ///   - result: the status of the response.
  ///   - timeout: see ``failed(_:within:at:)``.
  /// - Returns: when to send the next one; `nil` if none is needed.
  mutating func probeEnded(
    _ result: Result<Int, OriginError>, within timeout: TimeAmount, at now: NIODeadline
  ) -> (next: NIODeadline?, change: Change) {
    var change = Change.none
    if checkPath != nil {
      switch result {
      case .success(200...399):
        checks.succeeded()
        change = close()
      case .success(let status):
        let error = OriginError(.failureStatus, "the response to the check has the status \(status)")
        change = counted(error, in: \.checks, at: now)
      case .failure(let error):
        if error.isOfOrigin { change = counted(error, in: \.checks, at: now) }
      }
    } else {
      switch result {
      case .success: change = answered(at: now)
      case .failure(let error): change = failed(error, within: timeout, at: now)
      }
    }
    return (probeSkipped(at: now), change)
  }

  // MARK: - Settings

  /// - Returns: what has changed, and when to send the next probe, if checks begin.
  mutating func update(
    failures: Int?, interval: TimeAmount, checkPath: String? = nil, at now: NIODeadline
  ) -> (change: Change, probe: NIODeadline?) {
    (breaker.limit, checks.limit) = (failures ?? .max, failures ?? .max)
    let begins = checkPath != nil && self.checkPath == nil
    (self.interval, self.checkPath) = (interval, checkPath)
    if begins { nextProbe = now + interval }
    if failures == nil { return (close(), begins ? nextProbe : nil) }
    // The checks have no say any more.
    if checkPath == nil, breaker.isClosed { return (close(), nil) }
    return (.none, begins ? nextProbe : nil)
  }
}

extension TimeAmount {
  /// The time in seconds, rounded up, and at least 1: the value of `Retry-After`.
  var wholeSeconds: Int {
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return Swift.max(1, Int(seconds) + (rest > 0 ? 1 : 0))
  }
}
