/// The order in which the entries of a shard are evicted, by one of two policies.
///
/// LRU is a list in the order of use. S3-FIFO is two queues: what is new is on probation in the small one, what was used
/// there, or is asked for again soon after it left, goes to the main one, where it is given another round for each use.
struct EvictionOrder {
  /// Of the bytes of a shard, one in so many is for probation.
  private static let probationShare = 10
  /// The uses on probation that it takes to stay.
  private static let usesToStay: UInt32 = 2
  /// Uses beyond this many do not count.
  private static let maximumUses: UInt32 = 3

  let policy: EvictionPolicy
  private var main = SlotList()
  private var probation = SlotList()
  private var count = 0
  private var mainBytes = 0
  private var probationBytes = 0
  private var ghosts = GhostTable()
  /// LRU: how often an entry was moved to the front.
  private var clock: UInt32 = 0

  init(_ policy: EvictionPolicy) {
    self.policy = policy
  }

  // MARK: Using

  /// Counts a use of an entry.
  ///
  /// - Parameter count: the entries of the shard.
  @inline(__always)
  mutating func use(_ index: Int32, count: Int, in slots: borrowing MemorySlots) {
    let value = slots[index].standing.value
    switch policy {
    case .lru:
      // Moving touches three more slots. What is used most is among the newest anyway: with an eighth left where it is,
      // two in three hits of a zipf distribution move nothing, and three traces kept their hit ratio to 0.02 points.
      let age = (clock &- value) & MemorySlot.Standing.valueMask
      if age >= UInt32(truncatingIfNeeded: (count >> 8) << 5) { renew(index, in: slots) }
    case .s3fifo:
      if value < Self.maximumUses { slots[index].standing.value = value + 1 }
    }
  }

  @inline(never)
  private mutating func renew(_ index: Int32, in slots: borrowing MemorySlots) {
    clock &+= 1
    slots[index].standing.value = clock
    main.renew(index, in: slots)
  }

  // MARK: Adding and removing

  /// Adds an entry.
  ///
  /// - Parameter replaced: the standing of the entry that it takes the place of.
  mutating func add(
    _ index: Int32, cost: Int, replacing replaced: MemorySlot.Standing?, in slots: borrowing MemorySlots
  ) {
    switch policy {
    case .lru:
      clock &+= 1
      slots[index].standing.value = clock
      main.add(index, in: slots)
    case .s3fifo:
      let stays =
        if let replaced { !replaced.isOnProbation } else { ghosts.remove(slots[index].tag, limit: count) }
      slots[index].standing.value = replaced?.value ?? 0
      enqueue(index, cost: cost, isOnProbation: !stays, in: slots)
    }
  }

  /// Takes an entry out.
  mutating func remove(_ index: Int32, cost: Int, isEvicted: Bool, in slots: borrowing MemorySlots) {
    switch policy {
    case .lru: main.remove(index, in: slots)
    case .s3fifo:
      if isEvicted, slots[index].standing.isOnProbation { ghosts.add(slots[index].tag, room: count) }
      dequeue(index, cost: cost, in: slots)
    }
  }

  /// Replaces the cost of an entry that stays where it is.
  mutating func change(_ index: Int32, cost: Int, to newCost: Int, in slots: borrowing MemorySlots) {
    guard policy == .s3fifo else { return }
    if slots[index].standing.isOnProbation {
      probationBytes += newCost - cost
    } else {
      mainBytes += newCost - cost
    }
  }

  private mutating func enqueue(
    _ index: Int32, cost: Int, isOnProbation: Bool, in slots: borrowing MemorySlots
  ) {
    slots[index].standing.isOnProbation = isOnProbation
    count += 1
    if isOnProbation {
      probation.add(index, in: slots)
      probationBytes += cost
    } else {
      main.add(index, in: slots)
      mainBytes += cost
    }
  }

  private mutating func dequeue(_ index: Int32, cost: Int, in slots: borrowing MemorySlots) {
    count -= 1
    if slots[index].standing.isOnProbation {
      probation.remove(index, in: slots)
      probationBytes -= cost
    } else {
      main.remove(index, in: slots)
      mainBytes -= cost
    }
  }

  // MARK: Evicting

  /// The entry that goes next, which stays in until it is removed; `nil` when there is none but the one excepted.
  mutating func victim(except kept: Int32, in slots: borrowing MemorySlots) -> Int32? {
    switch policy {
    case .lru:
      let oldest = main.oldest
      let index = oldest != MemorySlot.none && oldest == kept ? slots[oldest].newer : oldest
      return index == MemorySlot.none ? nil : index
    case .s3fifo:
      return queuedVictim(except: kept, in: slots)
    }
  }

  // It ends: each round lowers a count of uses, moves an entry off probation, or moves the one excepted.
  private mutating func queuedVictim(except kept: Int32, in slots: borrowing MemorySlots) -> Int32? {
    while true {
      let isMainFull =
        mainBytes > (mainBytes + probationBytes) / Self.probationShare * (Self.probationShare - 1)
      let isFromMain = probation.isEmpty || isMainFull && !main.isEmpty && !main.isOnly(kept)
      if isFromMain {
        let index = main.oldest
        if main.isEmpty || main.isOnly(kept) { return nil }
        let uses = slots[index].standing.value
        if index != kept, uses == 0 { return index }
        if uses > 0 { slots[index].standing.value = uses - 1 }
        main.renew(index, in: slots)
      } else {
        let index = probation.oldest
        guard index == kept || slots[index].standing.value >= Self.usesToStay else { return index }
        let cost = slots[index].entry.map { policy.cost(of: $0) } ?? 0
        dequeue(index, cost: cost, in: slots)
        enqueue(index, cost: cost, isOnProbation: false, in: slots)
      }
    }
  }

  // MARK: Size

  mutating func removeAll() {
    self = EvictionOrder(policy)
  }

  /// After the slots were given other numbers.
  mutating func renumber(_ numbers: [Int32]) {
    main.renumber(numbers)
    probation.renumber(numbers)
  }
}

extension EvictionPolicy {
  /// What an entry occupies, in bytes, with its share of what the policy keeps.
  func cost(of entry: PackedEntry) -> Int {
    entry.cost + (self == .s3fifo ? GhostTable.bytesPerEntry : 0)
  }
}
