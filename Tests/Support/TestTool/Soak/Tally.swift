// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// What the clients of one entry point have done, and whether they are to go on.
final class Tally: Sendable {
  private let requestCount = Atomic(0)
  private let stopped = Atomic(false)
  private let failed = Mutex<(count: Int, first: [String])>((0, []))
  /// The large responses that ended early, which readers that were left behind explain.
  private let cut = Mutex<[String]>([])
  private let start = ContinuousClock.now

  var requests: Int { requestCount.load(ordering: .relaxed) }
  var isStopped: Bool { stopped.load(ordering: .relaxed) }
  var failureCount: Int { failed.withLock { $0.count } }
  /// The first failures; one is often enough, and thousands are alike.
  var failures: [String] { failed.withLock { $0.first } }

  /// The first failures since the last call.
  func takeFailures() -> [String] {
    failed.withLock { failed in
      defer { failed.first = [] }
      return failed.first
    }
  }

  func stop() { stopped.store(true, ordering: .relaxed) }
  func count() { requestCount.wrappingAdd(1, ordering: .relaxed) }

  /// Failures of one moment have one cause, so each says how many seconds after the start it came.
  func fail(_ text: String) { add(timed(text)) }

  private func timed(_ text: String) -> String {
    "after \(Int((ContinuousClock.now - start) / .seconds(1))) s: \(text)"
  }

  /// Records a large response that ended early.
  func cutOff(_ text: String) { cut.withLock { $0.append(timed(text)) } }

  /// Fails the large responses that ended early if they are more than the readers that the cache left behind.
  func judgeCut(leftBehind: Int) {
    let cut = cut.withLock { $0 }
    if cut.count > leftBehind { for text in cut { add(text) } }
  }

  /// Adds a failure that another process has reported, with its time.
  func add(_ failure: String) {
    failed.withLock { failed in
      failed.count += 1
      if failed.first.count < 20 { failed.first.append(failure) }
    }
  }
}
