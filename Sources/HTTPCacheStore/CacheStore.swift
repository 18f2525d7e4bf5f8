// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import SystemPackage

/// A store of bytes under keys, in memory and on disk, with the variants of one resource side by side.
///
/// ```swift
/// let store = try CacheStore(.init(memoryCapacity: 64 << 20, diskCapacity: 1 << 30, directory: "/var/cache/app"))
/// store.insert(NewEntry(key: key, variant: variant, metadata: head, body: body, storedAt: now))
/// for entry in store.lookup(key) { … }
/// ```
///
/// The store knows sizes, recency and checksums; it does not interpret the bytes. It has no clock. It has one thread of
/// its own, which writes entries to the disk in the background. All other work happens in the call that needs it. You
/// may call everything from any thread. Calls that read from the disk, or remove from it, block the calling thread.
///
/// Entries on disk are available again when the directory is opened again. If the process is killed, the inserts of the
/// last moment are lost. If the power fails, so are those that the system had not written yet. A removal is never lost,
/// unless ``Configuration/sync`` allows it.
///
/// # For its next maintainer
///
/// **Memory** is a power-of-two number of shards. The hash of a key chooses the shard, and the place in the shard's
/// table. The hash only finds candidates; the whole key decides. A hit takes one lock, one probe, one comparison, a
/// note of the time in the place where the entry was found, and a reference to the entry's one allocation: never a
/// copy. So it waits for memory twice: for the place and for the entry. Evicted entries are freed after the lock is
/// released. From the lock inwards: `MemoryShards`, `MemoryShardState`, and inside it `EntryTable` and `EvictionOrder`.
/// An entry is an `EntryBlock`.
///
/// **Disk** is a log (`Disk/Format.md`). Readers take a lock only for a lookup in the index; the log's own lock orders
/// writers. Appended records are first in a buffer, where readers find them; a queue writes them soon after
/// (`Flusher`). A thread that has the lock of a shard never touches the disk and never takes one of its locks.
///
/// An event loop must not wait for the disk. Its lookup (`lookup(_:atOnce:)`) reads only what the page cache of the system
/// has (`preadv2` with `RWF_NOWAIT`). It verifies, counts and promotes as any other. If bytes are not in the page cache, or
/// are damaged, the lookup changes nothing. The caller then repeats it on a thread that may block, and that one counts the
/// damage and drops the entry under the log's lock.
///
/// **Capacity** is reserved before bytes are added (`ByteBudget`, `DiskSpace`). So neither tier exceeds its capacity at
/// any moment, as seen from any thread.
///
/// **Two tiers without a lock over both.** Two sets of counters, striped by key hash, take the place of such a lock.
///
/// - `removals` says whether a key was removed since a moment. A removal *first* advances its counter and *then*,
///   under each tier's lock, removes. An insert that began before a removal compares its token under the same locks,
///   immediately before it publishes. If the insert came to the lock first, the removal is still to come and finds the
///   published entry. If the insert came second, the lock made the advanced counter visible, and the insert is refused.
///   There is no third order.
/// - `changes` says whether the disk's entries of a key changed since a moment. It is advanced *after* the disk has
///   changed and *before* memory does. A copy from disk to memory takes the moment before its lookup in the index, and
///   compares it under the shard's lock. If the index still gave the old entry, the moment is older than the change.
///   Then there are two cases. The copy reaches memory before the change does, and the change then replaces or removes
///   it. Or the moment is no longer current, and the copy is dropped. The same counters guard the mark that memory
///   holds all variants of a key. For this order, disk goes before memory in every insert, update and removal.
///
/// Two inserts of the same key and variant may reach the two tiers in different order; ids decide in both.
///
/// **Conditions** of an insert on the entry in its place are evaluated before, and outside of, the locks of the tiers:
/// the answer may need a read from disk. The insert takes a lock of the key's own, `decisions`, before the question. It
/// releases the lock once the entry is visible in both tiers. Inserts without a condition do not take it. It comes
/// before every other lock of the store.
///
/// **Marks** make many entries outdated at once without a search for them (`Invalidations`). They are numbers of the
/// sequence that ids come from, and are compared with ids. An insert takes its id first and then looks for marks, under
/// each tier's lock. A mark with a lower number is already there to be found. A mark with a higher number makes the
/// entry outdated whenever it is published. On disk, every segment begins with all marks that are needed
/// (`Disk/Format.md`), so that marks outlive the segments they were made in. Now and then a pass over all entries removes
/// what marks outdate, and drops these marks.
///
/// **Sweeps** search for entries (`CacheStore+Sweeping`): removed entries can be counted, and each entry can be
/// updated. Varnish instead keeps a standing rule that every later lookup evaluates. Such a rule would take effect at
/// once. But every hit would have to compare it, it would have to be kept on disk, and its number of entries would stay
/// unknown. Fences keep out the inserts in flight during a sweep; `Invalidations` has them, too, and they are checked in the same
/// places as marks. They need not be on disk: nothing in flight outlives the process.
public final class CacheStore: Sendable {
  package let configuration: Configuration
  let hasher: KeyHasher
  let memory: MemoryTier
  let disk: DiskTier?
  /// Whether lookups and changes may block on a disk.
  package var hasDisk: Bool { disk != nil }
  /// The directory of the disk; `nil` without one.
  package var directory: FilePath? { disk == nil ? nil : configuration.directory?.absolute }
  /// Whether a removal is on the disk itself when it returns.
  package var syncsRemovals: Bool { configuration.sync != .never }
  /// The lowest id and revision that an insert or update can have from now on.
  package var upcomingNumber: UInt64 { (disk?.sequence ?? memorySequence).upcoming }
  /// The lowest id and revision of the inserts and updates of this store: what an earlier process wrote has lower ones.
  package let firstNumber: UInt64
  let removals = StripedCounters()
  let changes: StripedCounters
  let invalidations: Invalidations
  /// Locked during a pass that settles marks.
  let settling = Mutex<Void>(())
  let isSettlingClaimed = Atomic<Bool>(false)
  /// `nil` if everything is written to disk.
  let doorkeeper: Doorkeeper?
  /// Why the store discarded the unreadable contents of the directory, if it did; see ``Configuration/whenUnreadable``.
  public let discarded: StoreError?
  /// Why the disk could not be opened, if the caller then opened this store in memory instead.
  package let unavailable: (any Error)?
  private let memorySequence = SequenceNumbers(after: 0)
  private let isClosed = Atomic<Bool>(false)
  private let isDiskOff = Atomic<Bool>(false)
  private let hasLeftDirectory = Atomic<Bool>(false)
  let counters = StoreCounters()
  /// Serialises callers that read an entry before they decide whether to replace it, or how to change its metadata.
  let decisions = KeyLocks()

