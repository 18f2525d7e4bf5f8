// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// An entry in memory, in one object: its ``EntryHead``, its key, its metadata, and its body or a reference to the
/// body.
///
/// It never changes, so a hit takes a single reference. An array in its place would take 16 bytes more for each entry,
/// and 300 instructions more for an insert. The price is that its bytes cannot be returned as `ArraySlice` without a
/// copy. (A slice of anything but an array ends the process when its only owner changes it.) So large bodies stay
/// separate arrays (``ApartBody``), and small bodies are shown in place or copied.
// Unchecked because the object is a buffer that any code could write to. It is filled before it is shared, and never
// written after.
struct EntryBlock: @unchecked Sendable {
  final class Object: ManagedBuffer<Object.Words, UInt8> {
    /// The part of the head that every entry has.
    struct Words {
      var words: (UInt64, UInt64, UInt64) = (0, 0, 0)
    }

    /// The offset of the head: it follows the two words that every object has.
    @inline(__always)
    static var headOffset: Int { 2 * MemoryLayout<UnsafeRawPointer>.size }

    /// Makes an object for an entry with this many bytes from its first word on. All objects with the same
    /// ``EntryBlock/blockSize(of:)`` have room for the largest of them, whatever `malloc` makes of their size.
    @inline(__always)
    fileprivate static func make(count: Int) -> Object {
      let room = EntryBlock.blockSize(count) &- 8 &- headOffset
      let object = create(minimumCapacity: max(0, room &- EntryHead.narrowSize)) { _ in Words() }
      return unsafeDowncast(object, to: Object.self)
    }

    /// The head in place.
    @inline(__always)
    fileprivate var head: EntryHead {
      EntryHead(start: UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()) + Self.headOffset)
    }

