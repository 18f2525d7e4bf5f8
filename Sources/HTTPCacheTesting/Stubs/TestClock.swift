// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import Synchronization

/// A clock that stops until a test advances it: for the age of stored responses, and for the delays of stubs.
///
/// ```swift
/// let clock = TestClock()
/// let cache = HTTPCache(store: store, configuration: configuration, clock: clock)
/// let stubs = HTTPStubs(clock: clock)
/// clock.advance(by: .seconds(61))    // what was fresh for a minute is stale now
/// ```
public final class TestClock: CacheClock {
  private struct Sleeper {
    var number: Int
    var deadline: Timestamp
    var continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var time: Timestamp
    var sleepers: [Sleeper] = []
    var cancelled: Set<Int> = []
    var count = 0
    var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state: Mutex<State>

  /// - Parameter start: the first time of the clock (default: the present).
  public init(_ start: Timestamp = SystemCacheClock.shared.now) {
    state = Mutex(State(time: start))
  }

  /// The time that the clock shows.
  public var now: Timestamp { state.withLock { $0.time } }

  /// Advances the time, and wakes the tasks whose sleep is over.
  public func advance(by duration: Duration) {
    let woken = state.withLock { state in
      state.time = Swift.max(state.time, state.time.advanced(by: duration))
      let woken = state.sleepers.filter { $0.deadline <= state.time }
      state.sleepers.removeAll { $0.deadline <= state.time }
      return woken
    }
    for sleeper in woken { sleeper.continuation.resume(returning: true) }
  }

  /// Returns when the time has been advanced this far.
  ///
  /// - Throws: `CancellationError`
  public func sleep(for duration: Duration) async throws {
    let number = state.withLock { state in
      state.count += 1
      return state.count
    }
    let isOver = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (result, watchers): (Bool?, [CheckedContinuation<Void, Never>]) = state.withLock { state in
          if state.cancelled.remove(number) != nil { return (false, []) }
          let deadline = state.time.advanced(by: duration)
          if deadline <= state.time { return (true, []) }
          state.sleepers.append(Sleeper(number: number, deadline: deadline, continuation: continuation))
          let reached = state.watchers.filter { $0.count <= state.sleepers.count }
          state.watchers.removeAll { $0.count <= state.sleepers.count }
          return (nil, reached.map(\.continuation))
        }
        if let result { continuation.resume(returning: result) }
        for watcher in watchers { watcher.resume() }
      }
    } onCancel: {
      let sleeper = state.withLock { state in
        guard let index = state.sleepers.firstIndex(where: { $0.number == number }) else {
          state.cancelled.insert(number)
          return nil as Sleeper?
        }
        return state.sleepers.remove(at: index)
      }
      sleeper?.continuation.resume(returning: false)
    }
    if !isOver { throw CancellationError() }
  }

  /// Returns when at least this many tasks wait for the time to advance.
  public func sleepers(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let isReached = state.withLock { state in
        if state.sleepers.count >= count { return true }
        state.watchers.append((count, continuation))
        return false
      }
      if isReached { continuation.resume() }
    }
  }
}