  /// Opens a store, and creates its directory if it is missing. Blocks on the disk.
  ///
  /// - Parameter configuration: the capacities, the directory and the policies.
  /// - Throws: ``StoreError`` with one of these codes:
  ///   - `invalidConfiguration`: a value is out of range;
  ///   - `directoryInUse`: another store has the directory open;
  ///   - `notACache`: the directory holds other files;
  ///   - `unknownFormat`, `unreadableDirectory`: a later version wrote the cache in it, or its file `format` is
  ///     damaged, and ``Configuration/whenUnreadable`` does not discard it;
  ///   - `inputOutput`: a system call failed.
  /// - Complexity: O(entries on disk): a summary of each file of the log is read, and after a crash the headers of the
  ///   records in the last.
  public convenience init(_ configuration: Configuration) throws(StoreError) {
    try self.init(configuration, files: POSIXFileSystem())
  }

  /// Opens a store in memory. This cannot fail.
  ///
  /// - Parameters:
  ///   - capacity: maximum bytes; a negative value counts as 0.
  ///   - error: why the disk that the caller wanted could not be opened; `nil` if it wanted none.
  package static func inMemory(capacity: Int, insteadOfDisk error: (any Error)? = nil) -> CacheStore {
    do {
      return try CacheStore(
        Configuration(memoryCapacity: max(0, capacity)), files: POSIXFileSystem(), unavailable: error)
    } catch {
      preconditionFailure("a store without a directory cannot fail: \(error)")
    }
  }

