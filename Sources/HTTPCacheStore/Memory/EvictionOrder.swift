// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The order in which the entries of a shard are evicted, by one of two policies.
///
/// LRU keeps the time of the last use beside each place of the table, so that a hit writes to the line that it has just
/// read and to no other. Eviction goes round the table, which is in the order of hashes, and takes the first entry that
/// was not used for so long as few others; how long that is follows from how soon it finds one. In a small table it looks
/// at all entries, and is exact. Of web07 at 10 %, in 16 shards, it has 55.7 % hits, as an exact list has.
///
/// S3-FIFO is two queues: what is new is on probation in the small one, what was used there, or is asked for again soon
/// after it left, goes to the main one, where it is given another round for each use.
struct EvictionOrder {
  /// LRU: the most places that eviction looks at.
  private static let mostPlaces = 192
  /// LRU: how many it is to look at on average: what is evicted is then among the oldest few of a hundred.
  private static let placesPerVictim = 32
  /// S3-FIFO: of the bytes of a shard, one in so many is for probation.
  private static let probationShare = 10
  /// S3-FIFO: the uses on probation that it takes to stay. With 2, as published, a zipf trace of a million keys at a tenth
  /// has 79.2 % hits; with 1 it has 79.9, and web07 at 10 % 58.2 instead of 58.0.
  private static let usesToStay: UInt32 = 1

  let policy: EvictionPolicy
  /// LRU: how many uses there were.
  private var clock: UInt32 = 0
  /// LRU: where eviction looks next.
  private var hand = 0
  /// LRU: what has not been used for so long is old enough to go.
  private var oldAge: UInt32 = 0
  /// LRU: when the entry was used last that was chosen to go next, and was then at the hand.
  private var chosenTime = Standing.timeMask
  private var main = Queue()
  private var probation = Queue()
  private var ghosts = GhostTable()

  /// S3-FIFO: one of the two queues, and what is in it.
  private struct Queue {
    var tags = TagQueue()
    var count = 0
    var bytes = 0
  }

  init(_ policy: EvictionPolicy) {
    self.policy = policy
  }

  // MARK: Using

  /// Counts a use of an entry.
  @inline(__always)
  mutating func use(_ position: Int, in table: inout EntryTable) {
    var standing = table.standing(position)
    switch policy.kind {
    case .lru: standing.time = tick(&table)
    case .s3fifo:
      guard standing.uses < Standing.maximumUses else { return }
      standing.uses += 1
    }
    table.setStanding(position, standing)
  }

  @inline(__always)
  private mutating func tick(_ table: inout EntryTable) -> UInt32 {
    clock &+= 1
    if clock >= Standing.timeMask { turnBack(&table) }
    return clock
  }

  /// Moves all times to the lower half, once in half a billion uses; older ones than that become equal.
  @inline(never)
  private mutating func turnBack(_ table: inout EntryTable) {
    let half = Standing.timeMask / 2
    table.updateStandings { $0.time = $0.time > half ? $0.time - half : 0 }
    clock -= half
  }

  // MARK: Adding and removing

  /// The standing of an entry that is to be added.
  mutating func add(tag: UInt32, cost: Int, in table: inout EntryTable) -> Standing {
    var standing = Standing()
    switch policy.kind {
    case .lru: standing.time = tick(&table)
    case .s3fifo:
      let isBack = ghosts.remove(tag, limit: main.count + probation.count)
      enqueue(&standing, tag: tag, cost: cost, isOnProbation: !isBack)
    }
    return standing
  }

  /// Forgets an entry that is to be taken out.
  mutating func remove(_ position: Int, cost: Int, isEvicted: Bool, in table: inout EntryTable) {
    guard policy == .s3fifo else { return }
    let standing = table.standing(position)
    if isEvicted, standing.isOnProbation {
      ghosts.add(table.tag(position), room: main.count + probation.count)
    }
    dequeue(standing, cost: cost)
    // Where much is removed and nothing evicted, most numbers are of entries that are gone.
    if main.tags.count > 2 * main.count + 64 { main.tags = renumbered(main.tags, false, &table) }
    if probation.tags.count > 2 * probation.count + 64 {
      probation.tags = renumbered(probation.tags, true, &table)
    }
  }

