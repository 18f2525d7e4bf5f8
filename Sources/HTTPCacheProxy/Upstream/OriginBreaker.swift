// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import HTTPTypes
import NIOCore

/// Knows whether a server of the origin answers, by the requests that it gets, and by probes.
///
/// A failure is a connection that cannot be made, one that ends before the head of the response, or a head that does not
/// come in time. Every response counts as an answer, whatever its status, unless
/// ``ProxyConfiguration/Origin/failureStatuses`` has it: an error page is for the rules of caching. A ``CircuitBreaker`` counts
/// them.
///
/// A server that is not available still gets requests if no other one is: only ``OriginBalancer``, and requests that a stored
/// response may answer, avoid it.
///
/// The proxy itself sends the probes, one at a time, as requests with HEAD. A connection alone would not do: the kernel accepts
/// connections for a process that is stopped. The host of a probe is that of the latest request: an origin may respond only
/// to the hosts that it serves. Its path is `/`: a client must not choose it, for the path may be slow, or have an effect.
/// A probe has none of the request's fields.
///
/// With a path for checks, the server is probed all the time, with GET and that path. Only a status of 2xx or 3xx is then an
/// answer to a probe: when most checks have another one, the server is not available either.
///
/// The state has no clock and no timer: events have their time.
struct OriginBreaker {
  /// What an event changes.
  enum Change: Hashable {
    case none
    /// The server is not available from now on.
    ///
    /// - Parameters:
    ///   - cause: the last error.
    ///   - probe: when to send the first probe.
    case opened(cause: OriginError, probe: NIODeadline)
    /// It is available again.
    case closed
  }

  private var calls: CircuitBreaker
  private var checks: CircuitBreaker
  private var checkPath: String?
  /// Time from the end of a check to the next one.
  private var interval: TimeAmount
  /// The host of the latest request.
  var authority: String?
  /// When the origin responded for the last time.
  private var lastAnswer: NIODeadline?
  private var nextCheck = NIODeadline.uptimeNanoseconds(0)
  private var isProbing = false

  /// - Parameters:
  ///   - failures: the number of failures that opens the breaker, see ``CircuitBreaker/Limits/failures``; `nil` for none.
  ///   - interval: the longest time between two probes, and that between two checks.
  ///   - checkPath: the path of checks; `nil` if there are none.
  init(failures: Int?, interval: TimeAmount, checkPath: String? = nil) {
    let limits = Self.limits(failures, interval)
    (calls, checks) = (CircuitBreaker(limits.calls), CircuitBreaker(limits.checks))
    (self.interval, self.checkPath) = (interval, checkPath)
  }

  private typealias Limits = CircuitBreaker.Limits

  /// Checks are rare: all of the last ones count.
  private static func limits(_ failures: Int?, _ interval: TimeAmount) -> (calls: Limits, checks: Limits) {
    let interval = Duration.nanoseconds(interval.nanoseconds)
    let window = interval * (2 * Swift.min(failures ?? 1, 1000))
    return (
      Limits(failures: failures, interval: interval),
      Limits(failures: failures, window: window, interval: interval)
    )
  }

  var isAvailable: Bool { calls.isClosed && checks.isClosed }

  /// Why the server is not available: the latest error; `nil` if it is.
  private(set) var cause: OriginError?

  /// The error of requests that are not sent because the server is not available; `nil` if it is.
  func outage(at now: NIODeadline) -> OriginError? {
    guard let cause else { return nil }
    let next = checkPath == nil ? calls.nextProbe.map { NIODeadline($0) } ?? now : nextCheck
    return OriginError(
      .destinationUnavailable, "the origin is down: \(cause)", reach: .unsent,
      retryAfter: (next - now).wholeSeconds)
  }

  // MARK: - Requests

  /// Records a response.
  mutating func answered(at now: NIODeadline) -> Change {
    lastAnswer = now
    calls.succeeded(at: now.time)
    return checkPath == nil ? close() : .none
  }

  private mutating func close() -> Change {
    guard !isAvailable else { return .none }
    _ = (calls.close(), checks.close())
    cause = nil
    return .closed
  }

  /// Records a request without a response.
  ///
  /// - Parameter timeout: the time within which a response had to come. While the origin responds to other requests, one that
  ///   takes longer says nothing about the origin.
  mutating func failed(_ error: OriginError, within timeout: TimeAmount, at now: NIODeadline) -> Change {
    guard error.isOutage else { return error.isAnswer ? answered(at: now) : .none }
    if error.kind == .responseTimeout, let lastAnswer, lastAnswer + timeout > now { return .none }
    return counted(error, in: \.calls, at: now)
  }

  private mutating func counted(
    _ error: OriginError, in counter: WritableKeyPath<Self, CircuitBreaker>, at now: NIODeadline
  ) -> Change {
    let wasAvailable = isAvailable
    if !wasAvailable { cause = error }
    guard self[keyPath: counter].failed(at: now.time), wasAvailable else { return .none }
    cause = error
    return .opened(cause: error, probe: calls.nextProbe.map { NIODeadline($0) } ?? nextCheck)
  }

  // MARK: - Probes

  /// Begins a probe, if one is due and none is in flight.
  ///
  /// - Parameter authority: that of checks, and of probes before the first request.
  mutating func probeBegan(authority: String, at now: NIODeadline) -> HTTPRequest? {
    guard !isProbing else { return nil }
    if let checkPath {
      guard nextCheck <= now else { return nil }
      isProbing = true
      return HTTPRequest(method: .get, scheme: nil, authority: authority, path: checkPath)
    }
    isProbing = calls.beginProbe(at: now.time)
    guard isProbing else { return nil }
    return HTTPRequest(method: .head, scheme: nil, authority: self.authority ?? authority, path: "/")
  }

  /// Records that a probe was not sent, or not answered.
  ///
  /// - Returns: when to send the next one; `nil` if none is needed.
  mutating func probeSkipped(at now: NIODeadline) -> NIODeadline? {
    isProbing = false
    calls.endProbe(at: now.time)
    guard checkPath != nil else { return calls.nextProbe.map { NIODeadline($0) } }
    nextCheck = now + interval
    return nextCheck
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
        checks.succeeded(at: now.time)
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
    (calls.limits, checks.limits) = Self.limits(failures, interval)
    let begins = checkPath != nil && self.checkPath == nil
    (self.interval, self.checkPath) = (interval, checkPath)
    if begins { nextCheck = now + interval }
    if failures == nil { return (close(), begins ? nextCheck : nil) }
    // The checks have no say any more.
    if checkPath == nil, calls.isClosed { return (close(), nil) }
    return (.none, begins ? nextCheck : nil)
  }
}

extension NIODeadline {
  fileprivate var time: Int64 { Int64(clamping: uptimeNanoseconds) }

  fileprivate init(_ time: Int64) { self = .uptimeNanoseconds(UInt64(clamping: time)) }
}

extension TimeAmount {
  /// The time in seconds, rounded up, and at least 1: the value of `Retry-After`.
  var wholeSeconds: Int {
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return Swift.max(1, Int(seconds) + (rest > 0 ? 1 : 0))
  }
}
