import Synchronization
import SystemPackage

/// A store of bytes under keys, in memory and on disk, with the variants of one resource side by side.
public final class CacheStore: Sendable {
  private struct State {
    var entries: [StoreKey: [StoredEntry]] = [:]
    var nextID: UInt64 = 1
  }

  private let configuration: Configuration
  private let state = Mutex(State())

  /// Opens a store.
  public init(_ configuration: Configuration) throws(StoreError) {
    self.configuration = configuration
  }

  /// What memory alone knows of a key: never any I/O.
  public func residentEntries(for key: StoreKey) -> ResidentLookup {
    state.withLock { ResidentLookup(entries: StoredEntries($0.entries[key] ?? []), isComplete: true) }
  }

  /// Finds the newest entry of every variant of a key, in memory and then on disk.
  public func lookup(_ key: StoreKey) -> StoredEntries {
    state.withLock { StoredEntries($0.entries[key] ?? []) }
  }

  /// Finds the newest entry of every variant of a key, in memory and then on disk.
  public func removalToken(for key: StoreKey) -> RemovalToken { RemovalToken(stripe: 0, epoch: 0) }

  /// Stores an entry.
  @discardableResult
  public func insert(_ entry: NewEntry, unlessRemovedSince token: RemovalToken? = nil) -> InsertOutcome {
    state.withLock { state in
      let id = EntryID(rawValue: state.nextID)
      state.nextID += 1
      state.entries[entry.key, default: []].removeAll { $0.variant == entry.variant }
      state.entries[entry.key, default: []].insert(
        StoredEntry(
          id: id, variant: entry.variant, storedAt: entry.storedAt, metadata: entry.metadata[...],
          body: StoredBody(entry.body[...]), tier: .memory), at: 0)
      return .stored(id)
    }
  }

  /// Begins an entry whose body arrives in pieces.
  public func makeWriter(
    key: StoreKey, variant: VariantID, metadata: [UInt8], storedAt: Int64, expectedLength: Int? = nil,
    tiers: StoreTiers = .all, unlessRemovedSince token: RemovalToken? = nil
  ) -> EntryWriter {
    EntryWriter(
      store: self, key: key, variant: variant, metadata: metadata, storedAt: storedAt,
      expectedLength: expectedLength, tiers: tiers, token: token)
  }

  /// Replaces the metadata of an entry; its body and its id stay.
  @discardableResult
  public func updateMetadata(of id: EntryID, key: StoreKey, metadata: [UInt8], storedAt: Int64) -> Bool {
    state.withLock { state in
      guard let index = state.entries[key]?.firstIndex(where: { $0.id == id }),
        let old = state.entries[key]?[index]
      else { return false }
      state.entries[key]?[index] = StoredEntry(
        id: id, variant: old.variant, storedAt: storedAt, metadata: metadata[...], body: old.body,
        tier: .memory)
      return true
    }
  }

  /// Removes one variant of a key.
  public func remove(_ key: StoreKey, variant: VariantID) {
    state.withLock { $0.entries[key]?.removeAll { $0.variant == variant } }
  }

  /// Removes every variant of a key.
  public func remove(_ key: StoreKey) {
    state.withLock { $0.entries[key] = nil }
  }

  /// Removes everything.
  public func removeAll() {
    state.withLock { $0.entries = [:] }
  }

  /// Removes what was stored at or after a time, in milliseconds since 1970.
  public func removeAll(since time: Int64) {
    state.withLock { state in
      for key in state.entries.keys { state.entries[key]?.removeAll { $0.storedAt >= time } }
    }
  }

  /// A fingerprint of bytes for telling variants apart.
  public func fingerprint(of bytes: [UInt8]) -> VariantID {
    VariantID(rawValue: UInt64(bitPattern: Int64(bytes.hashValue)))
  }

  /// What the store occupies now.
  public var usage: StoreUsage { StoreUsage() }
  /// What the store may occupy.
  public var capacity: StoreCapacity {
    StoreCapacity(memory: configuration.memoryCapacity, disk: configuration.diskCapacity)
  }
  /// Changes what the store may occupy, and trims at once.
  public func setCapacity(memory: Int? = nil, disk: Int? = nil) {}
  /// What the store has done since it was opened.
  public var statistics: StoreStatistics { StoreStatistics() }
  /// Brings everything written so far to the disk itself.
  public func flush() {}
  /// Closes the store: lookups miss from now on, and inserts are refused.
  public func close() {}
}