  /// Replaces the cost of an entry that stays where it is, and counts a use.
  mutating func replace(_ position: Int, cost: Int, by newCost: Int, in table: inout EntryTable) {
    if policy == .s3fifo {
      if table.standing(position).isOnProbation {
        probation.bytes += newCost - cost
      } else {
        main.bytes += newCost - cost
      }
    }
    use(position, in: &table)
  }

  private mutating func enqueue(_ standing: inout Standing, tag: UInt32, cost: Int, isOnProbation: Bool) {
    standing.isOnProbation = isOnProbation
    if isOnProbation {
      standing.sequence = probation.tags.append(tag)
      probation.count += 1
      probation.bytes += cost
    } else {
      standing.sequence = main.tags.append(tag)
      main.count += 1
      main.bytes += cost
    }
  }

  private mutating func dequeue(_ standing: Standing, cost: Int) {
    if standing.isOnProbation {
      probation.count -= 1
      probation.bytes -= cost
    } else {
      main.count -= 1
      main.bytes -= cost
    }
  }

  // MARK: Evicting

  /// The entry that goes next, which stays in until it is removed; `nil` when there is none but the one excepted.
  mutating func victim(except kept: Int?, in table: inout EntryTable) -> Int? {
    guard table.count > (kept == nil ? 0 : 1) else { return nil }
    switch policy.kind {
    case .lru:
      return oldVictim(except: kept, in: table)
    case .s3fifo:
      return queuedVictim(except: kept, in: &table)
    }
  }

  private mutating func oldVictim(except kept: Int?, in table: borrowing EntryTable) -> Int? {
    defer { chosenTime = Standing.timeMask }
    // An insert or a removal before it has moved it by one; a use has changed its time.
    for position in max(0, hand - 1)...hand + 1
    where position < table.length && position != kept && chosenTime != Standing.timeMask
      && table.standing(position).time == chosenTime
    {
      hand = position
      return position
    }
    return searchOld(except: kept, in: table)
  }

  /// Chooses what goes next, so that its memory can be asked for by then.
  ///
  /// An eviction asks the entry what it occupies, and then drops it. It waited for that memory, which nobody used for so
  /// long, for a third of the time of an insert.
  ///
  /// - Parameter evicted: the standing of what has just gone. S3-FIFO nearly always takes the next from the same queue.
  mutating func prepareNext(after evicted: Standing, in table: borrowing EntryTable) -> EntryReference? {
    switch policy.kind {
    case .lru:
      guard table.length > Self.mostPlaces, table.count > 0,
        let position = searchOld(except: nil, in: table)
      else { return nil }
      chosenTime = table.standing(position).time
      return table[position]
    case .s3fifo:
      let next =
        evicted.isOnProbation
        ? Self.next(in: &probation.tags, isOnProbation: true, table)
        : Self.next(in: &main.tags, isOnProbation: false, table)
      return next.flatMap { table[$0] }
    }
  }

  /// The entry at the front of a queue, behind one that has just gone.
  // Static like what it calls: with `self`, all of it would be copied, as a part of it is changed.
  private static func next(
    in queue: inout TagQueue, isOnProbation: Bool, _ table: borrowing EntryTable
  ) -> Int? {
    if let position = front(of: queue, isOnProbation: isOnProbation, table) { return position }
    guard queue.count > 0 else { return nil }
    queue.removeFirst()
    return front(of: queue, isOnProbation: isOnProbation, table)
  }

