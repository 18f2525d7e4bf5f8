// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCaching

/// A call took longer than it may.
struct DeadlineExceeded: Error, CustomStringConvertible {
  let limit: Duration
  var description: String { "no answer within \(limit)" }
}

/// Runs an operation, and stops waiting for it after a time limit. The operation is then cancelled, and may continue for
/// as long as it ignores that.
func withDeadline<Result: Sendable>(
  _ limit: Duration, on clock: any CacheClock, _ operation: @escaping @Sendable () async throws -> Result
) async throws -> Result {
  let race = Race<Result>()
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { continuation in
      guard race.begin(continuation) else { return }
      let work = Task {
        do {
          race.end(.success(try await operation()))
        } catch {
          race.end(.failure(error))
        }
      }
      let timer = Task {
        do {
          try await clock.sleep(for: limit)
          race.end(.failure(DeadlineExceeded(limit: limit)))
        } catch {
          // The operation has ended.
        }
      }
      race.keep([work, timer])
    }
  } onCancel: {
    race.end(.failure(CancellationError()))
  }
}

/// The first of several results.
private final class Race<Value: Sendable>: Sendable {
  private struct State {
    var continuation: CheckedContinuation<Value, any Error>?
    var tasks: [Task<Void, Never>] = []
    var isOver = false
  }

  private let state = Mutex(State())

  /// - Returns: whether there is no result yet.
  func begin(_ continuation: CheckedContinuation<Value, any Error>) -> Bool {
    let isOver = state.withLock { state in
      if !state.isOver { state.continuation = continuation }
      return state.isOver
    }
    if isOver { continuation.resume(throwing: CancellationError()) }
    return !isOver
  }

  func keep(_ tasks: [Task<Void, Never>]) {
    let isOver = state.withLock { state in
      if !state.isOver { state.tasks = tasks }
      return state.isOver
    }
    if isOver { for task in tasks { task.cancel() } }
  }

  func end(_ result: Result<Value, any Error>) {
    let (continuation, tasks) = state.withLock { state in
      defer { (state.continuation, state.tasks, state.isOver) = (nil, [], true) }
      return (state.continuation, state.tasks)
    }
    continuation?.resume(with: result)
    for task in tasks { task.cancel() }
  }
}
