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

  // What memory holds, as it holds it: a single reference, and no more to copy.
  private let packed: PackedEntry
  /// Where the entry was found.
  public let tier: Tier

  @inline(__always)
  init(_ packed: PackedEntry, tier: Tier) {
    self.packed = packed
    self.tier = tier
  }

  /// The identity of the entry; the newest of a key and variant has the greatest.
  public var id: EntryID { EntryID(rawValue: packed.id) }

  /// Which variant of the resource this is.
  public var variant: VariantID { packed.variant }

  /// The time given when the entry was stored, in milliseconds since 1970.
  public var storedAt: Int64 { packed.storedAt }

  var key: [UInt8] { packed.withHead { Array($0.key) } }

  /// The number of the insert or update that the metadata came with.
  var revision: UInt64 { packed.revision }

  /// The opaque bytes that were stored with the body.
  ///
  /// - Complexity: O(bytes): they are copied. ``withMetadata(_:)`` does not copy.
  public var metadata: [UInt8] { packed.withHead { Array($0.metadata) } }

  /// Calls `work` with the metadata in place, without a copy.
  ///
  /// It returns nothing, so that it need not be generic: a decision by these bytes on every hit costs no more than the look
  /// at them.
  ///
  /// - Complexity: O(1), and no reference is counted.
  public func withMetadata(_ work: (RawSpan) -> Void) {
    withExtendedLifetime(packed) { work(packed.unsafeHead.metadata.bytes) }
  }

  /// The body. It may outlive the entry.
  public var body: StoredBody { packed.body }

  /// Calls `work` with the body in place, without a copy, if it is in memory.
  ///
  /// Use it to look at a body; use ``body`` to keep it.
  ///
  /// - Returns: whether `work` was called; `false` if the body has to be read from disk.
  /// - Complexity: O(1), and no reference is counted.
  @discardableResult
  public func withResidentBody(_ work: (RawSpan) -> Void) -> Bool {
    switch packed {
    case .whole(let block): withExtendedLifetime(block) { work(block.unsafeHead.body.bytes) }
    case .record(let record): withExtendedLifetime(record) { work(record.unsafeHead.body.bytes) }
    case .split(let entry): return entry.body.withResidentBytes(work)
    }
    return true
  }

  /// The length of the body in bytes.
  public var bodyCount: Int { packed.bodyCount }
}

/// The variants of a key that a lookup found, newest first.
///
/// A collection of its own, so that the common answer, a single variant, needs no allocation.
public struct StoredEntries: RandomAccessCollection, Sendable {
  private var head: StoredEntry?
  private var tail: [StoredEntry]?

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
      preconditionFailure("index \(position) of \(count) stored entries")
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

/// What memory alone knows of a key.
package struct ResidentLookup: Sendable {
  /// The variants in memory, newest first.
  package let entries: StoredEntries
  /// Whether memory is known to hold every variant that the store has of the key.
  ///
  /// If `false`, other variants, or the entry itself, may be on disk: use ``CacheStore/lookup(_:)``.
  package let isComplete: Bool

  init(entries: StoredEntries, isComplete: Bool) {
    self.entries = entries
    self.isComplete = isComplete
  }
}