  /// - Parameters:
  ///   - hashMask: the bits that the store keeps of a key's hash; tests force collisions with it.
  ///   - unavailable: see ``unavailable``.
  init(
    _ configuration: Configuration, files: any FileSystem, hashMask: UInt64 = .max,
    unavailable: (any Error)? = nil
  ) throws(StoreError) {
    try configuration.validate()
    self.unavailable = unavailable
    self.configuration = configuration
    let changes = StripedCounters()
    self.changes = changes
    if let directory = configuration.directory?.absolute {
      let opening = DiskOpening(
        directory: directory, files: files, hashMask: hashMask,
        progress: configuration.openingProgress)
      let opened = try opening.open(
        startEmpty: configuration.startEmpty, whenUnreadable: configuration.whenUnreadable ?? .fail)
      discarded = opened.discarded
      hasher = opened.hasher
      disk = DiskTier(
        directory: directory, files: files, capacity: configuration.diskCapacity,
        options: configuration.diskOptions, changes: changes, opened: opened)
      invalidations = opened.invalidations
    } else {
      hasher = KeyHasher(seed: .random(in: .min ... .max), mask: hashMask)
      disk = nil
      invalidations = Invalidations(hasher: hasher)
      discarded = nil
    }
    firstNumber = (disk?.sequence ?? memorySequence).upcoming
    doorkeeper =
      configuration.diskAdmission == .secondTime && disk != nil
      ? Doorkeeper(capacity: configuration.diskCapacity) : nil
    memory = MemoryTier(
      capacity: configuration.memoryCapacity, shardCount: configuration.shardCount,
      policy: configuration.eviction, variantsPerKey: configuration.variantsPerKey, hasDisk: disk != nil)
  }

  deinit {
    close()
  }

  /// Tells a cache of changes in the state of the disk, as long as the cache exists.
  package func observeDisk(_ cache: any DiskObserver) { disk?.log.events.add(cache) }

  /// Makes the number of a variant from bytes that identify it, such as the request fields that select it.
  ///
  /// The same bytes give the same number in this store, and in every store that opens its directory.
  ///
  /// - Complexity: O(bytes).
  public func fingerprint(of bytes: [UInt8]) -> VariantID {
    VariantID(rawValue: hasher.checksum(bytes))
  }

  // MARK: Finding

  /// A number that stands for a key in tables in memory; two keys hardly ever have the same.
  package func number(of key: StoreKey) -> UInt64 { hasher.hash(key) }

  /// Returns the entries of a key in memory, newest first. The call counts neither as a use nor as a lookup.
  ///
  /// - Complexity: O(1) on average, plus the number of variants.
  package func peek(_ key: StoreKey) -> [StoredEntry] {
    memory.peek(key, hash: hasher.hash(key))
  }

  // MARK: Adding

  /// Returns the present moment in the history of a key's removals.
  ///
  /// Take it before you fetch what you will insert. Then the insert does not undo a removal that happened during the
  /// fetch.
  ///
  /// - Complexity: O(bytes of the key).
  public func removalToken(for key: StoreKey) -> RemovalToken {
    // Before the number.
    let epoch = invalidations.epoch
    return RemovalToken(
      moment: removals.moment(for: hasher.hash(key)), sequence: (disk?.sequence ?? memorySequence).upcoming,
      epoch: epoch)
  }

  /// Returns a token for an entry that takes the place of one under another key: its scopes count since the other token
  /// was taken, and removals of its own key since now.
  package func removalToken(for key: StoreKey, since token: RemovalToken) -> RemovalToken {
    RemovalToken(
      moment: removals.moment(for: hasher.hash(key)), sequence: token.sequence, epoch: token.epoch)
  }

  /// Whether a key may have been removed or swept, or one of these scopes marked or swept, since a token was taken. In
  /// doubt the result is `true`.
  package func mayBeRemoved(
    _ key: StoreKey, in scopes: [StoreScope] = [], since token: RemovalToken
  ) -> Bool {
    !removals.isCurrent(token.moment, for: hasher.hash(key))
      || invalidations.keepsOut(key, in: scopes, since: token.sequence)
  }

