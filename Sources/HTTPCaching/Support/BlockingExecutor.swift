// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Dispatch

/// Threads for calls that may block on the disk, so that Swift's cooperative threads never block.
package final class BlockingExecutor: TaskExecutor {
  static let shared = BlockingExecutor()

  private let queue = DispatchQueue(label: "HTTPCaching.disk", attributes: .concurrent)

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  /// Releases a reference on these threads, for an object whose deinitializer may block.
  static func release(_ object: any AnyObject & Sendable) {
    shared.queue.async { withExtendedLifetime(object) {} }
  }

  /// Runs a blocking call on these threads.
  package static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      shared.queue.async { continuation.resume(returning: body()) }
    }
  }
}