  private mutating func searchOld(except kept: Int?, in table: borrowing EntryTable) -> Int? {
    guard table.length > Self.mostPlaces else {
      return table.old(from: 0, count: table.length, usedBy: 0, except: kept).position
    }
    let (position, places) = table.old(
      // As long as nobody knows what is old, the oldest of all that are looked at.
      from: hand, count: Self.mostPlaces, usedBy: oldAge > 0 && clock > oldAge ? clock - oldAge : 0,
      except: kept)
    hand = position
    let age = clock - table.standing(position).time
    if age < oldAge || oldAge == 0 {
      // None was as old.
      oldAge = age
    } else {
      let spare = Self.placesPerVictim - places
      let step = (Int(oldAge) / 32 + 1) * spare / Self.placesPerVictim
      // Never 0 by rounding: a small age would stay so, and eviction take whatever it meets.
      oldAge = UInt32(
        max(1, min(Int(oldAge) + (step == 0 ? spare.signum() : step), Int(Standing.timeMask))))
    }
    return position
  }

  // It ends: each round lowers a count of uses, moves an entry off probation, drops a number, or moves the one excepted.
  private mutating func queuedVictim(except kept: Int?, in table: inout EntryTable) -> Int? {
    let isKeptInMain = kept.map { !table.standing($0).isOnProbation } ?? false
    while true {
      let mainCount = main.count - (isKeptInMain ? 1 : 0)
      let isMainFull =
        main.bytes > (main.bytes + probation.bytes) / Self.probationShare * (Self.probationShare - 1)
      if mainCount > 0, isMainFull || probation.count == 0 {
        guard let position = Self.front(of: main.tags, isOnProbation: false, table) else {
          main.tags.removeFirst()
          continue
        }
        var standing = table.standing(position)
        if standing.uses == 0, position != kept { return position }
        if standing.uses > 0 { standing.uses -= 1 }
        main.tags.removeFirst()
        standing.sequence = main.tags.append(table.tag(position))
        table.setStanding(position, standing)
      } else if probation.count > 0 {
        guard let position = Self.front(of: probation.tags, isOnProbation: true, table) else {
          probation.tags.removeFirst()
          continue
        }
        var standing = table.standing(position)
        guard position == kept || standing.uses >= Self.usesToStay else { return position }
        let cost = table[position].map { policy.cost(of: $0) } ?? 0
        probation.tags.removeFirst()
        dequeue(standing, cost: cost)
        enqueue(&standing, tag: table.tag(position), cost: cost, isOnProbation: false)
        table.setStanding(position, standing)
        if position == kept { return queuedVictim(except: kept, in: &table) }
      } else {
        return nil
      }
    }
  }

  /// The entry at the front of a queue; `nil` if it is gone.
  private static func front(of queue: TagQueue, isOnProbation: Bool, _ table: borrowing EntryTable) -> Int? {
    guard let front = queue.front else { return nil }
    return position(front.tag, front.number, isOnProbation, table)
  }

  private static func position(
    _ tag: UInt32, _ number: UInt32, _ isOnProbation: Bool, _ table: borrowing EntryTable
  ) -> Int? {
    for position in table.run(of: tag) {
      let standing = table.standing(position)
      if standing.sequence == number, standing.isOnProbation == isOnProbation { return position }
    }
    return nil
  }

  /// A queue without the numbers of entries that are gone.
  private func renumbered(_ queue: TagQueue, _ isOnProbation: Bool, _ table: inout EntryTable) -> TagQueue {
    var old = queue
    var new = TagQueue()
    // From a number on that none of the old ones has.
    new.begin(behind: old)
    while let (tag, number) = old.front {
      old.removeFirst()
      guard let position = Self.position(tag, number, isOnProbation, table) else { continue }
      var standing = table.standing(position)
      standing.sequence = new.append(tag)
      table.setStanding(position, standing)
    }
    return new
  }

  mutating func removeAll() {
    self = EvictionOrder(policy)
  }
}

extension EvictionPolicy {
  /// What an entry occupies, in bytes, with its share of what the policy keeps.
  func cost(of entry: EntryBlock) -> Int { entry.cost + share }

  /// The same of an entry that a table holds.
  @inline(__always)
  func cost(of entry: EntryReference) -> Int { entry.cost + share }

  @inline(__always)
  private var share: Int { self == .s3fifo ? GhostTable.bytesPerEntry + TagQueue.bytesPerEntry : 0 }
}
