import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import SystemPackage

/// Our store, and the cache over it.
final class StoreCache: BenchCache {
  private let data: Dataset
  private let store: CacheStore
  private let cache: HTTPCache
  private let engine: CacheEngine
  private let tiers: StoreTiers

  /// - Parameters:
  ///   - memory: the capacity of the memory tier; 0 makes every lookup read from disk.
  ///   - directory: where the disk tier is, if there is one.
  init(_ data: Dataset, memory: Int, disk: Int = 0, directory: String? = nil) throws {
    self.data = data
    store = try CacheStore(
      CacheStore.Configuration(
        memoryCapacity: memory, diskCapacity: disk, directory: directory.map { FilePath($0) }))
    cache = HTTPCache(store: store, configuration: .init(kind: .private))
    engine = CacheEngine(.init(kind: .private))
    tiers = directory == nil ? .memory : .all
  }

  func close() {
    store.close()
  }

  func warm(_ key: Int) { data.touch(key) }

  func operation(_ action: Action) -> (@Sendable (Int) -> Bool)? {
    let (data, store, cache) = (data, store, cache)
    switch action {
    case .get: return { Self.hasBody(store.lookup(Self.key(data.requests[$0])), data) }
    case .getByKey: return { Self.hasBody(store.lookup(data.storeKeys[$0]), data) }
    case .decide:
      return { cache.storedResponse(for: data.requests[$0])?.body.length == data.valueSize }
    case .miss:
      return { !store.lookup(Self.key(data.absentRequests[$0 % data.absentRequests.count])).isEmpty }
    case .store, .storeAgain, .diskStore: return { self.insert($0, Self.key(data.requests[$0])) }
    case .judgeAndStore: return { self.judgeAndInsert($0) }
    case .mixed:
      return {
        let key = Self.key(data.requests[$0])
        if Self.hasBody(store.lookup(key), data) { return true }
        _ = self.insert($0, key)
        return false
      }
    case .getAndRead, .churn, .judge, .diskMixed: return nil
    case .diskGet:
      return {
        guard let entry = store.lookup(Self.key(data.requests[$0])).first, entry.tier == .disk,
          let body = try? entry.body.readAll()
        else { return false }
        return body.count == data.valueSize
      }
    }
  }

  var overhead: EntryOverhead? {
    let usage = store.usage
    guard usage.memoryEntries > 0 else { return nil }
    let perEntry = Double(usage.memoryBytes) / Double(usage.memoryEntries)
    return EntryOverhead(
      bytesBeyondKeyAndBody: perEntry - Double(data.keySize + data.valueSize),
      bytesOfHead: Double(data.encodedHead.count))
  }

  private static func key(_ request: HTTPRequest) -> StoreKey {
    StoreKey(CacheKey(request)?.bytes ?? [])
  }

  private static func hasBody(_ entries: StoredEntries, _ data: Dataset) -> Bool {
    entries.first?.bodyCount == data.valueSize
  }

  private func insert(_ number: Int, _ key: StoreKey) -> Bool {
    let entry = NewEntry(
      key: key, variant: VariantID(rawValue: 1), metadata: data.encodedHead, body: data.bodies[number],
      storedAt: data.now.milliseconds, tiers: tiers)
    return store.insert(entry).id != nil
  }

  private func judgeAndInsert(_ number: Int) -> Bool {
    let request = data.requests[number]
    guard let stored = Dataset.judge(request, data.head, engine, now: data.now) else { return false }
    let entry = NewEntry(
      key: Self.key(request), variant: store.fingerprint(of: stored.selecting.variantKey),
      metadata: stored.encoded(), body: data.bodies[number], storedAt: data.now.milliseconds, tiers: tiers)
    return store.insert(entry).id != nil
  }
}
