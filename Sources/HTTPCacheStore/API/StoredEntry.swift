/// One variant of a resource, as the store found it.
///
/// An entry owns what it shows: it stays valid and unchanged while the store replaces, evicts or removes the entry.
public struct StoredEntry: Sendable {
  /// The tier that an entry was served from.
  public enum Tier: Sendable, Hashable {
    case memory
    case disk
  }

  /// The identity of the entry; the newest of a key and variant has the greatest.
  public let id: EntryID
  /// Which variant of the resource this is.
  public let variant: VariantID
  /// When the entry was stored or last updated, as the caller gave it: milliseconds since 1970.
  public let storedAt: Int64
  /// The caller's opaque bytes.
  public let metadata: ArraySlice<UInt8>
  /// The body, or the means to read it.
  public let body: StoredBody
  /// Where the entry was found.
  public let tier: Tier

  init(
    id: EntryID, variant: VariantID, storedAt: Int64, metadata: ArraySlice<UInt8>, body: StoredBody,
    tier: Tier
  ) {
    self.id = id
    self.variant = variant
    self.storedAt = storedAt
    self.metadata = metadata
    self.body = body
    self.tier = tier
  }
}

/// The variants that a lookup found, newest first.
///
/// It is a collection of its own so that the common answer, a single variant, needs no allocation.
public struct StoredEntries: RandomAccessCollection, Sendable {
  private var head: StoredEntry?
  private var tail: [StoredEntry]

  /// No entries.
  public init() {
    head = nil
    tail = []
  }

  /// These entries, in this order.
  public init(_ entries: [StoredEntry]) {
    head = entries.first
    tail = Array(entries.dropFirst())
  }

  @inline(__always)
  init(_ entry: StoredEntry) {
    head = entry
    tail = []
  }

  public var startIndex: Int { 0 }
  public var endIndex: Int { head == nil ? 0 : 1 + tail.count }

  public var first: StoredEntry? { head }
  public var isEmpty: Bool { head == nil }

  /// - Complexity: O(1).
  public subscript(position: Int) -> StoredEntry {
    guard position == 0 else { return tail[position - 1] }
    guard let head else { preconditionFailure("index 0 of an empty StoredEntries") }
    return head
  }

  mutating func append(_ entry: StoredEntry) {
    if head == nil {
      head = entry
    } else {
      tail.append(entry)
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
