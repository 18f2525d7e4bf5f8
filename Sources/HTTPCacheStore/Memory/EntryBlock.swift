#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The one allocation of an entry: a header of three words, then key, metadata and, where it is small, the body.
///
/// It is an array of bytes, whole and never changed, so that a hit takes a single reference, and metadata and body are
/// handed out as slices of it, without a copy. What does not fit into the fields of the three words is behind them, in
/// four more:
///
/// | word | low bits | | high bits |
/// |---|---|---|---|
/// | 0 | 1: whether four more follow | 15: length of the key | 48: id |
/// | 1 | 64: variant | | |
/// | 2 | 20: length of the metadata | | 44: storedAt, signed |
/// | 3 to 6 | id; revision; storedAt; length of key below length of metadata, 32 each | | |
///
/// An entry whose metadata was updated has a revision of its own; any other's is its id.
struct EntryBlock: Sendable {
  private static let narrowSize = 24
  private static let wideSize = 56

  let bytes: [UInt8]

  init(
    id: UInt64, revision: UInt64, variant: UInt64, storedAt: Int64, key: some Bytes, metadata: some Bytes,
    body: ArraySlice<UInt8>
  ) {
    // By pointers: slices of slices cost counted references, a tenth of an insert.
    bytes = key.withUnsafeBufferPointer { key in
      metadata.withUnsafeBufferPointer { metadata in
        body.withUnsafeBufferPointer { body in
          Self.bytes(
            id: id, revision: revision, variant: variant, storedAt: storedAt,
            key: UnsafeRawBufferPointer(key),
            metadata: UnsafeRawBufferPointer(metadata), body: UnsafeRawBufferPointer(body))
        }
      }
    }
  }

  private static func bytes(
    id: UInt64, revision: UInt64, variant: UInt64, storedAt: Int64, key: UnsafeRawBufferPointer,
    metadata: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer
  ) -> [UInt8] {
    let isNarrow =
      revision == id && id >> 48 == 0 && key.count >> 15 == 0 && metadata.count >> 20 == 0
      && (storedAt << 20) >> 20 == storedAt
    let headerCount = isNarrow ? narrowSize : wideSize
    let metadataStart = headerCount + key.count
    let bodyStart = metadataStart + metadata.count
    let count = bodyStart + body.count
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      let target = UnsafeMutableRawBufferPointer(buffer)
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
          of: (id, revision, UInt64(bitPattern: storedAt), lengths), toByteOffset: narrowSize,
          as: (UInt64, UInt64, UInt64, UInt64).self)
      }
      UnsafeMutableRawBufferPointer(rebasing: target[headerCount...]).copyMemory(from: key)
      UnsafeMutableRawBufferPointer(rebasing: target[metadataStart...]).copyMemory(from: metadata)
      UnsafeMutableRawBufferPointer(rebasing: target[bodyStart...]).copyMemory(from: body)
      initialized = count
    }
  }

  @inline(__always)
  private func word(_ index: Int) -> UInt64 {
    bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: index &* 8, as: UInt64.self) }
  }

  private var isWide: Bool { word(0) & 1 != 0 }

  var variant: UInt64 { word(1) }
  var id: UInt64 { isWide ? word(3) : word(0) >> 16 }
  var revision: UInt64 { isWide ? word(4) : word(0) >> 16 }
  var storedAt: Int64 { Int64(bitPattern: isWide ? word(5) : word(2)) >> (isWide ? 0 : 20) }

  private var headerCount: Int { isWide ? Self.wideSize : Self.narrowSize }

  private var keyCount: Int {
    let word = word(0)
    return Int(truncatingIfNeeded: word & 1 != 0 ? self.word(6) & 0xFFFF_FFFF : word >> 1 & 0x7FFF)
  }

  private var metadataCount: Int {
    Int(truncatingIfNeeded: isWide ? word(6) >> 32 : word(2) & 0xF_FFFF)
  }

  var key: ArraySlice<UInt8> {
    let start = headerCount
    return bytes[start..<start + keyCount]
  }

  var metadata: ArraySlice<UInt8> {
    let start = headerCount + keyCount
    return bytes[start..<start + metadataCount]
  }

  /// The metadata where it lies.
  ///
  /// The pointer leaves the closure that gives it: as long as the block lives, its one allocation stays where it is.
  /// Within that closure, the unknown work makes the compiler take a reference of its own, which costs more on every hit
  /// than finding the bytes.
  @inline(__always)
  var unsafeMetadata: UnsafeRawBufferPointer {
    let start = headerCount + keyCount
    let count = metadataCount
    return bytes.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[start..<start + count]) }
  }

  var body: ArraySlice<UInt8> { bytes[(bytes.count - bodyCount)...] }

  var bodyCount: Int { bytes.count - headerCount - keyCount - metadataCount }

  @inline(__always)
  func hasKey(_ key: UnsafeRawBufferPointer) -> Bool {
    bytes.withUnsafeBytes { mine in
      let word = mine.loadUnaligned(as: UInt64.self)
      var start = Self.narrowSize
      var count = Int(truncatingIfNeeded: word >> 1 & 0x7FFF)
      if word & 1 != 0 {
        start = Self.wideSize
        count = Int(truncatingIfNeeded: mine.loadUnaligned(fromByteOffset: 48, as: UInt64.self) & 0xFFFF_FFFF)
      }
      guard count == key.count, let left = mine.baseAddress, let right = key.baseAddress else {
        return count == key.count && count == 0
      }
      return memcmp(left + start, right, count) == 0
    }
  }
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
