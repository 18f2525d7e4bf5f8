import Synchronization

/// Counters that say whether something happened to a key since a moment, without a place per key.
///
/// Keys share 1,024 stripes by hash, and one epoch counts what happens to all keys at once. A moment that is still
/// current proves that nothing happened; one that is not may be the fault of a neighbour.
// Unchecked because of the pointer: it is set once, and what it points to are atomics.
final class StripedCounters: @unchecked Sendable {
  struct Moment: Sendable, Hashable {
    let stripe: UInt64
    let epoch: UInt64
  }

  private static let stripeCount = 1024

  private let stripes: UnsafeMutablePointer<Atomic<UInt64>>
  private let epoch = Atomic<UInt64>(0)

  init() {
    stripes = .allocate(capacity: Self.stripeCount)
    for index in 0..<Self.stripeCount {
      (stripes + index).initialize(to: Atomic(0))
    }
  }

  deinit {
    stripes.deinitialize(count: Self.stripeCount)
    stripes.deallocate()
  }

  // Neither the shard's bits (the top) nor the table's (the bottom), so that a hot shard spreads over all stripes.
  private func index(_ hash: UInt64) -> Int {
    Int(truncatingIfNeeded: hash >> 24) & (Self.stripeCount - 1)
  }

  func moment(for hash: UInt64) -> Moment {
    Moment(
      stripe: stripes[index(hash)].load(ordering: .sequentiallyConsistent),
      epoch: epoch.load(ordering: .sequentiallyConsistent))
  }

  func isCurrent(_ moment: Moment, for hash: UInt64) -> Bool {
    self.moment(for: hash) == moment
  }

  func advance(for hash: UInt64) {
    stripes[index(hash)].add(1, ordering: .sequentiallyConsistent)
  }

  /// A stripe as a number that is only raised, instead of one that counts.
  func raise(for hash: UInt64, to number: UInt64) {
    stripes[index(hash)].max(number, ordering: .sequentiallyConsistent)
  }

  func count(for hash: UInt64) -> UInt64 {
    stripes[index(hash)].load(ordering: .sequentiallyConsistent)
  }

  func advanceAll() {
    epoch.add(1, ordering: .sequentiallyConsistent)
  }
}
