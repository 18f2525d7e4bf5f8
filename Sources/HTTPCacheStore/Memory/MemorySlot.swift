/// The place of an entry in a shard: its bytes, and where it is in the order of eviction.
///
/// 24 bytes. What only an answer needs is in the entry itself.
struct MemorySlot {
  static let none: Int32 = -1

  /// `nil` in a free slot.
  var entry: PackedEntry?
  /// The neighbour added or used more recently.
  var newer = MemorySlot.none
  /// The neighbour used less recently; of a free slot, the next free one.
  var older = MemorySlot.none
  /// The part of the key's hash that the table knows it by.
  var tag: UInt32
  var standing: Standing

  /// What the policy of eviction keeps of an entry, and the mark that memory holds every variant of its key.
  struct Standing {
    private static let complete: UInt32 = 1 << 31
    private static let probation: UInt32 = 1 << 30
    static let valueMask = probation - 1

    private var word: UInt32

    init(value: UInt32 = 0, isOnProbation: Bool = false) {
      word = value & Self.valueMask | (isOnProbation ? Self.probation : 0)
    }

    /// Of every variant of a key alike: memory holds all of them that the store has.
    var isComplete: Bool {
      get { word & Self.complete != 0 }
      set { word = newValue ? word | Self.complete : word & ~Self.complete }
    }

    /// S3-FIFO: in the small queue.
    var isOnProbation: Bool {
      get { word & Self.probation != 0 }
      set { word = newValue ? word | Self.probation : word & ~Self.probation }
    }

    /// LRU: the moment of the last promotion. S3-FIFO: the number of uses, up to 3.
    var value: UInt32 {
      get { word & Self.valueMask }
      set { word = word & ~Self.valueMask | newValue & Self.valueMask }
    }
  }
}

/// The slots of a shard, by number.
///
/// A pointer, because an array checks on each access what is known here, and on each change whether it is shared. It is
/// owned by this value alone.
// Unchecked because of the pointer: this value alone owns what it points to, cannot be copied, and hands it to nobody.
struct MemorySlots: ~Copyable, @unchecked Sendable {
  private var slots: UnsafeMutablePointer<MemorySlot>
  private var capacity = 0
  /// How many were ever taken since the last compaction, free ones among them.
  private(set) var count = 0
  private var free = MemorySlot.none

  init() {
    slots = .allocate(capacity: 0)
  }

  deinit {
    slots.deinitialize(count: count)
    slots.deallocate()
  }

  subscript(index: Int32) -> MemorySlot {
    @inline(__always) _read { yield slots[Int(index)] }
    @inline(__always) nonmutating _modify { yield &slots[Int(index)] }
  }

  /// Takes a slot.
  ///
  /// - Complexity: O(1), amortised: an eighth is added when none is free.
  mutating func add(_ slot: MemorySlot) -> Int32 {
    if free != MemorySlot.none {
      let index = free
      free = self[index].older
      self[index] = slot
      return index
    }
    if count == capacity { move(toCapacity: max(16, capacity + capacity / 8)) }
    (slots + count).initialize(to: slot)
    count += 1
    return Int32(count - 1)
  }

  /// Frees a slot and gives what was in it.
  mutating func remove(_ index: Int32) -> PackedEntry? {
    let entry = self[index].entry.take()
    self[index].older = free
    free = index
    return entry
  }

  /// Moves what is taken to the front. The links are the caller's to renumber.
  ///
  /// - Returns: the new number of every old slot.
  mutating func compact() -> [Int32] {
    var numbers = [Int32](repeating: MemorySlot.none, count: count)
    var kept = 0
    for index in 0..<count {
      if slots[index].entry == nil {
        (slots + index).deinitialize(count: 1)
      } else {
        numbers[index] = Int32(kept)
        if kept != index { (slots + kept).moveInitialize(from: slots + index, count: 1) }
        kept += 1
      }
    }
    count = kept
    free = MemorySlot.none
    move(toCapacity: kept + kept / 8)
    return numbers
  }

  private mutating func move(toCapacity capacity: Int) {
    let new = UnsafeMutablePointer<MemorySlot>.allocate(capacity: capacity)
    new.moveInitialize(from: slots, count: count)
    slots.deallocate()
    slots = new
    self.capacity = capacity
  }
}
