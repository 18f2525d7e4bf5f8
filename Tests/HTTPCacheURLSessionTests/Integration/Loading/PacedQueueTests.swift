// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if canImport(FoundationNetworking)
  import Foundation
  import CacheMutex
  import Testing

  @testable import HTTPCacheURLSession

  @Suite("Pacing of Foundation's transfers", .timeLimit(.minutes(10)))
  struct PacedQueueTests {
    /// Adds calls from a thread of its own.
    ///
    /// - Parameters:
    ///   - whenAdded: called by that thread when the last of them has been added.
    /// - Returns: when all of them have run.
    private func run(
      _ count: Int, on queue: PacedQueue, whenAdded: @escaping @Sendable () -> Void = {},
      _ call: @escaping @Sendable () -> Void = {}
    ) async {
      await withCheckedContinuation { ended in
        Thread.detachNewThread {
          for _ in 0..<count { queue.addOperation(call) }
          whenAdded()
          queue.addOperation { ended.resume() }
        }
      }
    }

    /// A call that waits until another thread has done something.
    private final class Wait: Sendable {
      private let semaphore = DispatchSemaphore(value: 0)
      private let isEnded = Mutex(false)

      /// Whether ``end()`` was called in time.
      var hasSucceeded: Bool { isEnded.withLock { $0 } }

      func call() {
        // For what never comes.
        guard semaphore.wait(timeout: .now() + 240) == .success else { return }
        isEnded.withLock { $0 = true }
      }

      func end() { semaphore.signal() }
    }

    @Test("A thread that adds calls waits while as many as the limit wait")
    func limit() async {
      let queue = PacedQueue(patience: 600)
      let most = Mutex(0)
      await run(40 * PacedQueue.limit, on: queue) {
        most.withLock { $0 = max($0, queue.waitingCount) }
      }
      #expect(most.withLock { $0 } <= PacedQueue.limit)
    }

    @Test("An urgent call lets the thread that waits go on, so that a call may wait for that thread")
    func urgent() async {
      let queue = PacedQueue(patience: 600)
      let wait = Wait()
      queue.addUrgentOperation { wait.call() }
      await run(2 * PacedQueue.limit, on: queue, whenAdded: { wait.end() })
      #expect(wait.hasSucceeded)
    }

    /// A queue of Foundation that receives, one step after another, until a cancellation gets its turn.
    private final class Receiver: Sendable {
      let queue: DispatchQueue
      let calls: PacedQueue
      let isCancelled = Atomic(false)
      let stepCount = Atomic(0)

      init(_ root: DispatchQueue, _ calls: PacedQueue) {
        queue = DispatchQueue(label: "receiving", target: root)
        self.calls = calls
      }

      func step() {
        for _ in 0..<10 { calls.addOperation {} }
        stepCount.wrappingAdd(1, ordering: .relaxed)
        if !isCancelled.load(ordering: .relaxed) { queue.async { self.step() } }
      }
    }

    @Test("An urgent call gets its turn after one step of a queue that always has another")
    func turn() async {
      let queue = PacedQueue(patience: 600)
      let root = DispatchQueue(label: "root")
      let task = DispatchQueue(label: "task", target: root)
      let receiver = Receiver(root, queue)
      queue.setReceiving(receiver.queue)
      receiver.queue.async { receiver.step() }
      let stepCount = await withCheckedContinuation { ended in
        queue.addOperation {
          queue.addUrgentOperation {
            let before = receiver.stepCount.load(ordering: .relaxed)
            task.sync { receiver.isCancelled.store(true, ordering: .relaxed) }
            ended.resume(returning: receiver.stepCount.load(ordering: .relaxed) - before)
          }
        }
      }
      // One that runs, and one that the queue has already taken.
      #expect(stepCount <= 2)
      await run(0, on: queue)
    }

    @Test("Postponed work is done after the batch of the call")
    func postponed() async {
      let queue = PacedQueue(patience: 600)
      let done = Mutex<[Int]>([])
      let begin = Wait()
      // The calls that are added while this one runs are one batch. Before it runs, they could be in the batch of this one.
      await withCheckedContinuation { isRunning in
        queue.addOperation {
          isRunning.resume()
          begin.call()
        }
      }
      for number in 1...5 {
        queue.addOperation {
          queue.postpone { done.withLock { $0.append(-number) } }
          done.withLock { $0.append(number) }
        }
      }
      begin.end()
      await run(0, on: queue)
      await run(0, on: queue)
      #expect(done.withLock { $0 } == [1, 2, 3, 4, 5, -1, -2, -3, -4, -5])
    }

    @Test("A call that adds a call does not wait")
    func own() async {
      let queue = PacedQueue(patience: 600)
      await withCheckedContinuation { ended in
        queue.addOperation {
          for _ in 0..<2 * PacedQueue.limit { queue.addOperation {} }
          queue.addOperation { ended.resume() }
        }
      }
      #expect(queue.waitingCount <= 1)
    }

    @Test("Calls run while all threads of the global queue are busy")
    func busyThreads() async {
      let queue = PacedQueue(patience: 600)
      let isDone = Atomic(false)
      // Threads that compute: for those that wait, the global queue would get others.
      for _ in 0..<8 * ProcessInfo.processInfo.activeProcessorCount {
        DispatchQueue.global().async {
          while !isDone.load(ordering: .relaxed) {}
        }
      }
      let wait = Wait()
      await withCheckedContinuation { ended in
        Thread.detachNewThread {
          queue.addOperation { wait.end() }
          wait.call()
          isDone.store(true, ordering: .relaxed)
          ended.resume()
        }
      }
      #expect(wait.hasSucceeded)
    }

    @Test("A thread that waits goes on when its patience ends")
    func patience() async {
      let queue = PacedQueue(patience: 0)
      let wait = Wait()
      queue.addOperation { wait.call() }
      await run(2 * PacedQueue.limit, on: queue, whenAdded: { wait.end() })
      #expect(wait.hasSucceeded)
    }
  }
#endif
