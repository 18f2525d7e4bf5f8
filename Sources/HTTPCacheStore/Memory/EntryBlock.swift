#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The one allocation of an entry: a header of three words, then key, metadata and, where it is small or was read with
/// them, the body.
///
/// It is an array of bytes, whole and never changed, so that a hit takes a single reference, and metadata and body are
/// handed out as slices of it, without a copy. That takes 16 bytes more than an object of our own would, whose bytes could
/// not be handed out as `ArraySlice`. What does not fit into the fields of the three words is behind them, in
/// four more:
///
/// | word | low bits | | high bits |
/// |---|---|---|---|
/// | 0 | 1: whether four more follow | 15: length of the key | 48: id |
/// | 1 | 64: variant | | |
/// | 2 | 20: length of the metadata | | 44: storedAt, signed |
/// | 3 to 6 | id; revision; storedAt; length of key below length of metadata, 32 each | | |
///
/// Where four more follow, the rest of word 0 is how many bytes are skipped before the key: a block that was read from disk
/// begins where its record did (``init(capacity:reading:)``).
///
/// An entry whose metadata was updated has a revision of its own; any other's is its id.
struct EntryBlock: Sendable {
  fileprivate static let narrowSize = 24
  fileprivate static let wideSize = 56

  let bytes: [UInt8]

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
      revision == id && id >> 48 == 0 && key.count >> 15 == 0 && metadata.count >> 20 == 0
      && (storedAt << 20) >> 20 == storedAt
    let headerCount = isNarrow ? Self.narrowSize : Self.wideSize
    let metadataStart = headerCount + key.count
    let bodyStart = metadataStart + metadata.count
    let count = bodyStart + body.count
    bytes = [UInt8](capacity: count) { target in
      let words: (UInt64, UInt64, UInt64) =
        isNarrow
        ? (
          id << 16 | UInt64(key.count) << 1, variant,
          UInt64(bitPattern: storedAt) << 20 | UInt64(metadata.count)
        ) : (1, variant, 0)
      target.storeBytes(of: words, as: (UInt64, UInt64, UInt64).self)
      if !isNarrow {
        let lengths = UInt64(metadata.count) << 32 | UInt64(key.count)
        target.storeBytes(
          of: (id, revision, UInt64(bitPattern: storedAt), lengths), toByteOffset: Self.narrowSize,
          as: (UInt64, UInt64, UInt64, UInt64).self)
      }
      UnsafeMutableRawBufferPointer(rebasing: target[headerCount...]).copyMemory(from: key)
      UnsafeMutableRawBufferPointer(rebasing: target[metadataStart...]).copyMemory(from: metadata)
      UnsafeMutableRawBufferPointer(rebasing: target[bodyStart...]).copyMemory(from: body)
      return count
    }
  }

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
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
    bytes = try [UInt8](capacity: capacity) { buffer throws(Failure) in
      guard let fields = try read(buffer) else { return 0 }
      precondition(fields.keyStart >= Self.wideSize, "no room for the header of a block")
      buffer.storeBytes(
        of: (1 | UInt64(fields.keyStart - Self.wideSize) << 1, fields.variant, 0),
        as: (UInt64, UInt64, UInt64).self)
      let lengths = UInt64(fields.metadataCount) << 32 | UInt64(fields.keyCount)
      buffer.storeBytes(
        of: (fields.id, fields.revision, UInt64(bitPattern: fields.storedAt), lengths),
        toByteOffset: Self.narrowSize, as: (UInt64, UInt64, UInt64, UInt64).self)
      return fields.keyStart + fields.keyCount + fields.metadataCount + fields.bodyCount
    }
    if bytes.isEmpty { return nil }
  }

  @inline(__always)
  func withHead<Result>(_ read: (EntryHead) -> Result) -> Result {
    bytes.withUnsafeBytes { read(EntryHead($0)) }
  }

  var variant: UInt64 { withHead { $0.variant } }
  var id: UInt64 { withHead { $0.id } }
  var revision: UInt64 { withHead { $0.revision } }
  var storedAt: Int64 { withHead { $0.storedAt } }

  var key: ArraySlice<UInt8> { bytes[withHead { $0.keyStart..<$0.metadataStart }] }
  var metadata: ArraySlice<UInt8> { bytes[withHead { $0.metadataStart..<$0.bodyStart }] }
  /// The metadata where it lies.
  ///
  /// The pointer leaves the closure that gives it: as long as the block lives, its one allocation stays where it is.
  /// Within that closure, the unknown work makes the compiler take a reference of its own, which costs more on every hit
  /// than finding the bytes.
  @inline(__always)
  var unsafeMetadata: UnsafeRawBufferPointer { withHead { $0.metadata } }

  /// The body where it lies, as ``unsafeMetadata``.
  @inline(__always)
  var unsafeBody: UnsafeRawBufferPointer {
    bytes.withUnsafeBytes { bytes in
      UnsafeRawBufferPointer(rebasing: bytes[EntryHead(bytes).bodyStart...])
    }
  }

  var body: ArraySlice<UInt8> { bytes[withHead { $0.bodyStart }...] }
  var bodyCount: Int { bytes.count - withHead { $0.bodyStart } }

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
  init(_ bytes: UnsafeRawBufferPointer) {
    // No block is empty.
    start = bytes.baseAddress.unsafelyUnwrapped
  }

  @inline(__always)
  private func word(_ index: Int) -> UInt64 {
    start.loadUnaligned(fromByteOffset: index &* 8, as: UInt64.self)
  }

  private var isWide: Bool { word(0) & 1 != 0 }

  var variant: UInt64 { word(1) }
  var id: UInt64 { isWide ? word(3) : word(0) >> 16 }
  var revision: UInt64 { isWide ? word(4) : word(0) >> 16 }
  var storedAt: Int64 { Int64(bitPattern: isWide ? word(5) : word(2)) >> (isWide ? 0 : 20) }

  fileprivate var keyStart: Int {
    isWide ? EntryBlock.wideSize + Int(truncatingIfNeeded: word(0) >> 1) : EntryBlock.narrowSize
  }

  private var keyCount: Int {
    Int(truncatingIfNeeded: isWide ? word(6) & 0xFFFF_FFFF : word(0) >> 1 & 0x7FFF)
  }

  fileprivate var metadataStart: Int { keyStart + keyCount }

  @inline(__always)
  fileprivate var bodyStart: Int {
    let first = word(0)
    // Every hit asks for the length of its body.
    guard first & 1 == 0 else { return wideBodyStart }
    return EntryBlock.narrowSize &+ Int(truncatingIfNeeded: (first >> 1 & 0x7FFF) &+ (word(2) & 0xF_FFFF))
  }

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
