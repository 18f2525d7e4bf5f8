#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The one allocation of an entry: an object with a header of three words, then key, metadata and, where it is small or was
/// read with them, the body.
///
/// It never changes, so a hit takes a single reference, and metadata and body are handed out as slices of it, without a
/// copy (``Swift/ArraySlice/init(of:at:count:)``). What does not fit into the fields of the three words is behind them, in
/// four more:
///
/// | word | low bits | | | high bits |
/// |---|---|---|---|---|
/// | 0 | 1: whether four more follow | 10: length of the key | 13: length of the body | 40: id |
/// | 1 | 64: variant | | | |
/// | 2 | 20: length of the metadata | | | 44: storedAt, signed |
/// | 3 to 6 | id; revision; storedAt; length of key below length of metadata, 32 each | | | |
///
/// Where four more follow, the rest of word 0 is how many bytes are skipped before the key: a block that was read from disk
/// begins where its record did (``init(capacity:reading:)``). Word 2 is then the length of the body.
///
/// An entry whose metadata was updated has a revision of its own; any other's is its id.
// Unchecked because the object is a buffer that anybody could write to: it is filled before it is seen, and never after.
struct EntryBlock: @unchecked Sendable {
  fileprivate static let narrowSize = 24
  fileprivate static let wideSize = 56

  /// An array would take 16 bytes more for each entry, and 300 instructions more for an insert.
  final class Object: ManagedBuffer<Object.Words, UInt8> {
    struct Words {
      var words: (UInt64, UInt64, UInt64) = (0, 0, 0)
    }

    /// Where the header begins: behind the two words that every object has.
    static let headerOffset = 16

    /// An object with room for so many bytes, those of the header among them.
    @inline(__always)
    fileprivate static func make(count: Int) -> Object {
      let object = create(minimumCapacity: max(0, count - narrowSize)) { _ in Words() }
      return unsafeDowncast(object, to: Object.self)
    }
  }

  let object: Object

  init(
    id: UInt64, revision: UInt64, variant: UInt64, storedAt: Int64, key: some Bytes, metadata: some Bytes,
    body: some Bytes
  ) {
    // By pointers: slices of slices cost counted references, a tenth of an insert.
    self = key.withUnsafeBufferPointer { key in
      metadata.withUnsafeBufferPointer { metadata in
        body.withUnsafeBufferPointer { body in
          EntryBlock(
            id: id, revision: revision, variant: variant, storedAt: storedAt,
            key: UnsafeRawBufferPointer(key), metadata: UnsafeRawBufferPointer(metadata),
            body: UnsafeRawBufferPointer(body))
        }
      }
    }
  }

  init(
    id: UInt64, revision: UInt64, variant: UInt64, storedAt: Int64, key: UnsafeRawBufferPointer,
    metadata: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer
  ) {
    let isNarrow =
      revision == id && id >> 40 == 0 && key.count >> 10 == 0 && metadata.count >> 20 == 0
      && body.count >> 13 == 0 && (storedAt << 20) >> 20 == storedAt
    let headerCount = isNarrow ? Self.narrowSize : Self.wideSize
    let metadataStart = headerCount + key.count
    let bodyStart = metadataStart + metadata.count
    object = Object.make(count: bodyStart + body.count)
    let target = UnsafeMutableRawPointer(mutating: Self.start(of: object))
    let words: (UInt64, UInt64, UInt64) =
      isNarrow
      ? (
        id << 24 | UInt64(body.count) << 11 | UInt64(key.count) << 1, variant,
        UInt64(bitPattern: storedAt) << 20 | UInt64(metadata.count)
      ) : (1, variant, UInt64(body.count))
    target.storeBytes(of: words, as: (UInt64, UInt64, UInt64).self)
    if !isNarrow {
      let lengths = UInt64(metadata.count) << 32 | UInt64(key.count)
      target.storeBytes(
        of: (id, revision, UInt64(bitPattern: storedAt), lengths), toByteOffset: Self.narrowSize,
        as: (UInt64, UInt64, UInt64, UInt64).self)
    }
    if let bytes = key.baseAddress { memcpy(target + headerCount, bytes, key.count) }
    if let bytes = metadata.baseAddress { memcpy(target + metadataStart, bytes, metadata.count) }
    if let bytes = body.baseAddress { memcpy(target + bodyStart, bytes, body.count) }
  }

  init(_ object: Object) {
    self.object = object
  }

