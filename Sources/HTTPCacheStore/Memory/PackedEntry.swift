/// An entry as it is found: one reference to one allocation, or to two where the body is large or in a file.
enum PackedEntry: Sendable {
  /// All of it in an object of its own.
  case whole(EntryBlock)
  /// All of it as it lay on disk. Memory keeps large ones so, and makes the others whole.
  case record(EntryRecord)
  /// The head and, apart from it, the body.
  case split(SplitEntry)

  /// Bodies up to this size are copied in beside the head. With 1 KiB it saves 144 bytes of overhead, a hit touches one
  /// allocation instead of three, and storing again what is held takes as long as with the body apart (0.49 µs). An insert
  /// that evicts pays for the copy with a quarter of its time, unless the memory that it goes to was asked for
  /// (``Room/dropGarbage()``): 0.8 µs instead of 1.0. Larger bodies keep the allocation they came in.
  static let packedBodyLimit = 4096

  /// What memory keeps of a new entry.
  static func of(_ entry: NewEntry, id: UInt64) -> PackedEntry {
    let isWhole = entry.body.count <= packedBodyLimit
    // An initializer's arguments are owned by it: two more references to take and to drop.
    let block = entry.key.bytes.withUnsafeBytes { key in
      entry.metadata.withUnsafeBytes { metadata in
        entry.body.withUnsafeBytes { body in
          EntryBlock(
            id: id, revision: id, variant: entry.variant.rawValue, storedAt: entry.storedAt, key: key,
            metadata: metadata, body: isWhole ? body : UnsafeRawBufferPointer(start: nil, count: 0))
        }
      }
    }
    if isWhole { return .whole(block) }
    var body = entry.body
    if body.capacity - body.count > 64 {
      // An array that grew by appending may own up to twice what it shows.
      body = [UInt8](unsafeUninitializedCapacity: body.count) { buffer, count in
        count = buffer[...].initialize(fromContentsOf: body)
      }
    }
    return .split(SplitEntry(block, body: StoredBody(body[...]), ownerCount: body.count))
  }

  /// The head where it lies; good as long as the entry lives.
  @inline(__always)
  var unsafeHead: EntryHead {
    switch self {
    case .whole(let block): block.unsafeHead
    case .record(let record): record.unsafeHead
    case .split(let entry): entry.block.unsafeHead
    }
  }

  @inline(__always)
  func withHead<Result>(_ read: (EntryHead) -> Result) -> Result {
    withExtendedLifetime(self) { read(unsafeHead) }
  }

  var id: UInt64 { withHead { $0.id } }
  var revision: UInt64 { withHead { $0.revision } }
  var variant: VariantID { VariantID(rawValue: withHead { $0.variant }) }
  var storedAt: Int64 { withHead { $0.storedAt } }

  var body: StoredBody {
    switch self {
    case .whole(let block): StoredBody(block)
    case .record(let record): StoredBody(record.body)
    case .split(let entry): entry.body
    }
  }

  /// Whether the body is in memory.
  var isResident: Bool {
    if case .split(let entry) = self { entry.body.isResident } else { true }
  }

  @inline(__always)
  var bodyCount: Int {
    switch self {
    case .whole(let block): block.bodyCount
    case .record(let record): record.bodyCount
    case .split(let entry): entry.body.count
    }
  }

  /// The same key and body under other metadata.
  func replacingMetadata(_ metadata: UnsafeRawBufferPointer, storedAt: Int64, revision: UInt64) -> PackedEntry
  {
    withHead { head in
      func block(_ body: UnsafeRawBufferPointer) -> EntryBlock {
        EntryBlock(
          id: head.id, revision: revision, variant: head.variant, storedAt: storedAt, key: head.key,
          metadata: metadata, body: body)
      }
      let none = UnsafeRawBufferPointer(start: nil, count: 0)
      return switch self {
      case .split(let entry): .split(SplitEntry(block(none), body: entry.body, ownerCount: entry.ownerCount))
      case .record(let record) where record.bodyCount > Self.packedBodyLimit:
        .split(SplitEntry(block(none), body: StoredBody(record.body), ownerCount: record.bytes.count))
      case .record, .whole: .whole(block(head.body))
      }
    }
  }

  /// The entry as memory keeps it: a small one that was read from disk without what its record has before the key.
  var forKeeping: PackedEntry {
    guard case .record(let record) = self, record.bodyCount <= Self.packedBodyLimit else { return self }
    return withHead { head in
      .whole(
        EntryBlock(
          id: head.id, revision: head.revision, variant: head.variant, storedAt: head.storedAt, key: head.key,
          metadata: head.metadata, body: head.body))
    }
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
    case .whole(let block): Self.cost(ofWhole: block.count)
    case .record(let record): Self.arraySize(record.bytes.count) + Self.indexOverhead
    case .split(let entry):
      Self.blockSize(entry.block.count) + Self.arraySize(entry.ownerCount) + SplitEntry.size
        + Self.indexOverhead
    }
  }

  /// What an entry in one object occupies, whose head, key, metadata and body are so many bytes.
  @inline(__always)
  static func cost(ofWhole count: Int) -> Int { blockSize(count) + indexOverhead }

  /// What `malloc` takes for a block: the object's two words, 8 bytes of `malloc`'s own, in steps of 16.
  @inline(__always)
  private static func blockSize(_ count: Int) -> Int {
    (count + EntryBlock.Object.headOffset + 8 + 15) & ~15
  }

  /// The same for an array, whose header has 32 bytes.
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
