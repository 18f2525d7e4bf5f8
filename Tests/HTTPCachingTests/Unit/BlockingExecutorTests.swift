// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Dispatch
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Threads for calls that block", .timeLimit(.minutes(5)))
struct BlockingExecutorTests {
  private final class Counts: Sendable {
    private let counts = Mutex((running: 0, most: 0))

    var most: Int { counts.withLock { $0.most } }

    func begin() {
      counts.withLock { counts in
        counts.running += 1
        counts.most = max(counts.most, counts.running)
      }
    }

    func end() { counts.withLock { $0.running -= 1 } }
  }

  /// Blocks its thread, as a call to the disk does.
  private static func block(_ counts: Counts, until released: DispatchSemaphore) {
    counts.begin()
    released.wait()
    counts.end()
  }

  @Test("At most the limit of calls run at a time, and all of them run")
  func limit() async throws {
    // Its own threads: other tests use the shared ones.
    let executor = BlockingExecutor()
    let counts = Counts()
    let released = DispatchSemaphore(value: 0)
    let calls = BlockingExecutor.threadLimit * 2 + 1100
    let results = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<calls {
        group.addTask(executorPreference: executor) {
          Self.block(counts, until: released)
          return number
        }
      }
      // At once: Dispatch starts about one thread a second, and blocked ones count for other tests too.
      #expect(executor.threadCount == BlockingExecutor.threadLimit)
      for _ in 0..<calls { released.signal() }
      var results: Set<Int> = []
      for try await result in group { results.insert(result) }
      return results
    }
    #expect(results.count == calls)
    #expect(counts.most <= BlockingExecutor.threadLimit)
    await executor.drained()
    #expect(executor.threadCount == 0)
  }
}
