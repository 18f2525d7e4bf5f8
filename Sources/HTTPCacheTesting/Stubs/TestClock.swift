// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching

/// A clock that stops until a test advances it: for the age of stored responses, the timers of the cache, and the delays
/// of stubs.
///
/// ```swift
/// let clock = TestClock()
/// let cache = HTTPCache(store: store, configuration: configuration, clock: clock)
/// let stubs = HTTPStubs(clock: clock)
/// clock.advance(by: .seconds(61))    // what was fresh for a minute is stale now
/// ```
public final class TestClock: CacheClock {
  private struct State {
    var time: Timestamp
    /// When each sleep ends, by its number.
    var sleeps: [Int: Timestamp] = [:]
    var lastSleep = 0
  }

  private let state: Monitor<State>

  /// - Parameter start: the first time of the clock (default: the present).
  public init(_ start: Timestamp = SystemCacheClock.shared.now) {
    state = Monitor(State(time: start))
  }

  /// The time that the clock shows.
  public var now: Timestamp { state.withLock { $0.time } }

  /// Advances the time, and wakes the tasks whose sleep is over.
  public func advance(by duration: Duration) {
    state.withLock { state in
      let time = Swift.max(state.time, state.time.advanced(by: duration))
      state.time = time
      state.sleeps = state.sleeps.filter { $0.value > time }
    }
  }

  /// Returns when the time has been advanced this far.
  ///
  /// - Throws: `CancellationError`
  public func sleep(for duration: Duration) async throws {
    let number = state.withLock { state in
      state.lastSleep += 1
      let end = state.time.advanced(by: duration)
      if end > state.time { state.sleeps[state.lastSleep] = end }
      return state.lastSleep
    }
    defer { state.withLock { $0.sleeps[number] = nil } }
    try await state.wait { $0.sleeps[number] == nil }
  }

  /// Returns when at least this many tasks wait for the time to advance, or the caller is cancelled.
  public func sleepers(_ count: Int) async {
    try? await state.wait { $0.sleeps.count >= count }
  }
}
