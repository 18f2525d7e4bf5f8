// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// Counts events, and lets a test wait for a number of them.
package final class EventCount: Sendable {
  private struct State {
    var count = 0
    var lastWatcher = 0
    var watchers: [Int: (count: Int, continuation: CheckedContinuation<Void, any Error>)] = [:]
  }

  private let state = Mutex(State())

  package init() {}

  /// The number of events so far.
  package var count: Int { state.withLock { $0.count } }

  /// Counts an event, and returns its number, from 1.
  @discardableResult
  package func next() -> Int {
    let (count, reached) = state.withLock { state in
      state.count += 1
      let reached = state.watchers.filter { $0.value.count <= state.count }
      for watcher in reached.keys { state.watchers[watcher] = nil }
      return (state.count, reached.values.map(\.continuation))
    }
    for continuation in reached { continuation.resume() }
    return count
  }

  /// Returns when so many events have happened.
  ///
  /// - Throws: `CancellationError`.
  package func reached(_ count: Int) async throws {
    let watcher = state.withLock { state in
      state.lastWatcher += 1
      return state.lastWatcher
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result: Result<Void, any Error>? = state.withLock { state in
          if Task.isCancelled { return .failure(CancellationError()) }
          if state.count >= count { return .success(()) }
          state.watchers[watcher] = (count, continuation)
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      let removed = state.withLock { $0.watchers.removeValue(forKey: watcher) }
      removed?.continuation.resume(throwing: CancellationError())
    }
  }
}
