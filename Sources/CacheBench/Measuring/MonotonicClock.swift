#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Nanoseconds of a clock that only runs forwards.
enum MonotonicClock {
  static var now: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// Nanoseconds that the calling thread has had a processor for. Reading it takes a call of the kernel.
  static var ofThread: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// What reading the clock costs, in nanoseconds: it is a part of every latency, and is not subtracted.
  static func cost() -> Double {
    let reads = 1000
    let rounds = (0..<21).map { _ in
      let start = now
      for _ in 0..<reads { _ = now }
      return Double(now - start) / Double(reads + 1)
    }
    return median(rounds) ?? 0
  }
}
