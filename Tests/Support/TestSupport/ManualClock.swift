// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching

/// A clock that stands until a test moves it. It knows the tasks that sleep: await ``sleepers(_:)``, then advance it.
package final class ManualClock: CacheClock {
  private struct State {
    var time: Timestamp
    /// When each sleep ends, by its number.
    var sleeps: [Int: Timestamp] = [:]
    var lastSleep = 0
    /// How far the wall clock is ahead.
    var lead = Duration.zero

    mutating func advance(to new: Timestamp) {
      time = new
      sleeps = sleeps.filter { $0.value > new }
    }
  }

  private let state: Monitor<State>

  package init(_ start: Timestamp) {
    state = Monitor(State(time: start))
  }

  package var now: Timestamp { state.withLock { $0.time } }

  package var wallTime: Timestamp { state.withLock { $0.time.advanced(by: $0.lead) } }

  /// Sets the wall clock: the monotonic time goes on.
  package func setWallClock(aheadBySeconds seconds: Int64) {
    state.withLock { $0.lead = .seconds(seconds) }
  }

  package func advance(seconds: Int64) { advance(by: .seconds(seconds)) }

  /// Advances the time, and wakes the tasks whose sleep is over.
  package func advance(by duration: Duration) {
    state.withLock { $0.advance(to: $0.time.advanced(by: duration)) }
  }

  package func sleep(for duration: Duration) async throws {
    let number = state.withLock { state in
      state.lastSleep += 1
      let end = state.time.advanced(by: duration)
      if end > state.time { state.sleeps[state.lastSleep] = end }
      return state.lastSleep
    }
    defer { state.withLock { $0.sleeps[number] = nil } }
    try await state.wait { $0.sleeps[number] == nil }
  }

  /// Returns when at least this many tasks sleep.
  package func sleepers(_ count: Int = 1) async throws {
    try await state.wait { $0.sleeps.count >= count }
  }

  /// Runs an operation, and advances the time to the end of each sleep that lasts no longer than a limit.
  package func endingSleeps<Result: Sendable>(
    upTo limit: Duration, _ operation: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let driver = Task {
      while true {
        try await state.wait { state in
          let last = state.time.advanced(by: limit)
          return state.sleeps.values.contains { $0 <= last }
        }
        state.withLock { state in
          guard let next = state.sleeps.values.min(), next <= state.time.advanced(by: limit) else { return }
          state.advance(to: next)
        }
      }
    }
    defer { driver.cancel() }
    return try await operation()
  }
}
