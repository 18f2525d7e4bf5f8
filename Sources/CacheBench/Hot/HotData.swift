import HTTPCacheStore

/// Keys and bodies of a workload, the same for every cache and made beforehand.
struct HotData: Sendable {
  /// The bytes of a key: those of the store's key of a request for `https://cache.example.com/…`.
  static let keyBytes = 64

  let count: Int
  let bodies: Bodies

  init(count: Int, valueSize: Int, seed: UInt64) {
    self.count = count
    bodies = Bodies(size: valueSize, seed: seed)
  }

  /// A key by its number, in memory of its own.
  static func key(_ number: Int) -> StoreKey {
    StoreKey(
      [UInt8](unsafeUninitializedCapacity: keyBytes) { buffer, filled in
        _ = buffer.initialize(fromContentsOf: template)
        var rest = number
        var position = keyBytes - suffix.count - 1
        while rest > 0 {
          buffer[position] = UInt8(ascii: "0") + UInt8(rest % 10)
          rest /= 10
          position -= 1
        }
        filled = keyBytes
      })
  }

  private static let prefix = "https://cache.example.com/assets/objects/"
  private static let suffix = ".webp"
  private static let template = Array(
    (prefix + String(repeating: "0", count: keyBytes - prefix.utf8.count - suffix.utf8.count) + suffix).utf8)

  /// All keys in an order by chance, one share of them for each thread.
  func everyKey(threads: Int, seed: UInt64) -> [Arrivals] {
    let order = KeySequence.shuffle(keys: count, seed: seed)
    return (0..<threads).map { thread in
      Arrivals(order[count * thread / threads..<count * (thread + 1) / threads])
    }
  }

  /// Keys as they are asked for, for each thread its own.
  ///
  /// - Parameter run: another number gives other sequences. What a cache was warmed or measured with before would be
  ///   found more often than what comes next.
  func draws(_ options: HotOptions, threads: Int, run: Int) -> [Arrivals] {
    // A multiple of the period, so that each round of `mixed` stores the same share.
    let length = min(max(4 * count, 1 << 14), 1 << 20) / Workload.mixedPeriod * Workload.mixedPeriod
    return (0..<threads).map { thread in
      Arrivals(
        KeySequence(
          keys: count, distribution: options.distribution, exponent: options.zipfExponent, seed: options.seed,
          stream: run << 10 + thread, length: length
        ).indices[...])
    }
  }
}

/// Keys in the order in which they are asked for.
///
/// Each has memory of its own, one after the other, as keys of requests have that have just arrived: reading them costs
/// little and is the same for every cache; what is measured is the way from there to the entry.
struct Arrivals: Sendable {
  let keys: [StoreKey]
  /// 0, 1, … for the loop that is measured.
  let positions: [UInt32]

  init(_ numbers: ArraySlice<UInt32>) {
    keys = numbers.map { HotData.key(Int($0)) }
    positions = Array(0..<UInt32(numbers.count))
  }
}

/// Makes bodies, each in memory of its own.
struct Bodies: Sendable {
  let size: Int
  private let template: [UInt8]

  init(size: Int, seed: UInt64) {
    self.size = size
    var generator = SplitMix64(seed: seed)
    template = (0..<size).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
  }

  /// A body as it comes from the network: it belongs to who takes it.
  func fresh() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: size) { buffer, filled in
      filled = buffer.initialize(fromContentsOf: template)
    }
  }
}
