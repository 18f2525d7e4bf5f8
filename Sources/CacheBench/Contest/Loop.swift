// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import Histogram
import Synchronization

/// An operation on the key of a number. Returns whether it found or stored what it was to.
typealias Operation = @Sendable (_ key: Int) -> Bool

/// The loops that are measured.
struct Loop: Sendable {
  /// Whether the clock is read before and after each operation, for latencies.
  var timesEach: Bool
  /// Operations between two readings of the clock otherwise.
  var batch = 16

  /// Does an operation on the keys of a sequence, over and over, for some time.
  ///
  /// If other work takes the processor away, it goes on for up to three times as long, until the thread had as much as
  /// was asked for: few operations on caches gone cold tell little.
  ///
  /// - Parameter first: where in the sequence it begins.
  func run(
    for nanoseconds: UInt64, over indices: [UInt32], from first: Int = 0, _ operation: (Int) -> Bool
  ) -> Round {
    var round = Round()
    indices.withUnsafeBufferPointer { indices in
      guard !indices.isEmpty else { return }
      var position = first % indices.count
      let busy = MonotonicClock.ofThread
      let start = MonotonicClock.now
      var now = start
      var limit = nanoseconds
      func isOver() -> Bool {
        guard now - start >= limit else { return false }
        let had = MonotonicClock.ofThread - busy
        guard had < nanoseconds, now - start < 3 * nanoseconds else { return true }
        limit = now - start + (nanoseconds - had)
        return false
      }
      if timesEach {
        var histogram = Self.histogram()
        while !isOver() {
          let before = MonotonicClock.now
          round.successes += operation(Int(indices[position])) ? 1 : 0
          now = MonotonicClock.now
          histogram.record(min(now - before, Self.longest))
          round.operations += 1
          position = position + 1 == indices.count ? 0 : position + 1
        }
        round.latencies = histogram
      } else {
        while !isOver() {
          for _ in 0..<batch {
            round.successes += operation(Int(indices[position])) ? 1 : 0
            position = position + 1 == indices.count ? 0 : position + 1
          }
          round.operations += batch
          now = MonotonicClock.now
        }
      }
      round.nanoseconds = now - start
      round.processorNanoseconds = MonotonicClock.ofThread - busy
    }
    return round
  }

  /// Does an operation once on each of some keys: prepares so many of them at a time, unmeasured, and then does them.
  func pass(
    over indices: ArraySlice<UInt32>, chunk: Int = 32, prepare: (Int) -> Void = { _ in },
    _ operation: (Int) -> Bool
  ) -> Round {
    var round = Round(operations: indices.count)
    var histogram = timesEach ? Self.histogram() : nil
    var rest = indices
    while !rest.isEmpty {
      let keys = rest.prefix(max(1, chunk))
      rest = rest.dropFirst(keys.count)
      for key in keys { prepare(Int(key)) }
      let start = MonotonicClock.now
      for key in keys {
        let before = histogram == nil ? 0 : MonotonicClock.now
        round.successes += operation(Int(key)) ? 1 : 0
        if histogram != nil { histogram?.record(min(MonotonicClock.now - before, Self.longest)) }
      }
      round.nanoseconds += MonotonicClock.now - start
    }
    round.latencies = histogram
    return round
  }

  /// A minute: what takes longer counts as that.
  private static let longest: UInt64 = 60_000_000_000

  static func histogram() -> Histogram<UInt64> {
    Histogram(highestTrackableValue: longest, numberOfSignificantValueDigits: .three)
  }
}

/// What one round of one operation gave, on one thread or all.
struct Round: Sendable {
  var operations = 0
  /// Operations that found, or stored, what they were to.
  var successes = 0
  /// Wall clock.
  var nanoseconds: UInt64 = 0
  /// What the threads had a processor for, all together; 0 where it was not measured.
  var processorNanoseconds: UInt64 = 0
  /// Nanoseconds of each operation, where each was timed.
  var latencies: Histogram<UInt64>?

  var operationsPerSecond: Double {
    nanoseconds == 0 ? 0 : Double(operations) * 1e9 / Double(nanoseconds)
  }

  /// Adds what another thread did in the same time.
  mutating func join(_ other: Round) {
    let longest = max(nanoseconds, other.nanoseconds)
    append(other)
    nanoseconds = longest
  }

  /// Adds what was done afterwards.
  mutating func append(_ other: Round) {
    operations += other.operations
    successes += other.successes
    nanoseconds += other.nanoseconds
    processorNanoseconds += other.processorNanoseconds
    guard let others = other.latencies, latencies != nil else {
      latencies = latencies ?? other.latencies
      return
    }
    for value in others.recordedValues() { latencies?.record(value.value, count: value.count) }
  }
}

/// Threads of the system, not tasks, that do the same at the same time.
enum ThreadTeam {
  private final class Board: Sendable {
    let arrived = Atomic<Int>(0)
    let results = Mutex<[Round]>([])
  }

  /// Runs a body on so many threads, all of which start when the last is there.
  static func run(_ count: Int, _ body: @escaping @Sendable (_ thread: Int) -> Round) -> Round {
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
    return board.results.withLock { results in
      results.dropFirst().reduce(into: results.first ?? Round()) { $0.join($1) }
    }
  }
}
