// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Keeps a session's own queue still while a protocol calls its client.
///
/// On Linux the client reads the session's table of tasks without a lock, and the queue writes to it: called from
/// elsewhere, one of some thousand calls meets a write and ends the process (a hundred tasks at once, measured). Called on
/// the queue, the last call runs the continuation of `data(for:)` there, and where that task is being cancelled the process
/// stands still: the cancellation holds the task's lock and waits for the queue, and the continuation waits for the lock.
///
/// So the calls are made elsewhere, and the queue waits for them: but for the last only as long as it needs to find its task.
package enum SessionQueue {
  /// What the queue waits for.
  package struct Calls: Sendable {
    fileprivate let last = DispatchSemaphore(value: 0)
    fileprivate let end = DispatchSemaphore(value: 0)

    /// Said right before the call that completes the task; the calls before it are done.
    package func beginLast() { last.signal() }

    /// Said when all are done, or will not be made.
    package func finish() {
      last.signal()
      end.signal()
    }
  }

  /// From the queue itself: has the calls made, and waits for them.
  package static func wait(for calls: @escaping @Sendable (Calls) -> Void) {
    #if canImport(FoundationNetworking)
      let own = Calls()
      // A queue of its own gets a thread at once; the global one has as many as there are processors, and adds another only
      // when it sees, by the second, that all are held up.
      DispatchQueue(label: "HTTPCacheURLSession.client").async { calls(own) }
      stand(for: own)
    #else
      DispatchQueue.global().async { calls(Calls()) }
    #endif
  }

  /// From elsewhere: has the calls made while the queue of a task waits for them.
  package static func hold(of task: URLSessionTask?, for calls: @escaping @Sendable (Calls) -> Void) {
    #if canImport(FoundationNetworking)
      if let queue = task.flatMap(queue) { return queue.async { wait(for: calls) } }
    #endif
    DispatchQueue.global().async { calls(Calls()) }
  }

  #if canImport(FoundationNetworking)
    private static func stand(for calls: Calls) {
      calls.last.wait()
      // What the last call reads of the session it reads at once. Longer than this only a cancellation holds it up, which
      // waits for the queue.
      _ = calls.end.wait(timeout: .now() + .milliseconds(5))
    }

    /// There is no other way to it than reflection. Should a later Foundation keep it elsewhere, it may have mended the table.
    private static func queue(of task: URLSessionTask) -> DispatchQueue? {
      var mirror: Mirror? = Mirror(reflecting: task)
      while let current = mirror {
        if let queue = current.descendant("workQueue") as? DispatchQueue { return queue }
        mirror = current.superclassMirror
      }
      return nil
    }
  #endif
}
