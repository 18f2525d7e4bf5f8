// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Synchronization
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Parts of the memory tier", .timeLimit(.minutes(10)))
struct MemoryPartTests {
  private func reference(_ number: Int32) -> EntryReference {
    EntryReference(EntryBlock(id: UInt64(number), revision: UInt64(number)))
  }

  /// An entry as it is read from disk.
  private func record(
    id: UInt64, revision: UInt64? = nil, variant: UInt64, storedAt: Int64, key: [UInt8], metadata: [UInt8],
    body: [UInt8]
  ) throws -> EntryRecord {
    let bytes = [UInt8](repeating: 7, count: RecordHeader.size) + key + metadata + body
    return try #require(
      EntryRecord(capacity: bytes.count + 5, keyStart: RecordHeader.size) { (target) throws(StoreError) in
        target.copyBytes(from: bytes)
        return EntryHead.Fields(
          id: id, revision: revision ?? id, variant: variant, storedAt: storedAt, keyCount: key.count,
          metadataCount: metadata.count, bodyCount: body.count)
      })
  }

  @Test("A table finds every present entry and no removed one, for any tags", arguments: 0..<5)
  func table(kind: Int) throws {
    var random = SplitMix64(seed: UInt64(kind))
    var table = EntryTable()
    var model: [UInt32: Set<UInt64>] = [:]
    func tag() -> UInt32 {
      switch kind {
      case 0: UInt32.random(in: .min ... .max, using: &random)
      case 1: UInt32.random(in: 0..<20, using: &random)
      case 2: UInt32.max - UInt32.random(in: 0..<20, using: &random)
      case 3: .max
      default: [0, .max, 1 << 31].randomElement(using: &random) ?? 0
      }
    }
    func ids(of tag: UInt32) -> Set<UInt64> {
      Set(table.run(of: tag).compactMap { table[$0]?.head.id })
    }
    for number in 0..<3000 as Range<Int32> {
      let new = tag()
      table.insert(reference(number), tag: new, standing: Standing())
      model[new, default: []].insert(UInt64(number))
      if number % 3 != 0, let (old, numbers) = model.randomElement(using: &random), let gone = numbers.first {
        let position = table.run(of: old).first { table[$0]?.head.id == gone }
        table.remove(try #require(position)).entry?.release()
        model[old] = numbers.count > 1 ? numbers.subtracting([gone]) : nil
      }
      if number % 500 == 499 {
        table.compact()
        for (tag, numbers) in model { #expect(ids(of: tag) == numbers) }
        #expect(table.count == model.values.reduce(0) { $0 + $1.count })
      }
      let other = tag()
      #expect(ids(of: other) == model[other] ?? [])
    }
  }

  @Test("A visit in parts finds every entry that stays once, whatever changes meanwhile", arguments: 0..<3)
  func visit(kind: Int) {
    var random = SplitMix64(seed: UInt64(kind))
    var table = EntryTable()
    func tag() -> UInt32 {
      switch kind {
      case 0: .random(in: .min ... .max, using: &random)
      case 1: .random(in: 0..<40, using: &random)
      default: .max - .random(in: 0..<40, using: &random)
      }
    }
    for number in 0..<1000 as Range<Int32> {
      table.insert(reference(number), tag: tag(), standing: Standing())
    }
    var seen: [UInt64] = []
    var gone: Set<UInt64> = []
    var next: UInt32? = 0
    var new: Int32 = 1000
    while let start = next {
      next = table.visit(from: start, placeCount: 50) { seen.append($0.head.id) }
      for _ in 0..<100 {
        table.insert(reference(new), tag: tag(), standing: Standing())
        new += 1
        let position = Int.random(in: 0..<table.length, using: &random)
        guard let entry = table[position] else { continue }
        gone.insert(entry.head.id)
        table.remove(position).entry?.release()
      }
    }
    let old = seen.filter { $0 < 1000 }
    #expect(Set(old).count == old.count)
    #expect(Set(old).union(gone).isSuperset(of: 0..<1000))
  }

  @Test("The entries of emptied shards are released in the order of their addresses", arguments: [1, 7])
  func emptied(shardCount: Int) {
    struct Tracked {
      weak var object: AnyObject?
    }
    var random = SplitMix64(seed: 1)
    var tables = (0..<shardCount).map { _ in [EntryBlock]() }
    for number in 0..<5000 {
      let body = [UInt8](repeating: 1, count: .random(in: 0..<4000, using: &random))
      tables[number % shardCount].append(EntryBlock(id: UInt64(number), revision: 1, body: body))
    }
    let tracked = tables.joined().map { Tracked(object: $0.object) }
    let (first, cost) = (tables[0].first, tables.joined().map(\.cost).reduce(0, +))
    var emptied = EmptiedShards()
    for entries in tables {
      var table = EntryTable()
      for entry in entries {
        table.insert(
          EntryReference(entry), tag: .random(in: .min ... .max, using: &random), standing: Standing())
      }
      emptied.add(table)
    }
    tables = []
    var addresses: [UInt] = []
    var (bytes, windows) = (0, 0)
    emptied.release {
      addresses.append($0.address)
      return $0.cost
    } _: {
      bytes += $0
      windows += 1
    }
    #expect(windows <= Set(addresses.map { $0 >> 18 }).count)
    #expect(bytes == cost && addresses.count == 5000)
    // Up to the size of a window.
    var greatest: UInt = 0
    for address in addresses {
      #expect(address + (1 << 18) > greatest)
      greatest = max(greatest, address)
    }
    #expect(tracked.count { $0.object != nil } == 1 && first?.withHead { $0.id } == 0)
  }

  @Test(
    "An entry lives as long as a table or another owner refers to it", arguments: [10, 100_000],
    [false, true])
  func references(bodyCount: Int, isRecord: Bool) throws {
    struct Tracked {
      weak var object: AnyObject?
    }
    var tracked: [Tracked] = []
    var random = SplitMix64(seed: 1)
    var table = EntryTable()
    var kept: [EntryBlock] = []
    for number in 0..<500 {
      let key = pattern(number, 10)
      let body = pattern(number, bodyCount)
      let entry =
        try isRecord
        ? EntryBlock(
          record(id: UInt64(number), variant: 0, storedAt: 0, key: key, metadata: [], body: body))
        : EntryBlock(id: UInt64(number), revision: UInt64(number), key: key, body: body)
      tracked.append(Tracked(object: entry.object))
      table.insert(
        EntryReference(entry), tag: UInt32.random(in: 0..<1000, using: &random), standing: Standing())
      if number % 3 == 0 { kept.append(entry) }
      if number % 2 == 0, let position = (0..<table.length).first(where: { table[$0] != nil }) {
        let id = table[position]?.head.id ?? 0
        let taken = try #require(table.remove(position).entry).take()
        #expect(taken.withHead { $0.id } == id)
        #expect(try Array(taken.body.readAll()) == pattern(Int(id), bodyCount))
      }
    }
    for position in 0..<table.length { _ = table[position].map { ($0.cost, $0.entry.body.count) } }
    table = EntryTable()
    for entry in kept {
      let id = entry.withHead { Int($0.id) }
      #expect(try Array(entry.body.readAll()) == pattern(id, bodyCount))
    }
    #expect(tracked.count { $0.object != nil } == kept.count)
    kept = []
    #expect(tracked.allSatisfy { $0.object == nil })
  }

  @Test("A queue returns tags and numbers in the order of their addition")
  func queue() throws {
    var queue = TagQueue()
    var model: [(UInt32, UInt32)] = []
    for step in 0..<2000 as Range<UInt32> {
      model.append((step &* 77, queue.append(step &* 77)))
      if step % 3 == 0 {
        let front = try #require(queue.front)
        #expect(front == model.removeFirst())
        queue.removeFirst()
      }
    }
    #expect(queue.count == model.count)
  }

  @Test("Ghosts are remembered up to the limit, and forgotten once they are back")
  func ghosts() {
    var ghosts = GhostTable()
    var random = SplitMix64(seed: 1)
    let tags = (0..<20_000).map { _ in UInt32.random(in: .min ... .max, using: &random) }
    let limit = 1000
    for tag in tags.prefix(10_000) { ghosts.add(tag, room: limit) }
    let late = tags[9100..<10_000].filter { ghosts.remove($0, limit: limit) }
    #expect(late.count > 800, "\(late.count) of 900")
    #expect(late.filter { ghosts.remove($0, limit: limit) }.count < 10)
    #expect(tags[..<8900].filter { ghosts.remove($0, limit: limit) }.count < 30)
    #expect(tags[10_000...].filter { ghosts.remove($0, limit: limit) }.count < 30)
  }

  @Test(
    "An entry keeps all its fields at any size",
    arguments: [
      (1, 1, 0, 3, 4), (1 << 44, 1 << 44, 5, 3, 4), (7, 9, -1, 3, 4),
      ((1 << 44) - 1, (1 << 44) - 1, -1, 0, 0), (0xABC << 32, 0xABC << 32, -7, 1023, 65_535),
      (3, 3, .min, 1, 1), (3, 3, .max, 1, 1), (3, 3, 1 << 43, 1, 1), (3, 3, -(1 << 43), (1 << 10) - 1, 1),
      (3, 3, 0, 1 << 10, 1), (3, 3, 0, 3, 1 << 16), (3, 3, 0, 3, 1 << 20), (.max, 5, 2, 100_000, 5),
    ] as [(id: UInt64, revision: UInt64, storedAt: Int64, keyCount: Int, metadataCount: Int)],
    [0, 10, 4096, 4097, 100_000])
  func fields(
    given: (id: UInt64, revision: UInt64, storedAt: Int64, keyCount: Int, metadataCount: Int), bodyCount: Int
  ) throws {
    let key = pattern(1, given.keyCount)
    let metadata = pattern(2, given.metadataCount)
    let body = pattern(3, bodyCount)
    for variant in [0, .max - 5] as [UInt64] {
      let block = EntryBlock(
        id: given.id, revision: given.revision, variant: variant, storedAt: given.storedAt, key: key,
        metadata: metadata, body: body)
      let record = try record(
        id: given.id, revision: given.revision, variant: variant, storedAt: given.storedAt, key: key,
        metadata: metadata, body: body)
      func check(_ entry: StoredEntry, revision: UInt64, storedAt: Int64, metadata: [UInt8]) throws {
        #expect(entry.id.rawValue == given.id && entry.revision == revision && entry.storedAt == storedAt)
        #expect(entry.variant.rawValue == variant)
        #expect(entry.key == key && entry.metadata == metadata)
        #expect(entry.isResident && entry.bodyCount == bodyCount)
        #expect(try entry.body.count == bodyCount && areEqual(entry.body.readAll(), body[...]))
        #expect(entry.body.residentBytes.map { areEqual($0, body[...]) } == true)
        #expect(entry.approximateCost >= key.count + metadata.count + bodyCount)
        var shown: [UInt8] = []
        #expect(entry.withResidentBody { $0.withUnsafeBytes { shown = Array($0) } })
        #expect(areEqual(shown[...], body[...]))
      }
      func check(_ block: EntryBlock, revision: UInt64, storedAt: Int64, metadata: [UInt8]) throws {
        try check(
          StoredEntry(block, tier: .memory), revision: revision, storedAt: storedAt, metadata: metadata)
        #expect(key.withUnsafeBytes { key in block.withHead { $0.hasKey(key) } })
        #expect(!(key + [1]).withUnsafeBytes { key in block.withHead { $0.hasKey(key) } })
        #expect(key.isEmpty || !key.dropLast().withUnsafeBytes { key in block.withHead { $0.hasKey(key) } })
        let held = EntryReference(block)
        #expect(held.cost == block.cost && held.head.id == given.id && held.head.variant == variant)
        #expect(held.entry.variant.rawValue == variant && held.take().body.count == bodyCount)
      }
      let read = StoredEntry(record)
      try check(read, revision: given.revision, storedAt: given.storedAt, metadata: metadata)
      for block in [block, read.block] {
        try check(block, revision: given.revision, storedAt: given.storedAt, metadata: metadata)
        let newer = ([1, 2] as [UInt8]).withUnsafeBytes {
          block.replacingMetadata($0, storedAt: 77, revision: given.id &+ 1)
        }
        try check(newer, revision: given.id &+ 1, storedAt: 77, metadata: [1, 2])
      }
    }
  }

  @Test("The object of an entry begins with the words of its head")
  func layout() {
    let block = EntryBlock(id: 5, revision: 5, key: [7, 8, 9], body: [1, 2])
    let start = block.object.withUnsafeMutablePointerToHeader { UnsafeRawPointer($0) }
    #expect(EntryHead(start: start).id == 5 && block.withHead { $0.key.baseAddress } == start + 24)
    #expect(UInt(bitPattern: Unmanaged.passUnretained(block.object).toOpaque()) % 16 == 0)
  }

  @Test("Changing a slice that an entry returned does not change the entry", arguments: [100, 5000])
  func slices(bodyCount: Int) throws {
    let body = pattern(3, bodyCount)
    func stored() throws -> StoredBody {
      let store = try CacheStore(.init(memoryCapacity: 1 << 20))
      store.insert(NewEntry(key: key(1), variant: one, metadata: [], body: body, storedAt: 1))
      return try #require(store.lookup(key(1)).first?.body)
    }
    let kept = try stored()
    for isShared in [true, false] {
      var slices = try (0..<8).map { _ in
        try #require((isShared ? kept : try stored()).residentBytes)
      }
      slices[0].append(1)
      slices[1].removeLast()
      let second = slices[2].startIndex + 1
      slices[2].replaceSubrange(second..<second + 1, with: [5, 6])
      slices[3].insert(4, at: slices[3].startIndex)
      slices[4].removeFirst(98)
      slices[5][slices[5].startIndex] = 9
      slices[6].sort()
      slices[7].append(contentsOf: [1, 2])
      #expect(Array(slices[0]) == body + [1] && Array(slices[1]) == Array(body.dropLast()))
      #expect(Array(slices[2]) == Array(body[..<1]) + [5, 6] + Array(body[2...]))
      #expect(Array(slices[3]) == [4] + body && Array(slices[4]) == Array(body[98...]))
      #expect(Array(slices[5]) == [9] + Array(body[1...]) && Array(slices[6]) == body.sorted())
      #expect(Array(slices[7]) == body + [1, 2])
    }
    #expect(try kept.residentBytes == body[...] && kept.read(from: 10, upTo: 20) == body[10..<30])
  }

  /// A body that tells how many of its kind there are.
  private final class Reader: BodyReading {
    static let live = Atomic(0)
    let count = 10_000

    init() { Self.live.add(1, ordering: .relaxed) }
    deinit { Self.live.subtract(1, ordering: .relaxed) }

    func prepare(from offset: Int, atOnce: Bool) -> Bool { true }
    func read(from offset: Int, upTo maximumCount: Int, atOnce: Bool) -> ArraySlice<UInt8>? { [] }
  }

  @Test(
    "An entry is released when refused, replaced, evicted or removed, and with the tier", .serialized,
    arguments: EvictionPolicy.allCases)
  func dropping(policy: EvictionPolicy) throws {
    func live(_ expected: Int, _ location: SourceLocation = #_sourceLocation) {
      #expect(Reader.live.load(ordering: .relaxed) == expected, sourceLocation: location)
    }
    func entry(_ key: StoreKey, id: UInt64, variant: UInt64 = 1, ownerCount: Int = 100) -> EntryReference {
      let none = UnsafeRawBufferPointer(start: nil, count: 0)
      return key.bytes.withUnsafeBytes { key in
        EntryReference(
          EntryBlock(
            id: id, revision: id, variant: variant, storedAt: 0, key: key, metadata: none,
            body: .apart(ApartBody(body: StoredBody(Reader()), ownerCount: ownerCount))))
      }
    }
    do {
      let tier = MemoryTier(
        capacity: 100_000, shardCount: 1, policy: policy, variantsPerKey: 2, hasDisk: false)
      let (one, two) = (StoreKey("one"), StoreKey("two"))
      live(0)
      #expect(tier.place(entry(one, id: 1, ownerCount: 200_000), key: one, hash: 1) == .tooLargeForMemory)
      live(0)
      #expect(tier.place(entry(one, id: 5), key: one, hash: 1) == nil)
      live(1)
      #expect(tier.place(entry(one, id: 4), key: one, hash: 1) == .superseded)
      #expect(
        tier.place(entry(one, id: 6), key: one, hash: 1, objection: { .removedSince }) == .removedSince)
      live(1)
      #expect(tier.place(entry(one, id: 7), key: one, hash: 1) == nil)
      live(1)
      // More variants than there may be.
      for variant in 2...4 as ClosedRange<UInt64> {
        #expect(tier.place(entry(one, id: 6 + variant, variant: variant), key: one, hash: 1) == nil)
      }
      live(2)
      #expect(tier.place(entry(two, id: 20, ownerCount: 99_650), key: two, hash: 2) == nil)
      // All else was evicted.
      live(1)
      let found = one.bytes.withUnsafeBytes { tier.entries(for: $0, hash: 1).entries }
      #expect(found.isEmpty)
      var kept = two.bytes.withUnsafeBytes { Array(tier.entries(for: $0, hash: 2).entries) }
      tier.remove(two, hash: 2)
      #expect(kept.count == 1)
      live(1)
      kept = []
      live(0)
      for number in 0..<20 as Range<UInt64> {
        let key = StoreKey("\(number)")
        #expect(tier.place(entry(key, id: 30 + number), key: key, hash: number << 20) == nil)
      }
      live(20)
      tier.removeAll(since: 0)
      live(0)
      #expect(tier.place(entry(one, id: 60), key: one, hash: 1) == nil)
    }
    live(0)
  }

  @Test(
    "The chosen victim stays next through inserts, unless it is used",
    arguments: EvictionPolicy.allCases)
  func chosen(policy: EvictionPolicy) throws {
    var random = SplitMix64(seed: 7)
    var table = EntryTable()
    var order = EvictionOrder(policy)
    func add(_ number: Int32, tag: UInt32) {
      let standing = order.add(tag: tag, cost: 100, in: &table)
      table.insert(reference(number), tag: tag, standing: standing)
    }
    func victim(of order: EvictionOrder) throws -> Int {
      var copy = order
      return try #require(copy.victim(except: nil, in: &table))
    }
    for number in 0..<1000 as Range<Int32> {
      add(number, tag: .random(in: 1000 ... .max, using: &random))
      // Some have been used: what was is not old.
      if number % 3 == 0,
        let used = (0..<table.length).first(where: { table[$0]?.head.id == UInt64(number / 2) })
      {
        order.use(used, in: &table)
      }
    }
    for round in 0..<200 as Range<Int32> {
      let last = table.standing(try victim(of: order))
      _ = order.prepareNext(after: last, in: table)
      let chosen = try victim(of: order)
      let id = try #require(table[chosen]?.head.id)
      let length = table.length
      // Before all others: they change places.
      add(1000 + round, tag: UInt32(round))
      let moved = try victim(of: order)
      // In a table that has grown they lie elsewhere.
      #expect(table[moved]?.head.id == id || table.length > length)
      guard policy == .lru else { continue }
      order.use(moved, in: &table)
      let other = try #require(order.victim(except: nil, in: &table))
      #expect(other != moved)
    }
  }

  @Test("The next victim is known after each eviction", arguments: EvictionPolicy.allCases)
  func upcoming(policy: EvictionPolicy) throws {
    var random = SplitMix64(seed: 8)
    var table = EntryTable()
    var order = EvictionOrder(policy)
    for number in 0..<1000 as Range<Int32> {
      let tag = UInt32.random(in: .min ... .max, using: &random)
      let standing = order.add(tag: tag, cost: 100, in: &table)
      table.insert(reference(number), tag: tag, standing: standing)
    }
    var position = try #require(order.victim(except: nil, in: &table))
    for _ in 0..<500 {
      let standing = table.standing(position)
      order.remove(position, cost: 100, isEvicted: true, in: &table)
      table.remove(position).entry?.release()
      let upcoming = try #require(order.prepareNext(after: standing, in: table)?.head.id)
      position = try #require(order.victim(except: nil, in: &table))
      #expect(table[position]?.head.id == upcoming)
    }
  }

  @Test(
    "Entry overhead is at most 84 bytes, 197 with a separate body, 29 more under S3-FIFO",
    arguments: [(1024, 69), (1025, 84), (8192, 197)])
  func overhead(bodyCount: Int, limit: Int) throws {
    for policy in EvictionPolicy.allCases {
      let entry = EntryBlock(
        id: 1, revision: 1, variant: 1, storedAt: 1_700_000_000_000, key: pattern(1, 64), metadata: [],
        body: pattern(1, bodyCount))
      #expect(policy.cost(of: entry) - 64 - bodyCount <= (policy == .lru ? limit : limit + 29))
    }
  }
}
