// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// One variant of a resource, as a lookup found it.
///
/// An entry owns its bytes: it stays valid and unchanged while the store replaces, evicts or removes it.
public struct StoredEntry: Sendable {
  /// The tier that an entry was found in.
  public enum Tier: Sendable, Hashable {
    /// In memory.
    case memory
    /// On disk.
    case disk
  }

  private enum Storage: Sendable {
    /// An entry of memory as memory keeps it: a single reference, and nothing else to copy.
    case block(EntryBlock)
    /// An entry that was read from disk, in the buffer it was read into.
    case record(EntryRecord)
  }

  private let storage: Storage
  /// Where the entry was found.
  public let tier: Tier

  @inline(__always)
  init(_ block: EntryBlock, tier: Tier) {
    storage = .block(block)
    self.tier = tier
  }

  init(_ record: EntryRecord) {
    storage = .record(record)
    tier = .disk
  }

  /// The head in place: valid as long as the entry lives; see ``EntryBlock/unsafeHead``.
  @inline(__always)
  private var unsafeHead: EntryHead {
    switch storage {
    case .block(let block): block.unsafeHead
    case .record(let record): record.unsafeHead
    }
  }

  @inline(__always)
  private func withHead<Result>(_ read: (EntryHead) -> Result) -> Result {
    withExtendedLifetime(storage) { read(unsafeHead) }
  }

  /// The identity of the entry; the newest entry of a key and variant has the greatest.
  public var id: EntryID { EntryID(rawValue: withHead { $0.id }) }

  /// Which variant of the resource this is.
  public var variant: VariantID { VariantID(rawValue: withHead { $0.variant }) }

  /// The time given when the entry was stored, in milliseconds since 1970.
  public var storedAt: Int64 { withHead { $0.storedAt } }

  var key: [UInt8] { withHead { Array($0.key) } }

  /// The key that the entry is stored under.
  package var storeKey: StoreKey { StoreKey(key) }

  /// The number of the insert or update that wrote the metadata.
  package var revision: UInt64 { withHead { $0.revision } }

  /// The opaque bytes that were stored with the body.
  ///
  /// - Complexity: O(bytes): the bytes are copied. ``withMetadata(_:)`` does not copy.
  public var metadata: [UInt8] { withHead { Array($0.metadata) } }

  /// Calls `work` with the metadata in place, without a copy.
  ///
  /// The method returns nothing, so that it need not be generic: a decision on every hit costs only the look at these
  /// bytes.
  ///
  /// - Complexity: O(1), without reference counting.
  public func withMetadata(_ work: (RawSpan) -> Void) {
    withExtendedLifetime(storage) { work(unsafeHead.metadata.bytes) }
  }

  /// The body. It may outlive the entry.
  public var body: StoredBody {
    switch storage {
    case .block(let block): block.body
    case .record(let record): StoredBody(record.body)
    }
  }

  /// Calls `work` with the body in place, without a copy, if it is in memory.
  ///
  /// Use it to look at a body; use ``body`` to keep it.
  ///
  /// - Returns: whether `work` was called; `false` if the body must be read from disk.
  /// - Complexity: O(1), without reference counting.
  @discardableResult
  public func withResidentBody(_ work: (RawSpan) -> Void) -> Bool {
    withExtendedLifetime(storage) {
      if let apart = unsafeHead.apart { return apart.pointee.body.withResidentBytes(work) }
      work(unsafeHead.body.bytes)
      return true
    }
  }

  /// The length of the body in bytes.
  public var bodyCount: Int { withHead { $0.bodyCount } }

  // MARK: Keeping

  /// Whether the body is in memory.
  package var isResident: Bool { withHead { $0.apart?.pointee.body.isResident ?? true } }

  /// The approximate cost of the entry in memory, in bytes.
  var approximateCost: Int {
    switch storage {
    case .block(let block): block.cost
    case .record(let record): record.bytes.count
    }
  }

  /// The entry as memory keeps it.
  var block: EntryBlock {
    switch storage {
    case .block(let block): block
    case .record(let record): EntryBlock(record)
    }
  }
}

/// The variants of a key that a lookup found, newest first.
///
/// A separate collection type, so that the common result, a single variant, needs no allocation.
public struct StoredEntries: RandomAccessCollection, Sendable {
  private var head: StoredEntry?
  private var tail: [StoredEntry]?
  /// ``CacheStore/markPasses`` before the lookup, if the caller set it.
  package var markPasses: UInt64 = 0

  /// No entries.
  package init() {
    head = nil
    tail = nil
  }

  /// These entries, in this order.
  package init(_ entries: [StoredEntry]) {
    head = entries.first
    tail = entries.count > 1 ? Array(entries.dropFirst()) : nil
  }

  @inline(__always)
  init(_ entry: StoredEntry) {
    head = entry
    tail = nil
  }

  /// 0.
  public var startIndex: Int { 0 }
  /// The number of entries.
  public var endIndex: Int { head == nil ? 0 : 1 + (tail?.count ?? 0) }

  /// The newest entry; `nil` if nothing was found.
  public var first: StoredEntry? { head }
  /// Whether nothing was found.
  public var isEmpty: Bool { head == nil }
  /// The entry, if there is exactly one.
  public var only: StoredEntry? { tail == nil ? head : nil }

  /// The entry at a position.
  ///
  /// - Precondition: `position` is at least 0 and less than ``endIndex``.
  /// - Complexity: O(1).
  public subscript(position: Int) -> StoredEntry {
    guard let entry = position == 0 ? head : tail?[position - 1] else {
      preconditionFailure("index \(position) is out of range: there are \(count) stored entries")
    }
    return entry
  }

  mutating func append(_ entry: StoredEntry) {
    if head == nil {
      head = entry
    } else {
      tail = (tail ?? []) + [entry]
    }
  }
}

/// What memory knows of a key, without the disk.
struct ResidentLookup: Sendable {
  /// The variants in memory, newest first.
  let entries: StoredEntries
  /// Whether memory is known to hold every variant of the key in the store.
  ///
  /// If `false`, other variants, or the entry itself, may be on disk: use ``CacheStore/lookup(_:)``.
  let isComplete: Bool
}