    deinit {
      if let apart = head.apart { UnsafeMutablePointer(mutating: apart).deinitialize(count: 1) }
    }
  }

  /// The place of an entry's body.
  enum Body {
    /// In the same object as the head. Its bytes are copied.
    case within(UnsafeRawBufferPointer)
    case apart(ApartBody)
  }

  /// Bodies up to this size are copied into the object of the head. A body of 1 KiB then saves 128 bytes of overhead,
  /// and a hit touches one allocation instead of two. Storing an existing entry again takes as long as with the body
  /// apart (0.49 µs). For an insert that evicts, the copy costs a quarter of its time, unless its memory was prefetched
  /// (``Room/dropGarbage()``): 0.8 µs instead of 1.0. Larger bodies keep their own allocation.
  static let packedBodyLimit = 4096

  let object: Object

  @inline(__always)
  init(_ object: Object) {
    self.object = object
  }

  init(
    id: UInt64, revision: UInt64, variant: UInt64, storedAt: Int64, key: UnsafeRawBufferPointer,
    metadata: UnsafeRawBufferPointer, body: Body, spares: SpareBlocks? = nil
  ) {
    var fields = EntryHead.Fields(
      id: id, revision: revision, variant: variant, storedAt: storedAt, keyCount: key.count,
      metadataCount: metadata.count, bodyCount: 0)
    var end = 0
    switch body {
    case .within(let bytes):
      fields.bodyCount = bytes.count
      end = bytes.count
    case .apart(let apart):
      fields.bodyCount = apart.body.count
      fields.isApart = true
    }
    let keyStart = fields.headCount
    let metadataStart = keyStart + key.count
    let bodyStart = metadataStart + metadata.count
    end += bodyStart
    object = spares?.take(Self.blockSize(end)) ?? Object.make(count: end)
    let target = UnsafeMutableRawPointer(mutating: object.head.start)
    fields.write(to: target)
    if let bytes = key.baseAddress { memcpy(target + keyStart, bytes, key.count) }
    if let bytes = metadata.baseAddress { memcpy(target + metadataStart, bytes, metadata.count) }
    switch body {
    case .within(let body): if let bytes = body.baseAddress { memcpy(target + bodyStart, bytes, body.count) }
    case .apart(let apart): (target + EntryHead.wideSize).initializeMemory(as: ApartBody.self, to: apart)
    }
  }

  /// Makes the block that memory keeps of a new entry.
  // Not an initializer, which owns its arguments: it takes 230 instructions more, to copy the entry and to destroy the
  // copy.
  static func of(_ entry: NewEntry, id: UInt64, spares: SpareBlocks? = nil) -> EntryBlock {
    entry.key.bytes.withUnsafeBytes { key in
      entry.metadata.withUnsafeBytes { metadata in
        entry.body.withUnsafeBytes { body in
          EntryBlock(
            id: id, revision: id, variant: entry.variant.rawValue, storedAt: entry.storedAt, key: key,
            metadata: metadata,
            body: body.count <= packedBodyLimit ? .within(body) : .apart(ApartBody(ownerOf: entry.body)),
            spares: spares)
        }
      }
    }
  }

  /// Makes the block that memory keeps of an entry that was read from disk.
  init(_ record: EntryRecord) {
    self = record.withHead { head in
      EntryBlock(
        head, metadata: head.metadata, storedAt: head.storedAt, revision: head.revision,
        body: head.bodyCount <= Self.packedBodyLimit
          ? .within(head.body)
          : .apart(ApartBody(body: StoredBody(record.body), ownerCount: record.bytes.count)))
    }
  }

  private init(
    _ head: EntryHead, metadata: UnsafeRawBufferPointer, storedAt: Int64, revision: UInt64, body: Body
  ) {
    self.init(
      id: head.id, revision: revision, variant: head.variant, storedAt: storedAt, key: head.key,
      metadata: metadata, body: body)
  }

  /// Returns an entry with the same key and body, and other metadata.
  func replacingMetadata(_ metadata: UnsafeRawBufferPointer, storedAt: Int64, revision: UInt64) -> EntryBlock
  {
    withHead { head in
      EntryBlock(
        head, metadata: metadata, storedAt: storedAt, revision: revision,
        body: head.apart.map { .apart($0.pointee) } ?? .within(head.body))
    }
  }

  // MARK: Reading

  /// The head in place: valid as long as the block lives, because its one allocation never moves.
  ///
  /// This is not a method with a closure. The unknown work in a closure would make the compiler take a reference of its
  /// own, which costs more on every hit than finding the bytes.
  @inline(__always)
  var unsafeHead: EntryHead { object.head }

  @inline(__always)
  func withHead<Result>(_ read: (EntryHead) -> Result) -> Result {
    withExtendedLifetime(object) { read(unsafeHead) }
  }

  var variant: VariantID { VariantID(rawValue: withHead { $0.variant }) }

  var body: StoredBody { withHead { $0.apart?.pointee.body } ?? StoredBody(self) }

  // MARK: Size

  /// Bytes that an entry occupies in addition to its allocations: its share of the table when that is at its emptiest.
  static let indexOverhead =
    Int((EntryTable.placesPerEntry * Double(MemoryLayout<EntryTable.Place>.stride)).rounded(.up))

  /// Upper limit of what a large entry costs beside the bytes of its key, metadata and body.
  static let mostOverhead = 512

  /// Bytes that the entry occupies: its allocations and ``indexOverhead``.
  var cost: Int { withHead(Self.cost) }

  /// Returns the same cost for the entry that begins with a head.
  ///
  /// It is computed from lengths, not from capacities, so that the same entry always costs the same: `malloc` sometimes
  /// returns 16 bytes more than requested.
  @inline(__always)
  static func cost(of head: EntryHead) -> Int {
    // The object's two words; an array has four.
    blockSize(of: head) + indexOverhead
      + (head.apart.map { allocationSize($0.pointee.ownerCount + 32) } ?? 0)
  }

  /// Bytes of the allocation of the object with this head.
  @inline(__always)
  static func blockSize(of head: EntryHead) -> Int { blockSize(head.count) }

  @inline(__always)
  fileprivate static func blockSize(_ count: Int) -> Int { allocationSize(count + Object.headOffset) }

  /// The size of a `malloc` allocation for this many bytes: 8 more, in steps of 16.
  @inline(__always)
  private static func allocationSize(_ count: Int) -> Int { (count + 8 + 15) & ~15 }
}

/// A body outside of its entry's object: in an array, or in a file.
struct ApartBody: Sendable {
  let body: StoredBody
  /// The length of the array that the body is part of; 0 if it is in a file.
  let ownerCount: Int

  init(body: StoredBody, ownerCount: Int) {
    self.body = body
    self.ownerCount = ownerCount
  }

  /// Makes a body of a whole array.
  init(ownerOf bytes: [UInt8]) {
    var bytes = bytes
    if bytes.capacity - bytes.count > 64 {
      // An array that grew by appending may own up to twice the memory of its elements.
      bytes = [UInt8](unsafeUninitializedCapacity: bytes.count) { buffer, count in
        count = buffer[...].initialize(fromContentsOf: bytes)
      }
    }
    self.init(body: StoredBody(bytes[...]), ownerCount: bytes.count)
  }
}
