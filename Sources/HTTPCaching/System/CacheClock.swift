// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The source of the present time, and of pauses; tests use their own.
public protocol CacheClock: Sendable {
  /// The present time; never earlier than a time returned before. It says how long a response has been here.
  var now: Timestamp { get }

  /// The present time as the wall clock shows it, which may be set forward and back. It says what dates mean: those of
  /// origins, and those that the cache sends. By default, it is ``now``.
  var wallTime: Timestamp { get }

  /// A time in nanoseconds that only grows, to measure how long something takes; read only for observers of events. By
  /// default, it is ``now``.
  var uptimeNanoseconds: Int64 { get }

  /// Returns when this much time has passed. By default, the time is real.
  ///
  /// The cache uses it for its timers. A test that advances ``now`` by hand can end the sleeps with it.
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled
  func sleep(for duration: Duration) async throws
}

extension CacheClock {
  /// The same as ``now``.
  public var wallTime: Timestamp { now }

  /// The same as ``now``.
  public var uptimeNanoseconds: Int64 { now.milliseconds &* 1_000_000 }

  /// Sleeps in real time, for a century at most.
  public func sleep(for duration: Duration) async throws {
    // `Task.sleep` ends the process for some longer times.
    try await Task.sleep(for: min(duration, .seconds(100 * 366 * 86_400)))
  }
}

/// The system's clocks.
///
/// The wall clock can be set. By it, a stored response could seem younger than it is, and become fresh again; or it could
/// seem older, and lose its freshness. So ``now`` is the monotonic clock, which begins at the wall clock's time of the
/// first use in this process. From then on, no change of the wall clock affects it.
public final class SystemCacheClock: CacheClock {
  /// The clock that caches use by default.
  public static let shared = SystemCacheClock()

  /// The difference of the clocks when this one began.
  private let difference: Int64

  package init() {
    difference = Self.milliseconds(CLOCK_REALTIME) - Self.milliseconds(Self.monotonicClock)
  }

  /// The present time by the monotonic clock.
  public var now: Timestamp {
    Timestamp(milliseconds: Self.milliseconds(Self.monotonicClock) + difference)
  }

  /// The present time by the wall clock.
  public var wallTime: Timestamp { Timestamp(milliseconds: Self.milliseconds(CLOCK_REALTIME)) }

  /// The monotonic clock.
  public var uptimeNanoseconds: Int64 {
    let time = Self.time(Self.monotonicClock)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  // Time asleep counts: a response ages while the lid is closed.
  #if canImport(Darwin)
    private static let monotonicClock = CLOCK_MONOTONIC
  #else
    private static let monotonicClock = CLOCK_BOOTTIME
  #endif

  private static func time(_ clock: clockid_t) -> timespec {
    var time = timespec()
    clock_gettime(clock, &time)
    return time
  }

  private static func milliseconds(_ clock: clockid_t) -> Int64 {
    let time = time(clock)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}
