// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Blocks a session's own queue while a protocol calls its client.
///
/// On Linux the client reads the session's table of tasks without a lock, and the queue writes to it. If the call comes
/// from another thread, one of some thousand calls meets a write and ends the process (measured with a hundred tasks at
/// once). If the last call runs on the queue, it runs the continuation of `data(for:)` there. If that task is being
/// cancelled at that moment, the process deadlocks. The cancellation has the task's lock and waits for the queue, and
/// the continuation waits for the lock.
///
/// So the calls run on another thread, and the queue waits for them. For the last call, it waits only until that call
/// has found its task.
package enum SessionQueue {
  /// The calls that the queue waits for.
  package struct Calls: Sendable {
    fileprivate let last = DispatchSemaphore(value: 0)
    fileprivate let end = DispatchSemaphore(value: 0)

    /// Must be called right before the call that completes the task, after all earlier calls.
    package func beginLast() { last.signal() }

    /// Must be called when all calls are done, or will not be made.
    package func finish() {
      last.signal()
      end.signal()
    }
  }

  /// Called on the queue itself: starts the calls, and waits for them.
  package static func wait(for calls: @escaping @Sendable (Calls) -> Void) {
    #if canImport(FoundationNetworking)
      let own = Calls()
      // A separate queue gets a thread at once. The global queue has as many threads as there are processors. It adds
      // another, one a second, only when it sees that all are blocked.
      DispatchQueue(label: "HTTPCacheURLSession.client").async { calls(own) }
      stand(for: own)
    #else
      DispatchQueue.global().async { calls(Calls()) }
    #endif
  }

  /// Called from another thread: makes the calls while the queue of a task waits for them.
  package static func hold(of task: URLSessionTask?, for calls: @escaping @Sendable (Calls) -> Void) {
    #if canImport(FoundationNetworking)
      // A Foundation without this queue may have fixed the table: the calls are made without it.
      if let task, let queue = FoundationInternals.workQueue.value(of: task) {
        return queue.async { wait(for: calls) }
      }
    #endif
    DispatchQueue.global().async { calls(Calls()) }
  }

  #if canImport(FoundationNetworking)
    private static func stand(for calls: Calls) {
      // The last call reads the session at once. Only a cancellation can delay it longer than this, and that waits for
      // the queue.
      func ends() -> Bool { calls.end.wait(timeout: .now() + .milliseconds(5)) == .success }
      // Normally a single wait: with a separate one for the last call, a hit changes threads 10.9 times instead of 9.6.
      if ends() { return }
      calls.last.wait()
      _ = ends()
    }
  #endif
}
