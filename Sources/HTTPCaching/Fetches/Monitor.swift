// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// A value under a lock, and the tasks that wait for a condition on it. Each change may wake them, and none looks twice
/// without a change.
package final class Monitor<Value: Sendable>: Sendable {
  private struct Waiter {
    var number: Int
    var condition: @Sendable (Value) -> Bool
    /// Resumed with whether the condition holds; otherwise the task was cancelled.
    var continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var value: Value
    var waiters: [Waiter] = []
    var lastWaiter = 0

    mutating func takeReady() -> [Waiter] {
      if waiters.isEmpty { return [] }
      let ready = waiters.filter { $0.condition(value) }
      waiters.removeAll { waiter in ready.contains { $0.number == waiter.number } }
      return ready
    }
  }

  private let state: Mutex<State>

  package init(_ value: Value) {
    state = Mutex(State(value: value))
  }

  /// Calls `body` under the lock, and then wakes the tasks whose condition holds.
  package func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    let (result, ready) = state.withLock { state in
      let result = body(&state.value)
      return (result, state.takeReady())
    }
    for waiter in ready { waiter.continuation.resume(returning: true) }
    return result
  }

  /// Returns when a condition holds. It is called under the lock.
  ///
  /// - Throws: `CancellationError`
  package func wait(until condition: @escaping @Sendable (Value) -> Bool) async throws {
    let number = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    let isMet = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let result: Bool? = state.withLock { state in
          if Task.isCancelled { return false }
          if condition(state.value) { return true }
          state.waiters.append(Waiter(number: number, condition: condition, continuation: continuation))
          return nil
        }
        if let result { continuation.resume(returning: result) }
      }
    } onCancel: {
      state.withLock { state in
        state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
      }?.continuation.resume(returning: false)
    }
    if !isMet { throw CancellationError() }
  }
}
