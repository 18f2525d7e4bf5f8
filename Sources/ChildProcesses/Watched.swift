// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// A value that tasks can wait for.
final class Watched<Value: Sendable>: Sendable {
  private struct State {
    var value: Value
    var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
    var last = 0
  }

  private let state: Mutex<State>

  init(_ value: Value) {
    state = Mutex(State(value: value))
  }

  /// Changes the value, and lets all that wait look at it again.
  func update(_ change: (inout Value) -> Void) {
    let waiting = state.withLock { state in
      change(&state.value)
      defer { state.waiting = [:] }
      return state.waiting
    }
    for continuation in waiting.values { continuation.resume() }
  }

  func read<Result: Sendable>(_ look: (Value) -> Result) -> Result { state.withLock { look($0.value) } }

  /// Returns the first result of `look` that is not `nil`.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before.
  func first<Result: Sendable>(_ look: (Value) -> Result?) async throws -> Result {
    while true {
      let id = state.withLock { state in
        state.last += 1
        return state.last
      }
      var result: Result?
      try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          var isCancelled = false
          (result, isCancelled) = state.withLock { state in
            let result = look(state.value)
            // Under the lock: a later cancellation finds the continuation.
            let isCancelled = Task.isCancelled
            if result == nil, !isCancelled { state.waiting[id] = continuation }
            return (result, isCancelled)
          }
          if result != nil {
            continuation.resume()
          } else if isCancelled {
            continuation.resume(throwing: CancellationError())
          }
        }
      } onCancel: {
        state.withLock { $0.waiting.removeValue(forKey: id) }?.resume(throwing: CancellationError())
      }
      if let result { return result }
    }
  }
}
