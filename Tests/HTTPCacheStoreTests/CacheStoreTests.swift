import HTTPCacheStore
import Testing

@Suite("The store")
struct CacheStoreTests {
  @Test("finds what was inserted")
  func insertThenLookup() throws {
    let store = try CacheStore(.init(memoryCapacity: 1 << 20))
    let key = StoreKey("https://example.com/")
    store.insert(
      NewEntry(key: key, variant: VariantID(rawValue: 1), metadata: [1, 2], body: [3, 4, 5], storedAt: 7))
    let entry = try #require(store.lookup(key).first)
    #expect(entry.metadata == [1, 2])
    #expect(entry.body.residentBytes == [3, 4, 5])
  }
}
