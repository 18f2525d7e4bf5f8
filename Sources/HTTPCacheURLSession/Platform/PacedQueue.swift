// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if canImport(FoundationNetworking)
  import CacheMutex
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
    private var isUrgent = false
    /// The calls that the next batch makes, in order.
    private var calls: [@Sendable () -> Void] = []
    /// What to do at the end of the batch.
    private var postponed: [@Sendable () -> Void] = []
    /// The queue on which Foundation receives; `nil` if it is unknown.
    private let receiving = Mutex<DispatchQueue?>(nil)

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

    /// Adds a call of Foundation, to a batch that begins when the thread that receives has read its socket. A change of
    /// threads for each 16 KiB would double the processor time.
    override func addOperation(_ block: @escaping @Sendable () -> Void) {
      let isOwn = OperationQueue.current === self
      let isFirst = condition.withLock {
        let deadline = Date(timeIntervalSinceNow: patience)
        if !isOwn, !isUrgent, waiting >= Self.limit {
          beginBatch()
          while !isUrgent, waiting >= Self.limit, condition.wait(until: deadline) {}
        }
        waiting += 1
        calls.append(block)
        return calls.count == 1
      }
      guard isFirst else { return }
      if let receiving = receiving.withLock({ $0 }) {
        receiving.async { self.beginBatch() }
      } else {
        beginBatch()
      }
    }

    private func beginBatch() { super.addOperation { [self] in makeCalls() } }

    /// Makes all calls that wait.
    private func makeCalls() {
      for call in condition.withLock({ Self.take(&calls) }) {
        call()
        condition.withLock {
          waiting -= 1
          // Half of them at once: with a signal for each, the two threads alternate.
          if waiting == Self.limit / 2 { condition.broadcast() }
        }
      }
      for work in condition.withLock({ Self.take(&postponed) }) { work() }
    }

    private static func take(_ list: inout [@Sendable () -> Void]) -> [@Sendable () -> Void] {
      defer { list = [] }
      return list
    }

    /// Called from a call: does something after the batch.
    func postpone(_ work: @escaping @Sendable () -> Void) {
      condition.withLock { postponed.append(work) }
    }

    /// Notes the queue on which the session receives.
    func setReceiving(_ queue: DispatchQueue?) {
      receiving.withLock { $0 = queue }
    }

    /// Adds a call during which the thread that receives does not wait, because the call waits for it.
    ///
    /// That thread reads a socket a few times, and then adds another call of the same kind to its queue, as long as there is
    /// something to read. The call would get no turn until the origin pauses: of an origin that sends at once, 1 GB arrived
    /// in memory. So the queue is suspended until the call has ended.
    func addUrgentOperation(_ block: @escaping @Sendable () -> Void) {
      super.addOperation { [self] in
        // Those that were added before.
        makeCalls()
        let receiving = receiving.withLock { $0 }
        receiving?.suspend()
        condition.withLock {
          isUrgent = true
          condition.broadcast()
        }
        block()
        condition.withLock { isUrgent = false }
        receiving?.resume()
      }
    }
  }
#endif
