/// One variant of a resource, as the store found it.
///
/// An entry owns what it shows: it stays valid and unchanged while the store replaces, evicts or removes the entry.
public struct StoredEntry: Sendable {
  /// The tier that an entry was served from.
  public enum Tier: Sendable, Hashable {
    case memory
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

  /// When the entry was stored or last updated, as the caller gave it: milliseconds since 1970.
  public var storedAt: Int64 { packed.storedAt }

  var key: [UInt8] { packed.withHead { Array($0.key) } }

  /// The number of the insert or update that the metadata came with.
  var revision: UInt64 { packed.revision }

  /// The caller's opaque bytes.
  ///
  /// - Complexity: O(*n*) in their number: they are copied. ``withMetadata(_:)`` shows them without.
  public var metadata: [UInt8] { packed.withHead { Array($0.metadata) } }

  /// Calls `work` with the caller's opaque bytes where they lie.
  ///
  /// It returns nothing, so that it need not be generic: what is decided by these bytes on every hit is to cost no more
  /// than the look at them.
  ///
  /// - Complexity: O(1), and no reference is counted.
  public func withMetadata(_ work: (RawSpan) -> Void) {
    withExtendedLifetime(packed) { work(packed.unsafeHead.metadata.bytes) }
  }

  /// The body, or the means to read it.
  public var body: StoredBody { packed.body }

  /// Calls `work` with the body where it lies, if it is in memory.
  ///
  /// For who only looks at the body: ``body`` hands it out, to be kept, with references of its own.
  ///
  /// - Returns: whether `work` was called; not where the body has to be read from disk.
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

/// The variants that a lookup found, newest first.
///
/// It is a collection of its own so that the common answer, a single variant, needs no allocation.
public struct StoredEntries: RandomAccessCollection, Sendable {
  private var head: StoredEntry?
  private var tail: [StoredEntry]?

  /// No entries.
  public init() {
    head = nil
    tail = nil
  }

  /// These entries, in this order.
  public init(_ entries: [StoredEntry]) {
    head = entries.first
    tail = entries.count > 1 ? Array(entries.dropFirst()) : nil
  }

  @inline(__always)
  init(_ entry: StoredEntry) {
    head = entry
    tail = nil
  }

  public var startIndex: Int { 0 }
  public var endIndex: Int { head == nil ? 0 : 1 + (tail?.count ?? 0) }

  public var first: StoredEntry? { head }
  public var isEmpty: Bool { head == nil }
  /// The entry, where there is no other.
  public var only: StoredEntry? { tail == nil ? head : nil }

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
public struct ResidentLookup: Sendable {
  /// The variants in memory, newest first.
  public let entries: StoredEntries
  /// Whether memory is known to hold every variant that the store has of the key.
  ///
  /// When `false`, other variants, or the entry itself, may be on disk: ask ``CacheStore/lookup(_:)``.
  public let isComplete: Bool

  init(entries: StoredEntries, isComplete: Bool) {
    self.entries = entries
    self.isComplete = isComplete
  }
}
