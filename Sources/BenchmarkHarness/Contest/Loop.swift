// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import Histogram

// In a build with Hummingbird, the compiler takes this module of libdispatch for the one that defines C's structures.
#if canImport(CDispatch)
  import CDispatch
#endif

/// An operation on the key of a number. Returns whether it succeeded: it found or stored the entry, as intended.
package typealias Operation = @Sendable (_ key: Int) -> Bool

/// The measured loops.
package struct Loop: Sendable {
  /// Whether the clock is read before and after each operation, for latencies.
  package var timesEach: Bool
  /// Operations between two checks of the remaining time; fewer at the end of a sequence.
  package var batch: Int

  package init(timesEach: Bool, batch: Int = 16) { (self.timesEach, self.batch) = (timesEach, batch) }

  /// Runs an operation on the keys of a sequence, repeatedly, for some time.
  ///
  /// If other work takes the processor away, the loop continues for up to three times as long, until the thread had the
  /// requested time: few operations on cold caches tell little.
  ///
  /// - Parameter first: the position in the sequence to begin with.
  package func run(
    for nanoseconds: UInt64, over indices: [UInt32], from first: Int = 0, _ operation: (Int) -> Bool
  ) -> Round {
    var round = Round(timesEach: timesEach)
    guard !indices.isEmpty else { return round }
    var position = first % indices.count
    let busy = MonotonicClock.ofThread
    let start = MonotonicClock.now
    var limit = nanoseconds
    func isOver() -> Bool {
      guard round.nanoseconds >= limit else { return false }
      let had = MonotonicClock.ofThread - busy
      guard had < nanoseconds, round.nanoseconds < 3 * nanoseconds else { return true }
      limit = round.nanoseconds + (nanoseconds - had)
      return false
    }
    while !isOver() {
      let end = min(position + batch, indices.count)
      round.perform(operation, on: indices[position..<end])
      round.nanoseconds = MonotonicClock.now - start
      position = end == indices.count ? 0 : end
    }
    round.processorNanoseconds = MonotonicClock.ofThread - busy
    return round
  }

  /// Runs an operation once on each of some keys. It prepares a number of them at a time, unmeasured, and then runs the
  /// operation on them.
  package func pass(
    over indices: ArraySlice<UInt32>, chunk: Int = 32, prepare: (Int) -> Void = { _ in },
    _ operation: (Int) -> Bool
  ) -> Round {
    var round = Round(timesEach: timesEach)
    for first in stride(from: indices.startIndex, to: indices.endIndex, by: chunk) {
      let keys = indices[first..<min(first + chunk, indices.endIndex)]
      for key in keys { prepare(Int(key)) }
      let start = MonotonicClock.now
      round.perform(operation, on: keys)
      round.nanoseconds += MonotonicClock.now - start
    }
    return round
  }
}

/// The result of one round of one operation, on one thread or on all.
package struct Round: Sendable {
  package var operations = 0
  /// Number of operations that found, or stored, the entry as intended.
  package var successes = 0
  /// Wall-clock time.
  package var nanoseconds: UInt64 = 0
  /// Processor time of all threads together; 0 if it was not measured.
  package var processorNanoseconds: UInt64 = 0
  /// Nanoseconds of each operation, if each was timed.
  package var latencies: Histogram<UInt64>?

  /// A minute: longer operations count as that.
  private static let longest: UInt64 = 60_000_000_000

  package var operationsPerSecond: Double {
    nanoseconds == 0 ? 0 : Double(operations) * 1e9 / Double(nanoseconds)
  }

  /// Runs an operation on some keys, and times each if there are latencies.
  @inline(__always)
  fileprivate mutating func perform(_ operation: (Int) -> Bool, on keys: ArraySlice<UInt32>) {
    operations += keys.count
    if latencies == nil {
      for key in keys { successes += operation(Int(key)) ? 1 : 0 }
    } else {
      for key in keys {
        let start = MonotonicClock.now
        successes += operation(Int(key)) ? 1 : 0
        record(MonotonicClock.now - start)
      }
    }
  }

  /// Adds one latency.
  package mutating func record(_ nanoseconds: UInt64) { latencies?.record(min(nanoseconds, Self.longest)) }

  /// Adds the work of another thread in the same time.
  package mutating func join(_ other: Round) {
    let longest = max(nanoseconds, other.nanoseconds)
    append(other)
    nanoseconds = longest
  }

  /// Adds later work.
  package mutating func append(_ other: Round) {
    operations += other.operations
    successes += other.successes
    nanoseconds += other.nanoseconds
    processorNanoseconds += other.processorNanoseconds
    guard let others = other.latencies else { return }
    guard latencies != nil else {
      latencies = others
      return
    }
    for value in others.recordedValues() { latencies?.record(value.value, count: value.count) }
  }
}

extension Round {
  package init(timesEach: Bool) {
    guard timesEach else { return }
    latencies = Histogram(highestTrackableValue: Self.longest, numberOfSignificantValueDigits: .three)
  }
}

/// Threads of the system, not tasks, that run the same body at the same time.
package enum ThreadTeam {
  private final class Board: Sendable {
    let arrived = Atomic<Int>(0)
    let results = Mutex<[Round]>([])
  }

  /// Runs a body on several threads, which all start when the last is ready.
  package static func run(_ count: Int, _ body: @escaping @Sendable (_ thread: Int) -> Round) -> Round {
    guard count > 1 else { return body(0) }
    let board = Board()
    let finished = DispatchSemaphore(value: 0)
    for number in 0..<count {
      let thread = Thread {
        board.arrived.add(1, ordering: .acquiringAndReleasing)
        while board.arrived.load(ordering: .acquiring) < count { sched_yield() }
        let result = body(number)
        board.results.withLock { $0.append(result) }
        finished.signal()
      }
      thread.stackSize = 1 << 20
      thread.start()
    }
    for _ in 0..<count { finished.wait() }
    return board.results.withLock { results in results.reduce(into: Round()) { $0.join($1) } }
  }
}

/// Nanoseconds of a clock that never goes back.
package enum MonotonicClock {
  package static var now: UInt64 { read(CLOCK_MONOTONIC) }

  /// Processor time of the calling thread, in nanoseconds. Reading it takes a system call.
  package static var ofThread: UInt64 { read(CLOCK_THREAD_CPUTIME_ID) }

  /// Processor time of all threads of the process, in nanoseconds. Reading it takes a system call.
  package static var ofProcess: UInt64 { read(CLOCK_PROCESS_CPUTIME_ID) }

  @inline(__always)
  private static func read(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// The cost of reading the clock, in nanoseconds: it is part of every latency, and is not subtracted.
  package static func cost() -> Double {
    let reads = 1000
    let rounds = (0..<21).map { _ in
      let start = now
      for _ in 0..<reads { _ = now }
      return Double(now - start) / Double(reads + 1)
    }
    return median(rounds) ?? 0
  }
}

/// Returns the median of some figures: the mean of the middle two if their number is even, `nil` if there are none.
package func median(_ figures: [Double]) -> Double? {
  guard !figures.isEmpty else { return nil }
  let sorted = figures.sorted()
  return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
}

/// Takes unused numbers, so that the compiler does not remove their computation.
package enum BlackHole {
  private static let sum = Atomic<Int>(0)

  package static func take(_ number: Int) { sum.add(number, ordering: .relaxed) }
}