  /// Whether one of these scopes may have been marked or swept since a token was taken.
  package func mayBeMarked(_ scopes: [StoreScope], since token: RemovalToken) -> Bool {
    invalidations.keepsOut(nil, in: scopes, since: token.sequence)
  }

  /// Stores an entry, in place of the one with the same key and variant.
  ///
  /// The entry is visible when the call returns. The store keeps at most 64 variants of one key; beyond that it removes
  /// the oldest. Use several keys for a resource with more. The call may block on the disk.
  ///
  /// - Parameters:
  ///   - entry: the entry, with its whole body.
  ///   - token: refuses the entry if its key was removed since the token was taken (default: none).
  /// - Returns: the id, or why nothing was stored. An entry for both tiers is stored if one of them took it.
  /// - Complexity: O(bytes of the entry) on average, plus the evictions for it.
  @discardableResult
  public func insert(_ entry: NewEntry, unlessRemovedSince token: RemovalToken? = nil) -> InsertOutcome {
    insert(entry, unlessRemovedSince: token, unless: nil)
  }

  /// Stores an entry, unless the one in its place is more recent.
  ///
  /// - Parameters:
  ///   - token: also refuses the entry if one of its scopes was marked since the token was taken.
  ///   - isOvertaken: whether to refuse because of the entry in its place, in whichever tier that is; not called if
  ///     there is none. No other insert with a condition comes between the answer and the publication. The closure must
  ///     not store anything.
  @discardableResult
  package func insert(
    _ entry: NewEntry, unlessRemovedSince token: RemovalToken? = nil,
    unless isOvertaken: ((StoredEntry) -> Bool)?
  ) -> InsertOutcome {
    var file: BodyFileWriter?
    let outcome: InsertOutcome
    if let refusal = isOpen ? sizeObjection(to: entry, bodyCount: entry.body.count) : InsertRefusal(.closed) {
      outcome = .refused(refusal)
    } else if let isOvertaken {
      outcome = publish(entry, file: &file, token: token, unless: isOvertaken)
    } else if disk == nil {
      outcome = publishInMemory(entry, token: token)
    } else {
      outcome = publish(entry, file: &file, token: token)
    }
    count(outcome)
    return outcome
  }

  /// Begins an entry whose body arrives in pieces. Nothing of it is visible before ``EntryWriter/commit()``.
  ///
  /// If disk is among the tiers, a body larger than ``Configuration/largeBodyThreshold`` goes to disk as it arrives. It
  /// is then not kept in memory. While the disk fails, it stays in memory instead, if memory has the capacity.
  ///
  /// - Parameters:
  ///   - key: the resource.
  ///   - variant: the variant of the resource.
  ///   - metadata: your own opaque bytes, served only together with this body.
  ///   - storedAt: the time of storing, in milliseconds since 1970.
  ///   - expectedLength: the length of the body in bytes, if it is known; a commit of any other length is refused
  ///     (default: unknown).
  ///   - tiers: where to keep the entry (default: in memory and on disk).
  ///   - token: refuses the entry if its key was removed since the token was taken (default: a new token, so that a
  ///     removal between this call and the commit counts).
  /// - Complexity: O(1).
  public func makeWriter(
    key: StoreKey, variant: VariantID, metadata: [UInt8], storedAt: Int64, expectedLength: Int? = nil,
    tiers: StoreTiers = .all, unlessRemovedSince token: RemovalToken? = nil
  ) -> EntryWriter {
    makeWriter(
      key: key, variant: variant, metadata: metadata, storedAt: storedAt, expectedLength: expectedLength,
      tiers: tiers, scopes: [], unlessRemovedSince: token)
  }

