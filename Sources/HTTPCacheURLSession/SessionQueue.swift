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
      if let queue = task.flatMap(queue) { return queue.async { wait(for: calls) } }
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

    /// The position of a property in the reflection of an object.
    private struct Place {
      /// The number of superclasses up.
      var depth: Int
      var index: Int
    }

    private static let label = "workQueue"
    /// The positions of the queue, by the class of the task.
    private static let places = Mutex<[ObjectIdentifier: Place]>([:])

    /// Only reflection gives access to the queue. A later Foundation that stores it elsewhere may have fixed the table.
    private static func queue(of task: URLSessionTask) -> DispatchQueue? {
      let type = ObjectIdentifier(type(of: task))
      if let place = places.withLock({ $0[type] }), let queue = queue(of: task, at: place) { return queue }
      var mirror: Mirror? = Mirror(reflecting: task)
      var depth = 0
      while let current = mirror {
        for (index, child) in current.children.enumerated() where child.label == label {
          guard let queue = child.value as? DispatchQueue else { continue }
          places.withLock { $0[type] = Place(depth: depth, index: index) }
          return queue
        }
        mirror = current.superclassMirror
        depth += 1
      }
      return nil
    }

    /// Reads one property only, in 19 µs. A search reads all properties before it, in 49 µs.
    private static func queue(of task: URLSessionTask, at place: Place) -> DispatchQueue? {
      var mirror: Mirror? = Mirror(reflecting: task)
      for _ in 0..<place.depth { mirror = mirror?.superclassMirror }
      guard let children = mirror?.children,
        let index = children.index(children.startIndex, offsetBy: place.index, limitedBy: children.endIndex),
        index != children.endIndex, children[index].label == label
      else { return nil }
      return children[index].value as? DispatchQueue
    }
  #endif
}
