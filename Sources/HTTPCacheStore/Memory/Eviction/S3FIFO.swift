// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The order of ``EvictionPolicy/s3fifo``.
///
/// It is two queues. New entries are on probation in the small queue. Entries that are used there, or requested again
/// soon after they left it, go to the main queue, with no uses. There, each use gives an entry another round.
struct S3FIFO {
  /// The bytes of the policy's data for each entry.
  static let bytesPerEntry = GhostTable.bytesPerEntry + TagQueue.bytesPerEntry
  /// The divisor of a shard's bytes that gives the share for probation.
  private static let probationShare = 10
  /// The uses on probation that an entry needs to stay, as published. With 1, a Zipf trace has half a point more hits.
  /// But where a key is often used twice in a row and never again, as in traces of databases, such keys fill the main queue.
  private static let usesToStay: UInt32 = 2

  private var main = Queue(isOnProbation: false)
  private var probation = Queue(isOnProbation: true)
  private var ghosts = GhostTable()

  private var count: Int { main.count + probation.count }

  @inline(__always)
  static func use(_ position: Int, in table: inout EntryTable) {
    var standing = table.standing(position)
    guard standing.uses < Standing.maximumUses else { return }
    standing.uses += 1
    table.setStanding(position, standing)
  }

  @inline(__always)
  func prepare(_ tag: UInt32) { ghosts.prefetch(tag) }

  mutating func add(tag: UInt32, cost: Int) -> Standing {
    var standing = Standing()
    if ghosts.remove(tag, limit: count) {
      main.add(&standing, tag: tag, cost: cost)
    } else {
      probation.add(&standing, tag: tag, cost: cost)
    }
    return standing
  }

  mutating func remove(_ position: Int, cost: Int, isEvicted: Bool, in table: inout EntryTable) {
    let standing = table.standing(position)
    if standing.isOnProbation {
      if isEvicted { ghosts.add(table.tag(position), room: count) }
      probation.remove(standing, cost: cost)
    } else {
      main.remove(standing, cost: cost)
    }
    main.compactIfSparse(&table)
    probation.compactIfSparse(&table)
  }

  mutating func replace(_ position: Int, cost: Int, by newCost: Int, in table: borrowing EntryTable) {
    if table.standing(position).isOnProbation {
      probation.bytes += newCost - cost
    } else {
      main.bytes += newCost - cost
    }
  }

  // It terminates: each round lowers a count of uses, moves an entry off probation, drops a number, or moves the
  // excepted entry.
  mutating func victim(except kept: Int?, in table: inout EntryTable) -> Int? {
    var isKeptInMain = kept.map { !table.standing($0).isOnProbation } ?? false
    while true {
      let isMainFull =
        main.bytes > (main.bytes + probation.bytes) / Self.probationShare * (Self.probationShare - 1)
      if main.count > (isKeptInMain ? 1 : 0), isMainFull || probation.count == 0 {
        guard let position = main.front(in: table) else {
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
        guard let position = probation.front(in: table) else {
          probation.tags.removeFirst()
          continue
        }
        var standing = table.standing(position)
        guard position == kept || standing.uses >= Self.usesToStay else { return position }
        let cost = table[position].map { EvictionPolicy.s3fifo.cost(of: $0) } ?? 0
        probation.remove(standing, cost: cost)
        // As published. An entry that kept its uses would stay for two rounds more, and web07 at 2 % would miss 51.7 %
        // instead of 51.2 %.
        standing.uses = 0
        main.add(&standing, tag: table.tag(position), cost: cost)
        table.setStanding(position, standing)
        if position == kept { isKeptInMain = true }
      } else {
        return nil
      }
    }
  }

  func prepareNext(after evicted: Standing, in table: borrowing EntryTable) -> EntryReference? {
    let next = evicted.isOnProbation ? probation.next(in: table) : main.next(in: table)
    guard let next else { return nil }
    if evicted.isOnProbation { ghosts.prefetch(table.tag(next)) }
    return table[next]
  }

  /// One of the two queues, with the number and the bytes of its entries.
  private struct Queue {
    let isOnProbation: Bool
    var tags = TagQueue()
    var count = 0
    var bytes = 0

    init(isOnProbation: Bool) { self.isOnProbation = isOnProbation }

    mutating func add(_ standing: inout Standing, tag: UInt32, cost: Int) {
      standing.isOnProbation = isOnProbation
      standing.sequence = tags.append(tag)
      count += 1
      bytes += cost
    }

    /// Removes an entry. Its number stays in the queue unless it is at the front.
    mutating func remove(_ standing: Standing, cost: Int) {
      count -= 1
      bytes -= cost
      if let front = tags.front, front.number == standing.sequence { tags.removeFirst() }
    }

    /// Returns the entry at the front; `nil` if it is gone.
    @inline(__always)
    func front(in table: borrowing EntryTable) -> Int? {
      guard let front = tags.front else { return nil }
      return position(front.tag, front.number, table)
    }

    /// Returns the entry at the front. Prefetches the place of one that comes soon: an eviction that waited for the place
    /// of the next took a fifth longer, with a million entries.
    func next(in table: borrowing EntryTable) -> Int? {
      if let tag = tags.tag(1) { table.prefetch(tag) }
      return front(in: table)
    }

    @inline(__always)
    private func position(_ tag: UInt32, _ number: UInt32, _ table: borrowing EntryTable) -> Int? {
      for position in table.run(of: tag) {
        let standing = table.standing(position)
        if standing.sequence == number, standing.isOnProbation == isOnProbation { return position }
      }
      return nil
    }

    /// Drops the numbers of removed entries, if they are most: after many removals without evictions.
    mutating func compactIfSparse(_ table: inout EntryTable) {
      if tags.count > 2 * count + 64 { compact(&table) }
    }

    private mutating func compact(_ table: inout EntryTable) {
      var new = TagQueue()
      // Begin with a number that none of the old entries has.
      new.begin(behind: tags)
      while let (tag, number) = tags.front {
        tags.removeFirst()
        guard let position = position(tag, number, table) else { continue }
        var standing = table.standing(position)
        standing.sequence = new.append(tag)
        table.setStanding(position, standing)
      }
      tags = new
    }
  }
}

extension Standing {
  static let sequenceMask: UInt32 = 1 << 28 - 1
  /// S3-FIFO: uses beyond this many do not count.
  fileprivate static let maximumUses: UInt32 = 3

  /// S3-FIFO: the number of the entry in its queue.
  fileprivate var sequence: UInt32 {
    get { self[0, Self.sequenceMask] }
    set { self[0, Self.sequenceMask] = newValue }
  }

  /// S3-FIFO: number of uses, up to 3.
  fileprivate var uses: UInt32 {
    get { self[28, Self.maximumUses] }
    set { self[28, Self.maximumUses] = newValue }
  }

  /// S3-FIFO: whether the entry is in the small queue.
  fileprivate var isOnProbation: Bool {
    get { self[30, 1] != 0 }
    set { self[30, 1] = newValue ? 1 : 0 }
  }
}
