import Synchronization

/// What all content in flight occupies in memory: content that is neither stored yet nor delivered.
///
/// The limit is soft by one block for each transfer, so that it can never block one for good: whoever holds nothing may
/// always take one block, and whoever holds something takes no more while the budget ``isFull``. Therefore nobody has to
/// wait for another transfer's bytes: each goes on as its own readers take what it holds.
package final class TransitBudget: Sendable {
  /// Bytes; see ``HTTPCache/Configuration/transitCapacity``.
  package let capacity: Int
  private let occupied = Atomic<Int>(0)

  package init(capacity: Int) {
    self.capacity = Swift.max(0, capacity)
  }

  /// Bytes in use now.
  package var used: Int { occupied.load(ordering: .relaxed) }

  /// Whether there is room only for those who hold nothing.
  package var isFull: Bool { used >= capacity }

  /// Counts a change of what one holder occupies, in bytes.
  package func change(by bytes: Int) {
    if bytes != 0 { occupied.wrappingAdd(bytes, ordering: .relaxed) }
  }
}
