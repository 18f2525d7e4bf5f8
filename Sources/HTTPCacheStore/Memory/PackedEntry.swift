/// An entry in memory: one reference to one allocation, or to two where the body is large or in a file. A large body that
/// was read from disk is in one allocation with its head, as it lay there.
enum PackedEntry: Sendable {
  /// The block with the body behind the metadata.
  case whole(EntryBlock)
  /// A block without a body, and the body.
  case split(SplitEntry)

  /// Bodies up to this size are copied in beside the head. With 1 KiB it saves 144 bytes of overhead, a hit touches one
  /// allocation instead of three, and storing again what is held takes as long as with the body apart (0.49 µs). An insert
  /// that evicts pays for the copy with a quarter of its time, unless the memory that it goes to was asked for
  /// (``Room/dropGarbage()``): 0.8 µs instead of 1.0. Larger bodies keep the allocation they came in.
  static let packedBodyLimit = 4096

  /// What memory keeps of a new entry.
  static func of(_ entry: NewEntry, id: UInt64) -> PackedEntry {
    if entry.body.count <= packedBodyLimit {
      // An initializer's arguments are owned by it: two more references to take and to drop.
      return entry.key.bytes.withUnsafeBytes { key in
        entry.metadata.withUnsafeBytes { metadata in
          entry.body.withUnsafeBytes { body in
            .whole(
              EntryBlock(
                id: id, revision: id, variant: entry.variant.rawValue, storedAt: entry.storedAt, key: key,
                metadata: metadata, body: body))
          }
        }
      }
    }
    var body = entry.body
    if body.capacity - body.count > 64 {
      // An array that grew by appending may own up to twice what it shows.
      body = [UInt8](unsafeUninitializedCapacity: body.count) { buffer, count in
        count = buffer[...].initialize(fromContentsOf: body)
      }
    }
    return PackedEntry(
      id: id, revision: id, variant: entry.variant.rawValue, storedAt: entry.storedAt, key: entry.key.bytes,
      metadata: entry.metadata, body: body[...], ownerCount: body.count)
  }

  /// - Parameter ownerCount: the length of the array that the body is a slice of.
  init(
    id: UInt64, revision: UInt64, variant: UInt64, storedAt: Int64, key: some Bytes, metadata: some Bytes,
    body: ArraySlice<UInt8>, ownerCount: Int
  ) {
    let isWhole = body.count <= Self.packedBodyLimit
    let block = EntryBlock(
      id: id, revision: revision, variant: variant, storedAt: storedAt, key: key, metadata: metadata,
      body: isWhole ? body : [])
    self = isWhole ? .whole(block) : .split(SplitEntry(block, body: StoredBody(body), ownerCount: ownerCount))
  }

  @inline(__always)
  var block: EntryBlock {
    switch self {
    case .whole(let block): block
    case .split(let entry): entry.block
    }
  }

  var id: UInt64 { block.id }
  var revision: UInt64 { block.revision }
  var variant: VariantID { VariantID(rawValue: block.variant) }
  var storedAt: Int64 { block.storedAt }
  var metadata: ArraySlice<UInt8> { block.metadata }

  /// The metadata where it lies; good as long as the entry lives.
  @inline(__always)
  var unsafeMetadata: UnsafeRawBufferPointer {
    switch self {
    case .whole(let block): block.unsafeMetadata
    case .split(let entry): entry.block.unsafeMetadata
    }
  }

  var body: StoredBody {
    switch self {
    case .whole(let block): StoredBody(block.body)
    case .split(let entry): entry.body
    }
  }

  /// Whether the body is in memory.
  var isResident: Bool {
    switch self {
    case .whole: true
    case .split(let entry): entry.body.residentBytes != nil
    }
  }

  var bodyCount: Int {
    switch self {
    case .whole(let block): block.bodyCount
    case .split(let entry): entry.body.count
    }
  }

  /// The same key and body under other metadata.
  func replacingMetadata(_ metadata: [UInt8], storedAt: Int64, revision: UInt64) -> PackedEntry {
    // A large body that was read from disk, and is in one block with its head, is not copied for another head.
    if case .whole(let block) = self, block.bodyCount > Self.packedBodyLimit {
      return PackedEntry(
        id: block.id, revision: revision, variant: block.variant, storedAt: storedAt, key: block.key,
        metadata: metadata, body: block.body, ownerCount: block.bytes.count)
    }
    let block = block
    var bytes: ArraySlice<UInt8> = []
    if case .whole = self { bytes = block.body }
    let new = EntryBlock(
      id: block.id, revision: revision, variant: block.variant, storedAt: storedAt, key: block.key,
      metadata: metadata, body: bytes)
    switch self {
    case .whole: return .whole(new)
    case .split(let entry): return .split(SplitEntry(new, body: entry.body, ownerCount: entry.ownerCount))
    }
  }

  /// The entry as memory keeps it: a small one that was read from disk without what its record has before the key.
  var forKeeping: PackedEntry {
    guard case .whole(let block) = self, block.bodyCount <= Self.packedBodyLimit else { return self }
    return .whole(
      EntryBlock(
        id: block.id, revision: block.revision, variant: block.variant, storedAt: block.storedAt,
        key: block.key, metadata: block.metadata, body: block.body))
  }

  // MARK: Size

  /// What an entry occupies beside its allocations: its share of the table at its emptiest.
  static let indexOverhead =
    Int((EntryTable.placesPerEntry * Double(MemoryLayout<EntryTable.Place>.stride)).rounded(.up))

  /// What the entry occupies, in bytes: its allocations and ``indexOverhead``.
  ///
  /// Of lengths and not of capacities, so that the same entry always costs the same: `malloc` sometimes gives 16 bytes
  /// more than it was asked for.
  var cost: Int {
    switch self {
    case .whole(let block):
      return Self.cost(ofWhole: block.bytes.count)
    case .split(let entry):
      return Self.arraySize(entry.block.bytes.count) + Self.arraySize(entry.ownerCount) + SplitEntry.size
        + Self.indexOverhead
    }
  }

  /// What an entry in one block of so many bytes occupies.
  @inline(__always)
  static func cost(ofWhole count: Int) -> Int { arraySize(count) + indexOverhead }

  /// What `malloc` takes for an array: the array's header of 32 bytes, 8 of `malloc`'s own, in steps of 16.
  private static func arraySize(_ count: Int) -> Int {
    (count + 32 + 8 + 15) & ~15
  }
}

/// The head of an entry whose body is not with it.
final class SplitEntry: Sendable {
  /// An upper bound on what an object of this class occupies.
  static let size = 96

  let block: EntryBlock
  let body: StoredBody
  /// The length of the array that the body is part of.
  let ownerCount: Int

  init(_ block: EntryBlock, body: StoredBody, ownerCount: Int) {
    self.block = block
    self.body = body
    self.ownerCount = ownerCount
  }
}