  /// Begins an entry that belongs to scopes, or whose body the caller can take back.
  ///
  /// - Parameters:
  ///   - maximumLength: maximum bytes of the body, besides the limits of the configuration.
  ///   - scopes: the scopes of the entry; see ``NewEntry/scopes``.
  ///   - isEditable: whether the body stays in memory, however large, so that ``EntryWriter/takeEntry()`` can give it.
  ///   - token: also refuses the entry if one of the scopes was marked since the token was taken.
  package func makeWriter(
    key: StoreKey, variant: VariantID, metadata: [UInt8], storedAt: Int64, expectedLength: Int? = nil,
    maximumLength: Int? = nil, tiers: StoreTiers = .all, scopes: [StoreScope], isEditable: Bool = false,
    unlessRemovedSince token: RemovalToken? = nil
  ) -> EntryWriter {
    let entry = NewEntry(
      key: key, variant: variant, metadata: metadata, body: [], storedAt: storedAt, tiers: tiers,
      scopes: scopes)
    return EntryWriter(
      store: self, entry: entry, expectedLength: expectedLength, maximumLength: maximumLength,
      isEditable: isEditable,
      token: token ?? removalToken(for: key))
  }

  /// Replaces the metadata of an entry; its body, its id and its variant stay.
  ///
  /// - Parameters:
  ///   - token: refuses the update if the entry was swept since the token was taken.
  ///   - scopes: the scopes of the entry.
  /// - Returns: whether the entry was there. On disk, the body is not written again.
  @discardableResult
  package func updateMetadata(
    of id: EntryID, key: StoreKey, metadata: [UInt8], storedAt: Int64, in scopes: [StoreScope] = [],
    unlessSweptSince token: RemovalToken? = nil
  ) -> Bool {
    guard !isClosed.load(ordering: .relaxed) else { return false }
    let isKeptOut = { [invalidations] in
      token.map { invalidations.keepsOut(key, in: scopes, since: $0.sequence) } ?? false
    }
    let hash = hasher.hash(key)
    let revision = disk?.sequence.take() ?? memorySequence.take()
    let onDisk =
      disk?.updateMetadata(
        of: id.rawValue, hash: hash, metadata: metadata, storedAt: storedAt, revision: revision,
        unless: isKeptOut) ?? false
    let inMemory = memory.updateMetadata(
      of: id.rawValue, key: key, hash: hash, metadata: metadata, storedAt: storedAt, revision: revision,
      unless: isKeptOut)
    if onDisk || inMemory { counters.updates.increment() }
    return onDisk || inMemory
  }

  /// Replaces the metadata of an entry by the result of a closure; its body, its id and its variant stay.
  ///
  /// Concurrent calls for one key run one after the other, so that no call loses the change of another.
  ///
  /// - Parameters:
  ///   - known: the entry as a lookup returned it. Its metadata is used if memory does not hold the entry.
  ///   - scopes: the scopes of the entry.
  ///   - token: refuses the update if the entry was swept since the token was taken.
  ///   - change: makes the new metadata from the present metadata. It must not use this store.
  /// - Returns: whether the entry was there.
  @discardableResult
  package func updateMetadata(
    of known: StoredEntry, key: StoreKey, storedAt: Int64, in scopes: [StoreScope] = [],
    unlessSweptSince token: RemovalToken? = nil, _ change: (RawSpan) -> [UInt8]
  ) -> Bool {
    let hash = hasher.hash(key)
    return decisions.withLock(hash) {
      let resident = memory.peek(key, hash: hash).first { $0.id == known.id }
      // The entry on disk may have been updated since the lookup: that update would be lost. Carrying a record forward
      // makes its revision older, not newer.
      if resident == nil, let present = disk?.revision(of: known.id.rawValue, hash: hash),
        present > known.revision
      {
        return false
      }
      var metadata: [UInt8] = []
      (resident ?? known).withMetadata { metadata = change($0) }
      return updateMetadata(
        of: known.id, key: key, metadata: metadata, storedAt: storedAt, in: scopes, unlessSweptSince: token)
    }
  }

  // MARK: Removing

  /// Evicts one variant of a key. Unlike a removal, this need not survive a crash, and keeps out nothing in flight.
  package func evict(_ key: StoreKey, variant: VariantID) {
    let hash = hasher.hash(key)
    _ = disk?.yield(hash: hash, variant: variant.rawValue)
    memory.remove(key, hash: hash, variant: variant)
  }

