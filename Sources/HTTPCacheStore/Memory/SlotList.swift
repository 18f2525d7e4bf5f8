/// A list through slots, from the newest to the oldest.
struct SlotList {
  private(set) var newest = MemorySlot.none
  private(set) var oldest = MemorySlot.none

  var isEmpty: Bool { oldest == MemorySlot.none }

  /// Whether a slot is the only one.
  func isOnly(_ index: Int32) -> Bool { newest == index && oldest == index }

  @inline(__always)
  mutating func add(_ index: Int32, in slots: borrowing MemorySlots) {
    slots[index].newer = MemorySlot.none
    slots[index].older = newest
    if newest != MemorySlot.none { slots[newest].newer = index } else { oldest = index }
    newest = index
  }

  @inline(__always)
  mutating func remove(_ index: Int32, in slots: borrowing MemorySlots) {
    let newer = slots[index].newer
    let older = slots[index].older
    if newer != MemorySlot.none { slots[newer].older = older } else { newest = older }
    if older != MemorySlot.none { slots[older].newer = newer } else { oldest = newer }
  }

  @inline(__always)
  mutating func renew(_ index: Int32, in slots: borrowing MemorySlots) {
    guard newest != index else { return }
    remove(index, in: slots)
    add(index, in: slots)
  }

  /// After the slots were given other numbers.
  mutating func renumber(_ numbers: [Int32]) {
    if newest != MemorySlot.none { newest = numbers[Int(newest)] }
    if oldest != MemorySlot.none { oldest = numbers[Int(oldest)] }
  }
}
