import SystemPackage
import Testing

@testable import HTTPCacheStore

@Suite("The capacity of a disk")
struct CapacityTests {
  let scratch = ScratchDirectory()

  @Test("set far below the first one still holds many entries")
  func muchSmaller() throws {
    let store = try CacheStore(scratch.configuration(disk: 256 << 20))
    store.setCapacity(disk: 4 << 20)
    for number in 0..<500 { store.insert(entry(key(number), number: number, size: 1000)) }
    #expect(store.usage.diskEntries == 500)
    let large = store.insert(entry(key(900), number: 900, size: 1 << 20))
    #expect(large.id != nil)
    for number in 0..<20 { store.insert(entry(key(number), number: number, size: 700_000)) }
    #expect(store.usage.diskBytes <= 4 << 20 && store.usage.diskEntries > 2)
    #expect(try scratch.totalBytes <= 4 << 20)
  }

  @Test("lowered below a body in the making evicts all the same, and is shown once it is kept")
  func loweredBelowReservation() throws {
    let store = try CacheStore(scratch.configuration(disk: 16 << 20))
    for number in 0..<1000 { store.insert(entry(key(number), number: number, size: 4000)) }
    let writer = store.makeWriter(key: key(2000), variant: one, metadata: [], storedAt: 0)
    #expect(writer.append(pattern(1, 3 << 20)))
    store.setCapacity(disk: 1 << 20)
    #expect(store.usage.diskBytes <= store.capacity.disk)
    writer.cancel()
    #expect(store.capacity.disk == 1 << 20 && store.usage.diskBytes <= 1 << 20)
  }

  @Test("is not emptied for a body that can never fit")
  func tooLargeForDisk() throws {
    let store = try CacheStore(scratch.configuration(memory: 64 << 20, disk: 2 << 20))
    store.insert(entry(key(1), number: 1, tiers: .disk))
    store.insert(entry(key(2), number: 2, size: 4 << 20))
    #expect(store.lookup(key(1)).count == 1)
    let writer = store.makeWriter(
      key: key(3), variant: one, metadata: [], storedAt: 0, expectedLength: 4 << 20, tiers: .disk)
    #expect(!writer.append(pattern(3, 1 << 20)))
    #expect(writer.commit() == .refused(.tooLarge))
    #expect(store.lookup(key(1)).count == 1)
  }
}