  /// Removes one variant of a key. Blocks until the removal would survive a crash (see ``Configuration/sync``).
  ///
  /// - Parameters:
  ///   - key: the resource.
  ///   - variant: the variant of the resource.
  public func remove(_ key: StoreKey, variant: VariantID) {
    let hash = hasher.hash(key)
    removals.advance(for: hash)
    disk?.remove(hash: hash, variant: variant.rawValue)
    changes.advance(for: hash)
    memory.remove(key, hash: hash, variant: variant)
    counters.removals.increment()
  }

  /// Removes every variant of a key, and its pin. Blocks until the removal would survive a crash (see
  /// ``Configuration/sync``).
  ///
  /// - Parameter key: the resource.
  /// - Returns: the number of entries that were removed.
  @discardableResult
  public func remove(_ key: StoreKey) -> Int { remove(key, keepingPin: false) }

  /// Removes every variant of a key.
  ///
  /// - Parameter keepingPin: whether the entries that follow are pinned if these are.
  @discardableResult
  package func remove(_ key: StoreKey, keepingPin: Bool) -> Int {
    let hash = hasher.hash(key)
    removals.advance(for: hash)
    let onDisk = disk?.remove(hash: hash) ?? []
    changes.advance(for: hash)
    let inMemory = memory.remove(key, hash: hash)
    counters.removals.increment()
    if !keepingPin { _ = try? disk?.pinning.unpin(key, hash: hash) }
    return onDisk.isEmpty ? inMemory.count : Set(onDisk + inMemory).count
  }

  /// Removes everything, and all pins. Blocks until the removal would survive a crash (see ``Configuration/sync``).
  ///
  /// - Returns: the number of entries that were removed; approximate if other threads insert at the same time.
  /// - Complexity: O(entries in memory).
  @discardableResult
  public func removeAll() -> Int {
    removals.advanceAll()
    let count = entryCount
    disk?.removeAll()
    changes.advanceAll()
    memory.removeAll()
    counters.removals.increment()
    disk?.pinning.unpin { _ in true }
    return count
  }

  /// Removes everything from memory, returns that memory to the system, and leaves the disk as it is. It does not wait for
  /// the disk.
  ///
  /// Call it when the system is short of memory. Entries that are also on disk are found there by the next lookup.
  /// Entries that only memory holds are gone. The capacities stay, and memory fills again. The call is not a removal:
  /// inserts in flight are stored, and no counter of ``statistics`` changes.
  ///
  /// - Complexity: O(entries in memory).
  public func clearMemory() {
    memory.removeAll()
  }

  /// The number of entries on disk, plus those that are in memory only.
  private var entryCount: Int {
    guard let disk else { return memory.count }
    return (0..<memory.shardCount).reduce(disk.count) { sum, shard in
      sum
        + memory.entries(inShard: shard).count { entry in
          disk.currentSlot(hash: hasher.hash(StoreKey(entry.key)), id: entry.id.rawValue) == nil
        }
    }
  }

  /// Removes entries stored at or after a time, in milliseconds since 1970. Returns when the removal would survive a
  /// crash (see ``Configuration/sync``).
  ///
  /// On disk, times count to the second: entries stored earlier in the same second are removed too.
  ///
  /// - Returns: the number of entries that were removed; approximate if other threads insert at the same time.
  @discardableResult
  package func removeAll(since time: Int64) -> Int {
    removals.advanceAll()
    // An update in flight would make an older entry, which stays, one since then.
    _ = invalidations.fence({ key, _ in key != nil }) { takeID() }
    let count = entryCount
    disk?.removeAll(since: time)
    changes.advanceAll()
    memory.removeAll(since: time)
    counters.removals.increment()
    return max(0, count - entryCount)
  }

  // MARK: Size and life

  /// The bytes and entries in the store now.
  ///
  /// - Complexity: O(shards).
  public var usage: StoreUsage {
    var usage = StoreUsage()
    usage.memoryBytes = memory.bytes
    usage.memoryEntries = memory.count
    disk?.show(in: &usage)
    return usage
  }

