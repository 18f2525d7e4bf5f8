// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import SystemPackage

/// Our store, and the cache over it.
final class StoreCache: BenchCache {
  private let data: Dataset
  private let store: CacheStore
  private let cache: HTTPCache
  private let engine = CacheEngine(.init(kind: .private))
  private let tiers: StoreTiers

  /// - Parameters:
  ///   - memory: the capacity of the memory tier; with 0 every lookup reads from disk.
  ///   - directory: where the disk tier is, if there is one.
  init(_ data: Dataset, memory: Int, disk: Int = 0, directory: String? = nil) throws {
    self.data = data
    store = try CacheStore(
      CacheStore.Configuration(
        memoryCapacity: memory, diskCapacity: disk, directory: directory.map { FilePath($0) }))
    cache = HTTPCache(store: store, configuration: .init(kind: .private))
    tiers = directory == nil ? .memory : .all
  }

  func close() { store.close() }
  func warm(_ key: Int) { data.touch(key) }

  func operation(_ action: Action) -> Operation? {
    let (data, store, cache) = (data, store, cache)
    switch action {
    case .get: return { store.lookup(StoreKey(data.requests[$0])).first?.bodyCount == data.valueSize }
    case .getByKey: return { store.lookup(data.keys[$0]).first?.bodyCount == data.valueSize }
    case .decide:
      return { cache.storedResponse(for: data.requests[$0])?.body.length == data.valueSize }
    case .miss:
      return { !store.lookup(StoreKey(data.absentRequests[$0 % data.absentRequests.count])).isEmpty }
    case .store, .storeAgain, .diskStore: return { self.insert($0, StoreKey(data.requests[$0])) }
    case .judgeAndStore: return { self.judgeAndInsert($0) }
    case .mixed:
      return {
        let key = StoreKey(data.requests[$0])
        if store.lookup(key).first?.bodyCount == data.valueSize { return true }
        _ = self.insert($0, key)
        return false
      }
    case .diskGet:
      return {
        guard let entry = store.lookup(StoreKey(data.requests[$0])).first, entry.tier == .disk,
          let body = try? entry.body.readAll()
        else { return false }
        return body.count == data.valueSize
      }
    default: return nil
    }
  }

  var overhead: [Metric: Double] {
    let usage = store.usage
    guard usage.memoryEntries > 0 else { return [:] }
    let perEntry = Double(usage.memoryBytes) / Double(usage.memoryEntries)
    return [
      .bytesBeyondKeyAndBody: perEntry - Double(Keys.bytes + data.valueSize),
      .bytesOfHead: Double(data.head.count),
    ]
  }

  private func judgeAndInsert(_ number: Int) -> Bool {
    let request = data.requests[number]
    guard let stored = Dataset.judge(request, data.response, engine, now: data.now) else { return false }
    return insert(
      number, StoreKey(request), store.fingerprint(of: stored.selecting.variantKey), stored.encoded())
  }

  private func insert(
    _ number: Int, _ key: StoreKey, _ variant: VariantID = VariantID(rawValue: 1), _ head: [UInt8]? = nil
  ) -> Bool {
    let entry = NewEntry(
      key: key, variant: variant, metadata: head ?? data.head, body: data.bodies[number],
      storedAt: data.now.milliseconds, tiers: tiers)
    return store.insert(entry).id != nil
  }
}
