/// The room that one operation is making: bytes that it holds of the budget, and entries to free after the lock.
struct Room {
  let budget: ByteBudget
  private(set) var held = 0
  /// Nearly always one at the most, which then needs no array.
  private var garbage: PackedEntry?
  private var moreGarbage: [PackedEntry] = []

  init(budget: ByteBudget) {
    self.budget = budget
  }

  mutating func hold(_ detached: (entry: PackedEntry, cost: Int)?) {
    guard let (entry, cost) = detached else { return }
    held += cost
    if garbage == nil {
      garbage = entry
    } else {
      moreGarbage.append(entry)
    }
  }

  /// Whether this much is held, after reserving what is missing.
  mutating func secure(_ bytes: Int) -> Bool {
    if held >= bytes { return true }
    guard budget.reserve(bytes - held) else { return false }
    held = bytes
    return true
  }

  mutating func dropGarbage() {
    garbage = nil
    moreGarbage = []
  }

  /// Gives back what is held beyond what the tier now keeps.
  mutating func close(keeping kept: Int = 0) {
    dropGarbage()
    budget.release(held - kept)
    held = 0
  }
}
