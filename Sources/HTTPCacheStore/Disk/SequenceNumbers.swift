import Synchronization

/// Numbers that only grow: the ids of entries, and the order of updates and removals.
final class SequenceNumbers: Sendable {
  private let next: Atomic<UInt64>

  /// Begins far above a number that was used. What was numbered and lost, because it never reached the disk, then does
  /// not share its number with anything new.
  init(after last: UInt64) {
    next = Atomic(last == 0 ? 1 : ((last >> 32) + 1) << 32)
  }

  /// Whoever takes a number sees what those did before who took a lower one.
  func take() -> UInt64 {
    next.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue
  }

  /// The number that will be taken next.
  var upcoming: UInt64 { next.load(ordering: .sequentiallyConsistent) }
}