  /// The first byte of the header.
  @inline(__always)
  private static func start(of object: Object) -> UnsafeRawPointer {
    UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque()) + Object.headerOffset
  }

  /// What the header of a block says.
  struct Fields {
    var id: UInt64
    var revision: UInt64
    var variant: UInt64
    var storedAt: Int64
    /// The bytes before the key, which the block's header takes the place of: at least ``EntryBlock/wideSize``.
    var keyStart: Int
    var keyCount: Int
    var metadataCount: Int
    var bodyCount: Int
  }

  /// A block that is read where it stays: something to be verified, and behind it key, metadata and body.
  ///
  /// - Parameters:
  ///   - capacity: the bytes that are read.
  ///   - read: reads them, and says what they are; `nil` when they are not to be a block.
  init?<Failure: Error>(
    capacity: Int, reading read: (UnsafeMutableRawBufferPointer) throws(Failure) -> Fields?
  ) throws(Failure) {
    precondition(capacity >= Self.wideSize, "no room for the header of a block")
    object = Object.make(count: capacity)
    let buffer = UnsafeMutableRawBufferPointer(
      start: UnsafeMutableRawPointer(mutating: Self.start(of: object)), count: capacity)
    guard let fields = try read(buffer) else { return nil }
    precondition(
      fields.keyStart >= Self.wideSize
        && fields.keyStart + fields.keyCount + fields.metadataCount + fields.bodyCount <= capacity,
      "a block that is read reaches beyond its memory")
    buffer.storeBytes(
      of: (1 | UInt64(fields.keyStart - Self.wideSize) << 1, fields.variant, UInt64(fields.bodyCount)),
      as: (UInt64, UInt64, UInt64).self)
    let lengths = UInt64(fields.metadataCount) << 32 | UInt64(fields.keyCount)
    buffer.storeBytes(
      of: (fields.id, fields.revision, UInt64(bitPattern: fields.storedAt), lengths),
      toByteOffset: Self.narrowSize, as: (UInt64, UInt64, UInt64, UInt64).self)
  }

  /// The head where it lies: good as long as the block lives.
  @inline(__always)
  var unsafeHead: EntryHead { EntryHead(start: Self.start(of: object)) }

  @inline(__always)
  private func withHead<Result>(_ read: (EntryHead) -> Result) -> Result {
    withExtendedLifetime(object) { read(unsafeHead) }
  }

  var variant: UInt64 { withHead { $0.variant } }
  var id: UInt64 { withHead { $0.id } }
  var revision: UInt64 { withHead { $0.revision } }
  var storedAt: Int64 { withHead { $0.storedAt } }
  var bodyCount: Int { withHead { $0.bodyCount } }
  /// From the header to the end of the body.
  var count: Int { withHead { $0.count } }

  var key: ArraySlice<UInt8> { slice { $0.key } }
  var metadata: ArraySlice<UInt8> { slice { $0.metadata } }
  var body: ArraySlice<UInt8> { slice { $0.body } }

  private func slice(_ part: (EntryHead) -> UnsafeRawBufferPointer) -> ArraySlice<UInt8> {
    withHead { head in
      let bytes = part(head)
      return bytes.baseAddress.map { ArraySlice(of: object, at: $0, count: bytes.count) } ?? []
    }
  }

  /// The metadata where it lies.
  ///
  /// Good as long as the block lives, whose one allocation stays where it is. By a closure that is given the pointer, the
  /// unknown work in it would make the compiler take a reference of its own, which costs more on every hit than finding
  /// the bytes.
  @inline(__always)
  var unsafeMetadata: UnsafeRawBufferPointer { unsafeHead.metadata }

  /// The body where it lies, as ``unsafeMetadata``.
  @inline(__always)
  var unsafeBody: UnsafeRawBufferPointer { unsafeHead.body }

  func hasKey(_ key: UnsafeRawBufferPointer) -> Bool { withHead { $0.hasKey(key) } }
}

/// The beginning of a block, read where it lies.
struct EntryHead {
  fileprivate let start: UnsafeRawPointer

  /// - Parameter start: the first byte of a block, to be read while that is there.
  @inline(__always)
  init(start: UnsafeRawPointer) {
    self.start = start
  }

  @inline(__always)
  private func word(_ index: Int) -> UInt64 {
    start.loadUnaligned(fromByteOffset: index &* 8, as: UInt64.self)
  }

  private var isWide: Bool { word(0) & 1 != 0 }

  var variant: UInt64 { word(1) }
  var id: UInt64 { isWide ? word(3) : word(0) >> 24 }
  var revision: UInt64 { isWide ? word(4) : word(0) >> 24 }
  var storedAt: Int64 { Int64(bitPattern: isWide ? word(5) : word(2)) >> (isWide ? 0 : 20) }

  fileprivate var keyStart: Int {
    isWide ? EntryBlock.wideSize + Int(truncatingIfNeeded: word(0) >> 1) : EntryBlock.narrowSize
  }

  private var keyCount: Int {
    Int(truncatingIfNeeded: isWide ? word(6) & 0xFFFF_FFFF : word(0) >> 1 & 0x3FF)
  }

  fileprivate var metadataStart: Int { keyStart + keyCount }

  @inline(__always)
  fileprivate var bodyStart: Int {
    let first = word(0)
    // Every hit asks for the length of its body.
    guard first & 1 == 0 else { return wideBodyStart }
    return EntryBlock.narrowSize &+ Int(truncatingIfNeeded: (first >> 1 & 0x3FF) &+ (word(2) & 0xF_FFFF))
  }

  @inline(__always)
  var bodyCount: Int {
    let first = word(0)
    return Int(truncatingIfNeeded: first & 1 == 0 ? first >> 11 & 0x1FFF : word(2))
  }

  /// From the first byte of the block to the end of the body.
  @inline(__always)
  var count: Int { bodyStart &+ bodyCount }

  @inline(never)
  private var wideBodyStart: Int { metadataStart + Int(truncatingIfNeeded: word(6) >> 32) }

  @inline(__always)
  func hasKey(_ key: UnsafeRawBufferPointer) -> Bool {
    guard keyCount == key.count else { return false }
    guard let bytes = key.baseAddress else { return true }
    return memcmp(start + keyStart, bytes, key.count) == 0
  }

  /// The metadata, good while the block is there.
  @inline(__always)
  fileprivate var metadata: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: start + metadataStart, count: bodyStart - metadataStart)
  }

  /// The body, good while the block is there.
  @inline(__always)
  fileprivate var body: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: start + bodyStart, count: bodyCount)
  }

  /// The key, good while the block is there.
  var key: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start + keyStart, count: keyCount) }
}

/// Bytes that are given by pointer without a copy.
protocol Bytes: Sendable {
  var count: Int { get }
  func withUnsafeBufferPointer<Result, Failure: Error>(
    _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result
}

extension [UInt8]: Bytes {}
extension ArraySlice<UInt8>: Bytes {}
