// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// An entry as memory holds it, in one object: its ``EntryHead``, key and metadata, and the body, or what leads to it.
///
/// It never changes, so a hit takes a single reference. An array in its place would take 16 bytes more for each entry, and
/// 300 instructions more for an insert; what it is paid with is that its bytes cannot be handed out as `ArraySlice`
/// without a copy (a slice of anything but an array ends the process when who alone has it changes it). So large bodies
/// stay arrays of their own (``ApartBody``), and small ones are shown where they lie or copied.
// Unchecked because the object is a buffer that anybody could write to: it is filled before it is seen, and never after.
struct EntryBlock: @unchecked Sendable {
  final class Object: ManagedBuffer<Object.Words, UInt8> {
    /// As much of the head as is always there.
    struct Words {
      var words: (UInt64, UInt64, UInt64) = (0, 0, 0)
    }

    /// Where the head begins: behind the two words that every object has.
    @inline(__always)
    static var headOffset: Int { 2 * MemoryLayout<UnsafeRawPointer>.size }

    @inline(__always)
    fileprivate static func make(count: Int) -> Object {
      let object = create(minimumCapacity: max(0, count &- EntryHead.narrowSize)) { _ in Words() }
      return unsafeDowncast(object, to: Object.self)
    }

    /// The head where it lies.
    @inline(__always)
    fileprivate var head: EntryHead {
      EntryHead(start: UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()) + Self.headOffset)
    }

    deinit {
      if let apart = head.apart { UnsafeMutablePointer(mutating: apart).deinitialize(count: 1) }
    }
  }

  /// Where the body of an entry is.
  enum Body {
    /// With the head. Its bytes are copied.
    case within(UnsafeRawBufferPointer)
    case apart(ApartBody)
  }

  /// Bodies up to this size are copied in beside the head. With 1 KiB it saves 128 bytes of overhead, a hit touches one
  /// allocation instead of two, and storing again what is held takes as long as with the body apart (0.49 µs). An insert
  /// that evicts pays for the copy with a quarter of its time, unless the memory that it goes to was asked for
  /// (``Room/dropGarbage()``): 0.8 µs instead of 1.0. Larger bodies keep the allocation they came in.
  static let packedBodyLimit = 4096

  let object: Object

  @inline(__always)
  init(_ object: Object) {
    self.object = object
  }

  init(
    id: UInt64, revision: UInt64, variant: UInt64, storedAt: Int64, key: UnsafeRawBufferPointer,
    metadata: UnsafeRawBufferPointer, body: Body
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
    object = Object.make(count: end)
    let target = UnsafeMutableRawPointer(mutating: object.head.start)
    fields.write(to: target)
    if let bytes = key.baseAddress { memcpy(target + keyStart, bytes, key.count) }
    if let bytes = metadata.baseAddress { memcpy(target + metadataStart, bytes, metadata.count) }
    switch body {
    case .within(let body): if let bytes = body.baseAddress { memcpy(target + bodyStart, bytes, body.count) }
    case .apart(let apart): (target + EntryHead.wideSize).initializeMemory(as: ApartBody.self, to: apart)
    }
  }

  /// What memory keeps of a new entry.
  // Not an initializer, which owns its arguments: 230 instructions more, to copy the entry and to destroy the copy.
  static func of(_ entry: NewEntry, id: UInt64) -> EntryBlock {
    entry.key.bytes.withUnsafeBytes { key in
      entry.metadata.withUnsafeBytes { metadata in
        entry.body.withUnsafeBytes { body in
          EntryBlock(
            id: id, revision: id, variant: entry.variant.rawValue, storedAt: entry.storedAt, key: key,
            metadata: metadata,
            body: body.count <= packedBodyLimit ? .within(body) : .apart(ApartBody(ownerOf: entry.body)))
        }
      }
    }
  }

  /// What memory keeps of an entry that was read from disk.
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

  /// The same key and body under other metadata.
  func replacingMetadata(_ metadata: UnsafeRawBufferPointer, storedAt: Int64, revision: UInt64) -> EntryBlock
  {
    withHead { head in
      EntryBlock(
        head, metadata: metadata, storedAt: storedAt, revision: revision,
        body: head.apart.map { .apart($0.pointee) } ?? .within(head.body))
    }
  }

  // MARK: Reading

  /// The head where it lies: good as long as the block lives, whose one allocation stays where it is.
  ///
  /// By a closure that is given it, the unknown work in it would make the compiler take a reference of its own, which costs
  /// more on every hit than finding the bytes.
  @inline(__always)
  var unsafeHead: EntryHead { object.head }

  @inline(__always)
  func withHead<Result>(_ read: (EntryHead) -> Result) -> Result {
    withExtendedLifetime(object) { read(unsafeHead) }
  }

  var variant: VariantID { VariantID(rawValue: withHead { $0.variant }) }

  var body: StoredBody { withHead { $0.apart?.pointee.body } ?? StoredBody(self) }

  // MARK: Size

  /// What an entry occupies beside its allocations: its share of the table at its emptiest.
  static let indexOverhead =
    Int((EntryTable.placesPerEntry * Double(MemoryLayout<EntryTable.Place>.stride)).rounded(.up))

  /// What the entry occupies, in bytes: its allocations and ``indexOverhead``.
  var cost: Int { withHead(Self.cost) }

  /// The same of the entry that begins with a head.
  ///
  /// Of lengths and not of capacities, so that the same entry always costs the same: `malloc` sometimes gives 16 bytes
  /// more than it was asked for.
  @inline(__always)
  static func cost(of head: EntryHead) -> Int {
    // The object's two words; an array has four.
    allocationSize(head.count + Object.headOffset) + indexOverhead
      + (head.apart.map { allocationSize($0.pointee.ownerCount + 32) } ?? 0)
  }

  /// What `malloc` takes for so many bytes: 8 of its own, in steps of 16.
  @inline(__always)
  private static func allocationSize(_ count: Int) -> Int { (count + 8 + 15) & ~15 }
}

/// A body that is not with its entry: in an array, or in a file.
struct ApartBody: Sendable {
  let body: StoredBody
  /// The length of the array that the body is part of; 0 if it is in a file.
  let ownerCount: Int

  init(body: StoredBody, ownerCount: Int) {
    self.body = body
    self.ownerCount = ownerCount
  }

  /// The whole of an array.
  init(ownerOf bytes: [UInt8]) {
    var bytes = bytes
    if bytes.capacity - bytes.count > 64 {
      // An array that grew by appending may own up to twice what it shows.
      bytes = [UInt8](unsafeUninitializedCapacity: bytes.count) { buffer, count in
        count = buffer[...].initialize(fromContentsOf: bytes)
      }
    }
    self.init(body: StoredBody(bytes[...]), ownerCount: bytes.count)
  }
}
