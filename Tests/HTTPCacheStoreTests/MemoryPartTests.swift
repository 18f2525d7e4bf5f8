import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("The parts of memory")
struct MemoryPartTests {
  @Test("a table finds what was added and not removed, however the tags lie", arguments: 0..<5)
  func table(kind: Int) {
    var random = SeededGenerator(seed: UInt64(kind))
    var table = EntryTable()
    var model: [UInt32: Set<Int32>] = [:]
    func tag() -> UInt32 {
      switch kind {
      case 0: UInt32.random(in: .min ... .max, using: &random)
      case 1: UInt32.random(in: 0..<20, using: &random)
      case 2: UInt32.max - UInt32.random(in: 0..<20, using: &random)
      case 3: .max
      default: [0, .max, 1 << 31].randomElement(using: &random) ?? 0
      }
    }
    for slot in 0..<3000 as Range<Int32> {
      let new = tag()
      table.insert(new, slot: slot)
      model[new, default: []].insert(slot)
      if slot % 3 != 0, let (old, slots) = model.randomElement(using: &random), let gone = slots.first {
        table.remove(old, slot: gone)
        model[old] = slots.count > 1 ? slots.subtracting([gone]) : nil
      }
      if slot % 500 == 499 {
        table.compact { $0 }
        for (tag, slots) in model { #expect(Set(table.run(of: tag).map { table[$0] }) == slots) }
      }
      let other = tag()
      #expect(Set(table.run(of: other).map { table[$0] }) == model[other] ?? [])
    }
  }

  @Test("ghosts are remembered while they are among the last so many, and not when they are back")
  func ghosts() {
    var ghosts = GhostTable()
    var random = SeededGenerator(seed: 1)
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
    "an entry keeps all its fields, whatever their size",
    arguments: [
      (1, 1, 0, 3, 4), (1 << 48, 1 << 48, 5, 3, 4), (7, 9, -1, 3, 4),
      ((1 << 48) - 1, (1 << 48) - 1, -1, 0, 0),
      (3, 3, .min, 1, 1), (3, 3, .max, 1, 1), (3, 3, 1 << 43, 1, 1), (3, 3, -(1 << 43), (1 << 15) - 1, 1),
      (3, 3, 0, 1 << 15, 1), (3, 3, 0, 3, (1 << 20) - 1), (3, 3, 0, 3, 1 << 20), (.max, 5, 2, 100_000, 5),
    ] as [(id: UInt64, revision: UInt64, storedAt: Int64, keyCount: Int, metadataCount: Int)],
    [0, 10, 100_000])
  func fields(
    given: (id: UInt64, revision: UInt64, storedAt: Int64, keyCount: Int, metadataCount: Int), bodyCount: Int
  ) throws {
    let other = UInt64.max - 5
    let key = pattern(1, given.keyCount)
    let metadata = pattern(2, given.metadataCount)
    let body = pattern(3, bodyCount)
    let entry = PackedEntry(
      id: given.id, revision: given.revision, variant: other, storedAt: given.storedAt, key: key,
      metadata: metadata, body: body)
    func check(_ entry: PackedEntry, revision: UInt64, storedAt: Int64, metadata: [UInt8]) throws {
      #expect(entry.id == given.id && entry.revision == revision && entry.storedAt == storedAt)
      #expect(entry.variant.rawValue == other)
      #expect(entry.block.key == key[...] && entry.metadata == metadata[...])
      #expect(entry.bodyCount == bodyCount)
      #expect(try entry.body.readAll() == body[...])
      #expect(key.withUnsafeBytes { entry.hasKey($0) })
      #expect(!(key + [1]).withUnsafeBytes { entry.hasKey($0) })
      #expect(key.isEmpty || !key.dropLast().withUnsafeBytes { entry.hasKey($0) })
      #expect(entry.cost >= key.count + metadata.count + bodyCount)
    }
    try check(entry, revision: given.revision, storedAt: given.storedAt, metadata: metadata)
    let newer = entry.replacingMetadata([1, 2], storedAt: 77, revision: given.id &+ 1)
    try check(newer, revision: given.id &+ 1, storedAt: 77, metadata: [1, 2])
  }

  @Test(
    "an entry in one block costs at most 104 bytes beside key, metadata and body, one with its body apart 248",
    arguments: [(512, 104), (1024, 248)])
  func overhead(bodyCount: Int, limit: Int) throws {
    for policy in EvictionPolicy.allCases {
      let entry = PackedEntry(
        id: 1, revision: 1, variant: 1, storedAt: 1_700_000_000_000, key: pattern(1, 64), metadata: [],
        body: pattern(1, bodyCount))
      #expect(policy.cost(of: entry) - 64 - bodyCount <= (policy == .lru ? limit : limit + 13))
    }
  }
}
