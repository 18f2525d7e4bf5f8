// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The source of the present time, and of pauses; tests use their own.
public protocol CacheClock: Sendable {
  /// The present time; never earlier than a time returned before.
  var now: Timestamp { get }

  /// Returns when this much time has passed. By default, the time is real.
  ///
  /// The cache uses it for its timers. A test that advances ``now`` by hand can end the sleeps with it.
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled
  func sleep(for duration: Duration) async throws
}

extension CacheClock {
  /// Sleeps in real time, for a century at most.
  public func sleep(for duration: Duration) async throws {
    // `Task.sleep` ends the process for some longer times.
    try await Task.sleep(for: min(duration, .seconds(100 * 366 * 86_400)))
  }
}

/// The system's time, adjusted so that it never runs backwards while the process lives.
///
/// The wall clock can be set back. A stored response would then seem younger than it is, and might become fresh again.
/// So this clock is the monotonic clock plus the largest difference between the two seen so far. It follows the wall
/// clock forwards at once, and continues at its own pace if the wall clock steps back. The engine recognises responses
/// that an earlier process stored under a fast clock (`CacheEngine.Reason.storedInTheFuture`).
public final class SystemCacheClock: CacheClock {
  /// The clock that caches use by default.
  public static let shared = SystemCacheClock()

  private let largestDifference = Atomic<Int64>(.min)

  package init() {}

  /// The present time.
  public var now: Timestamp {
    let monotonic = Self.milliseconds(Self.monotonicClock)
    let difference = Self.milliseconds(CLOCK_REALTIME) - monotonic
    var largest = largestDifference.load(ordering: .relaxed)
    while difference > largest {
      let (exchanged, original) = largestDifference.compareExchange(
        expected: largest, desired: difference, ordering: .relaxed)
      largest = exchanged ? difference : original
    }
    return Timestamp(milliseconds: monotonic + largest)
  }

  // Time asleep counts: a response ages while the lid is closed.
  #if canImport(Darwin)
    private static let monotonicClock = CLOCK_MONOTONIC
  #else
    private static let monotonicClock = CLOCK_BOOTTIME
  #endif

  private static func milliseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}