  /// The store's capacities now.
  public var capacity: StoreCapacity {
    StoreCapacity(
      memory: memory.limit, disk: usesDisk ? disk?.capacity ?? 0 : 0,
      pinned: usesDisk ? disk?.pinning.limit ?? 0 : 0)
  }

  /// Changes the capacities, and evicts the excess at once. May block on the disk.
  ///
  /// - Parameters:
  ///   - memory: maximum bytes in memory; a negative value counts as 0 (default: unchanged).
  ///   - disk: maximum bytes on disk; 1 byte to 1 MiB counts as 1 MiB (default: unchanged). Without a directory it has
  ///     no effect. 0 or less removes everything from the disk, with all pins. The store then writes nothing to it until you raise the
  ///     capacity; the directory stays in use by this store.
  public func setCapacity(memory: Int? = nil, disk: Int? = nil) {
    if let memory { self.memory.setCapacity(max(0, memory)) }
    guard let disk else { return }
    isDiskOff.store(disk <= 0, ordering: .sequentiallyConsistent)
    self.disk?.setCapacity(max(Configuration.minimumDiskCapacity, disk))
    if disk <= 0 {
      self.disk?.removeAll()
      changes.advanceAll()
      self.disk?.pinning.unpin { _ in true }
    }
  }

  /// Whether entries may be written to disk.
  var usesDisk: Bool {
    disk != nil && !isDiskOff.load(ordering: .sequentiallyConsistent)
      && !hasLeftDirectory.load(ordering: .sequentiallyConsistent)
  }

  /// Entries evicted since the store was opened, as in ``statistics``. This takes no lock.
  ///
  /// - Complexity: O(shards).
  package var evictions: (memory: Int, disk: Int) {
    (memory.evictions, disk?.counters.evictions.value ?? 0)
  }

  /// Counts of what the store has done since it was opened.
  ///
  /// - Complexity: O(shards).
  public var statistics: StoreStatistics {
    var result = counters.statistics
    result.memoryHits = memory.hits
    result.misses += memory.misses
    (result.memoryEvictions, result.diskEvictions) = evictions
    if let disk {
      result.diskCarries = disk.counters.carries.value
      result.corruptRecords = disk.counters.corruptRecords.value
      result.ioErrors = disk.counters.ioErrors.value
      result.diskFailures = disk.counters.failures.value
      result.diskBytesWritten = disk.counters.bytesWritten.value
      result.diskBytesStored = disk.counters.bytesStored.value
    }
    return result
  }

  /// Syncs everything stored so far to the disk (`fdatasync`). Blocks until it is done.
  ///
  /// A failure is counted in ``StoreStatistics/ioErrors``.
  public func flush() {
    disk?.sync()
  }

  /// Releases the directory for another process, and goes on in memory. Blocks until the disk has everything.
  ///
  /// Entries in memory stay, and are removed only from there: the other process must be told of removals. A call of
  /// ``setCapacity(memory:disk:)`` does not bring the directory back.
  package func leaveDirectory() {
    hasLeftDirectory.store(true, ordering: .sequentiallyConsistent)
    disk?.close()
    changes.advanceAll()
  }

  /// Closes the store, and releases its directory for another: from now on, lookups miss and inserts are refused.
  /// Blocks until the disk has everything.
  ///
  /// Entries that you already have stay valid. A second call has no effect. A store closes itself when it is
  /// deallocated.
  public func close() {
    guard !isClosed.exchange(true, ordering: .sequentiallyConsistent) else { return }
    removals.advanceAll()
    disk?.close()
    changes.advanceAll()
    // First, so that these removals do not count as evictions.
    memory.removeAll()
    memory.setCapacity(0)
    memory.removeAll()
  }

  /// Whether ``close()`` has not been called.
  package var isOpen: Bool { !isClosed.load(ordering: .sequentiallyConsistent) }

  func takeID() -> UInt64 {
    disk?.sequence.take() ?? memorySequence.take()
  }
}
