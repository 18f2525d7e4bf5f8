// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Decides whether a peer is used: it is left when most of its recent calls have failed, until it has answered a probe.
///
/// Calls count for a window of time. The peer is left when at least ``Limits/failures`` of them have failed, and no more were
/// answered. So a call that always fails does not end the use of a peer that answers others. A peer that is left is probed: soon
/// for the first time, because most interruptions are short, and then less and less often.
///
/// The peer is the shared tier, a server behind the proxy, or the upstream of an HTTP client. The value has no clock: events have
/// their time in nanoseconds, since any moment.
package struct CircuitBreaker: Hashable, Sendable {
  package struct Limits: Hashable, Sendable {
    /// Failed calls within the window at which the peer is left, unless more were answered; `nil` for never.
    package var failures: Int?
    /// Half of the longest time for which a call counts. At least so much is looked at.
    fileprivate var halfWindow: Int64
    fileprivate var firstPause: Int64
    fileprivate var longestPause: Int64

    /// - Parameters:
    ///   - failures: see ``failures``.
    ///   - window: the longest time for which a call counts.
    ///   - firstProbe: the time from the opening to the first probe. It doubles from probe to probe.
    ///   - interval: the longest time from one probe to the next.
    package init(
      failures: Int?, window: Duration = .seconds(5), firstProbe: Duration = .milliseconds(100),
      interval: Duration
    ) {
      self.failures = failures
      halfWindow = max(1, window.nanoseconds / 2)
      longestPause = interval.nanoseconds
      firstPause = min(firstProbe.nanoseconds, longestPause)
    }
  }

  /// The calls of half a window.
  private struct Calls: Hashable {
    var answered = 0
    var failed = 0
  }

  private enum State: Hashable {
    /// - Parameter start: when the current half of the window began; `nil` before the first call.
    case closed(current: Calls, earlier: Calls, start: Int64?)
    /// The peer is not used.
    ///
    /// - Parameters:
    ///   - probe: when the next probe is due.
    ///   - pause: the time before that probe.
    case open(probe: Int64, pause: Int64)

    static var unused: State { .closed(current: Calls(), earlier: Calls(), start: nil) }
  }

  package var limits: Limits
  private var state: State

  /// - Parameter isClosed: whether the peer is used before it has answered a probe.
  package init(_ limits: Limits, isClosed: Bool = true) {
    self.limits = limits
    state = isClosed ? .unused : .open(probe: .min, pause: limits.firstPause)
  }

  /// Whether the peer is used.
  package var isClosed: Bool { if case .closed = state { true } else { false } }

  /// When the next probe is due; `nil` while the peer is used.
  package var nextProbe: Int64? { if case .open(let probe, _) = state { probe } else { nil } }

  // MARK: - Calls

  /// Records a call that was answered. It does not end an interruption, which it may have begun before.
  package mutating func succeeded(at now: Int64) { count(Calls(answered: 1), at: now) }

  /// Records a call that failed or took too long.
  ///
  /// - Returns: whether the peer is not used from now on.
  package mutating func failed(at now: Int64) -> Bool {
    count(Calls(failed: 1), at: now)
    guard let limit = limits.failures, case .closed(let current, let earlier, _) = state else { return false }
    let (failed, answered) = (current.failed + earlier.failed, current.answered + earlier.answered)
    return failed >= limit && failed >= answered && open(at: now)
  }

  private mutating func count(_ call: Calls, at now: Int64) {
    guard case .closed(var current, var earlier, let start) = state else { return }
    var begun = start ?? now
    let time = now - begun
    // The clock may have been set back.
    if time >= limits.halfWindow || time < 0 {
      earlier = time >= 0 && time < 2 * limits.halfWindow ? current : Calls()
      (current, begun) = (Calls(), now)
    }
    current.answered += call.answered
    current.failed += call.failed
    state = .closed(current: current, earlier: earlier, start: begun)
  }

  // MARK: - Interruptions

  /// Stops the use of the peer.
  ///
  /// - Returns: whether it was used until now.
  package mutating func open(at now: Int64) -> Bool {
    guard isClosed else { return false }
    state = .open(probe: now + limits.firstPause, pause: limits.firstPause)
    return true
  }

  /// Begins a probe, if one is due. The next one is due after the next pause, even if this one never ends.
  package mutating func beginProbe(at now: Int64) -> Bool {
    guard case .open(let probe, let pause) = state, probe <= now else { return false }
    let next = min(pause * 2, limits.longestPause)
    state = .open(probe: now + next, pause: next)
    return true
  }

  /// Records the end of a probe that was not answered: the pause begins now.
  package mutating func endProbe(at now: Int64) {
    if case .open(_, let pause) = state { state = .open(probe: now + pause, pause: pause) }
  }

  /// Records a probe that was answered.
  ///
  /// - Returns: whether the peer is used again from now on.
  package mutating func close() -> Bool {
    guard !isClosed else { return false }
    state = .unused
    return true
  }
}

extension Duration {
  /// The duration in nanoseconds, at least 0, and at most a hundred years.
  fileprivate var nanoseconds: Int64 {
    let bounded = min(max(self, .zero), .seconds(3_155_760_000))
    return bounded.components.seconds * 1_000_000_000 + bounded.components.attoseconds / 1_000_000_000
  }
}
