// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Decides whether a peer is used: it is left when most of its recent calls have failed, until it has answered a probe.
///
/// Calls count for a window of time. The peer is left when at least ``Limits/failures`` of them have failed, and no more were
/// answered. So a call that always fails does not end the use of a peer that answers others. A peer that is left is probed: soon
/// for the first time, because most interruptions are short, and then less and less often.
///
/// The peer is the shared tier, a server behind the proxy, or the upstream of an HTTP client. The value has no clock: events have
/// their time, since any moment.
package struct CircuitBreaker<Cause: Sendable>: Sendable {
  package struct Limits: Hashable, Sendable {
    /// Failed calls within ``window`` at which the peer is left, unless more were answered; `nil` for never.
    package var failures: Int?
    /// The longest time for which a call counts. At least half of it is looked at.
    package var window: Duration
    /// The time from the opening to the first probe. It doubles from probe to probe, up to ``interval``.
    package var firstProbe: Duration
    package var interval: Duration

    package init(
      failures: Int?, window: Duration = .seconds(5), firstProbe: Duration = .milliseconds(100),
      interval: Duration
    ) {
      (self.failures, self.window, self.firstProbe, self.interval) = (failures, window, firstProbe, interval)
    }
  }

  /// The calls of half a window.
  private struct Calls {
    var answered = 0
    var failed = 0

    static func + (one: Calls, other: Calls) -> Calls {
      Calls(answered: one.answered + other.answered, failed: one.failed + other.failed)
    }
  }

  private enum State {
    /// - Parameter start: when the current half of the window began; `nil` before the first call.
    case closed(current: Calls, earlier: Calls, start: Duration?)
    /// The peer is not used.
    ///
    /// - Parameters:
    ///   - cause: why the last call failed; `nil` if the peer was never used.
    ///   - probe: when the next probe is due.
    ///   - pause: the time before that probe.
    case open(cause: Cause?, probe: Duration, pause: Duration)

    static var unused: State { .closed(current: Calls(), earlier: Calls(), start: nil) }
  }

  package var limits: Limits
  private var state: State

  /// - Parameter isClosed: whether the peer is used before it has answered a probe.
  package init(_ limits: Limits, isClosed: Bool = true) {
    self.limits = limits
    state = isClosed ? .unused : .open(cause: nil, probe: .zero, pause: limits.firstProbe)
  }

  /// Whether the peer is used.
  package var isClosed: Bool { if case .closed = state { true } else { false } }

  /// Why the peer is not used: the latest failure.
  package var cause: Cause? { if case .open(let cause, _, _) = state { cause } else { nil } }

  /// When the next probe is due; `nil` while the peer is used.
  package var nextProbe: Duration? { if case .open(_, let probe, _) = state { probe } else { nil } }

  // MARK: - Calls

  /// Records a call that was answered. It does not end an interruption, which it may have begun before.
  package mutating func succeeded(at now: Duration) { count(Calls(answered: 1), at: now) }

  /// Records a call that failed or took too long.
  ///
  /// - Returns: whether the peer is not used from now on.
  package mutating func failed(_ cause: Cause, at now: Duration) -> Bool {
    if case .open(_, let probe, let pause) = state {
      state = .open(cause: cause, probe: probe, pause: pause)
      return false
    }
    count(Calls(failed: 1), at: now)
    guard let limit = limits.failures, case .closed(let current, let earlier, _) = state else { return false }
    let all = current + earlier
    return all.failed >= limit && all.failed >= all.answered && open(cause, at: now)
  }

  private mutating func count(_ call: Calls, at now: Duration) {
    guard case .closed(var current, var earlier, let start) = state else { return }
    let half = limits.window / 2
    let time = start.map { now - $0 } ?? .zero
    var begun = start ?? now
    // The clock may have been set back.
    if time >= half || time < .zero {
      earlier = time >= .zero && time < half * 2 ? current : Calls()
      (current, begun) = (Calls(), now)
    }
    state = .closed(current: current + call, earlier: earlier, start: begun)
  }

  // MARK: - Interruptions

  /// Stops the use of the peer.
  ///
  /// - Returns: whether it was used until now.
  package mutating func open(_ cause: Cause, at now: Duration) -> Bool {
    let wasClosed = isClosed
    if wasClosed {
      let first = min(limits.firstProbe, limits.interval)
      state = .open(cause: cause, probe: now + first, pause: first)
    }
    return wasClosed
  }

  /// Begins a probe, if one is due. The next one is due after the next pause, even if this one never ends.
  package mutating func beginProbe(at now: Duration) -> Bool {
    guard case .open(let cause, let probe, let pause) = state, probe <= now else { return false }
    let next = min(pause * 2, limits.interval)
    state = .open(cause: cause, probe: now + next, pause: next)
    return true
  }

  /// Records the end of a probe that was not answered: the pause begins now.
  package mutating func endProbe(at now: Duration) {
    if case .open(let cause, _, let pause) = state {
      state = .open(cause: cause, probe: now + pause, pause: pause)
    }
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
