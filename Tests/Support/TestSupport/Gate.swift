// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// Holds back all tasks that come until it is opened, and tells how many have come.
package final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var arrivals = 0
    var waiting: [CheckedContinuation<Void, Never>] = []
    var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Mutex(State())

  package init() {}

  /// Returns when the gate is open.
  package func wait() async {
    await withCheckedContinuation { continuation in
      let (isOpen, watchers) = state.withLock { state in
        state.arrivals += 1
        let reached = state.watchers.filter { $0.count <= state.arrivals }
        state.watchers.removeAll { $0.count <= state.arrivals }
        if !state.isOpen { state.waiting.append(continuation) }
        return (state.isOpen, reached)
      }
      for watcher in watchers { watcher.continuation.resume() }
      if isOpen { continuation.resume() }
    }
  }

  /// Returns when the gate is open. If the task is cancelled, it opens the gate.
  package func pass() async {
    await withTaskCancellationHandler {
      await wait()
    } onCancel: {
      open()
    }
  }

  /// Returns when so many have come.
  package func arrived(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let isReached = state.withLock { state in
        if state.arrivals >= count { return true }
        state.watchers.append((count, continuation))
        return false
      }
      if isReached { continuation.resume() }
    }
  }

  /// Lets all through, now and later.
  package func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }
}

/// Tells when it is released, with whatever holds it.
package final class Witness: Sendable {
  private let onRelease: @Sendable () -> Void

  package init(_ onRelease: @escaping @Sendable () -> Void) {
    self.onRelease = onRelease
  }

  deinit { onRelease() }
}

/// Returns when the task is cancelled.
package func untilCancelled() async { await Gate().pass() }

/// Lets other tasks run: waits for one that does nothing.
package func passTurn() async { await Task {}.value }
