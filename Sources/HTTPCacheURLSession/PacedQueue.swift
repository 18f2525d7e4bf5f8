// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if canImport(FoundationNetworking)
  import Foundation

  /// The delegate queue of a session, which slows the session's transfers down if too many calls wait for it.
  ///
  /// Foundation on Linux adds a call to the queue for each 16 KiB that arrive, and never waits. If the origin sends
  /// faster than the delegate and the store work, all of a large response waits in memory: 380 MB of 1 GB, measured, and 55 MB with this.
  /// Here, the thread that receives waits for the queue instead. The kernel's buffers then fill up, and the origin
  /// waits.
  // Unchecked, as the superclass is: the condition's lock protects the counts.
  final class PacedQueue: OperationQueue, @unchecked Sendable {
    /// Maximum calls that wait; each has at most 16 KiB.
    static let limit = 16

    /// The longest wait, in seconds. Foundation could wait for its own thread in a call on this queue.
    private let patience: TimeInterval
    /// A separate queue gets a thread at once. Calls on the global queue wait until Swift's tasks leave one of its few
    /// threads, and these tasks may wait for the thread that receives.
    private let thread = DispatchQueue(label: "HTTPCacheURLSession.origin")
    private let condition = NSCondition()
    private var waiting = 0
    private var urgent = 0

    init(patience: TimeInterval = 1) {
      self.patience = patience
      super.init()
      maxConcurrentOperationCount = 1
      underlyingQueue = thread
    }

    /// The calls that wait or run.
    var waitingCount: Int {
      condition.withLock { waiting }
    }

    /// Adds a call of Foundation.
    override func addOperation(_ block: @escaping @Sendable () -> Void) {
      let isOwn = OperationQueue.current === self
      condition.withLock {
        let deadline = Date(timeIntervalSinceNow: patience)
        while !isOwn, urgent == 0, waiting >= Self.limit, condition.wait(until: deadline) {}
        waiting += 1
      }
      super.addOperation { [self] in
        block()
        condition.withLock {
          waiting -= 1
          if waiting < Self.limit { condition.signal() }
        }
      }
    }

    /// Adds a call during which, and before which, the thread that receives does not wait, because the call waits for it.
    func addUrgentOperation(_ block: @escaping @Sendable () -> Void) {
      condition.withLock {
        urgent += 1
        condition.broadcast()
      }
      super.addOperation { [self] in
        block()
        condition.withLock { urgent -= 1 }
      }
    }
  }
#endif
