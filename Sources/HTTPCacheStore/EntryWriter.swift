import Synchronization

/// An entry whose body arrives in pieces; nothing of it is visible before ``commit()``.
public final class EntryWriter: Sendable {
  private let store: CacheStore
  private let pending: Mutex<NewEntry>
  private let token: RemovalToken?

  init(
    store: CacheStore, key: StoreKey, variant: VariantID, metadata: [UInt8], storedAt: Int64,
    expectedLength: Int?,
    tiers: StoreTiers, token: RemovalToken?
  ) {
    self.store = store
    self.token = token
    pending = Mutex(
      NewEntry(key: key, variant: variant, metadata: metadata, body: [], storedAt: storedAt, tiers: tiers))
  }

  /// Adds bytes to the body. `false` when the entry can no longer be stored, and the rest need not be sent.
  @discardableResult
  public func append(_ bytes: ArraySlice<UInt8>) -> Bool {
    pending.withLock { $0.body += bytes }
    return true
  }

  /// Adds bytes to the body. `false` when the entry can no longer be stored, and the rest need not be sent.
  @discardableResult
  public func append(_ bytes: [UInt8]) -> Bool { append(bytes[...]) }

  /// Makes the entry visible, whole.
  @discardableResult
  public func commit() -> InsertOutcome {
    store.insert(pending.withLock { $0 }, unlessRemovedSince: token)
  }

  /// Drops what was written.
  public func cancel() {}
}
