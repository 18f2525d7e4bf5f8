// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Dispatch

/// Threads for calls that may block on the disk, so that Swift's cooperative threads never block.
///
/// At most ``threadLimit`` calls run at a time, and the others wait in order. A call must not wait for another one here.
package final class BlockingExecutor: TaskExecutor {
  static let shared = BlockingExecutor()

  /// Maximum threads. More would not make a disk faster, but each takes memory: without a limit, Dispatch started 60 in
  /// three minutes of the soak test.
  static let threadLimit = 32

  private enum Work: Sendable {
    case job(UnownedJob)
    case call(@Sendable () -> Void)
  }

  private struct State {
    var threads = 0
    var waiting: [Work] = []
    /// Position in ``waiting`` of the next call to run: an array without its first elements would be moved each time.
    var next = 0
  }

  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "HTTPCaching.disk", attributes: .concurrent)

  /// The threads that run calls, or are about to.
  var threadCount: Int { state.withLock { $0.threads } }

  /// Returns when the threads that run now have ended.
  func drained() async {
    await withCheckedContinuation { continuation in
      queue.async(flags: .barrier) { continuation.resume() }
    }
  }

  package func enqueue(_ job: consuming ExecutorJob) { add(.job(UnownedJob(job))) }

  private func add(_ work: Work) {
    let isNeeded = state.withLock { state in
      state.waiting.append(work)
      if state.threads == Self.threadLimit { return false }
      state.threads += 1
      return true
    }
    if isNeeded { queue.async { [self] in runAll() } }
  }

  private func runAll() {
    while let work = nextWork() {
      switch work {
      case .job(let job): job.runSynchronously(on: asUnownedTaskExecutor())
      case .call(let call): call()
      }
    }
  }

  /// Returns the next call, or ends the thread's work.
  private func nextWork() -> Work? {
    state.withLock { state in
      guard state.next < state.waiting.count else {
        state.threads -= 1
        return nil
      }
      let work = state.waiting[state.next]
      state.next += 1
      if state.next == state.waiting.count || state.next == 1024 {
        state.waiting.removeFirst(state.next)
        state.next = 0
      }
      return work
    }
  }

  /// Releases a reference on these threads, for an object whose deinitializer may block.
  static func release(_ object: any AnyObject & Sendable) {
    shared.add(.call { withExtendedLifetime(object) {} })
  }

  /// Runs a blocking call on these threads.
  package static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      shared.add(.call { continuation.resume(returning: body()) })
    }
  }
}
