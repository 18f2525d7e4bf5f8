// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The beginning of an entry, read in place. Key and metadata follow, and also the body unless it is apart.
///
/// Three words are enough for nearly all entries; the others use seven.
///
/// | word | low bits | | | high bits |
/// |---|---|---|---|---|
/// | 0 | 1: zero | 10: length of the key | 13: length of the body | 40: the lower bits of the id |
/// | 1 | 16: length of the metadata | 4: the upper bits of the id | | 44: storedAt, signed |
/// | 2 | 64: variant | | | |
///
/// | word | of seven |
/// |---|---|
/// | 0 | 1: one; 1: whether the body is apart; above, the bytes that are skipped before the key: an ``ApartBody``, or what is left of the head of a record that was read from disk |
/// | 1, 2 | variant; length of the body |
/// | 3, 4, 5 | id; revision; storedAt |
/// | 6 | length of the key below the length of the metadata, 32 bits each |
///
/// An entry whose metadata was updated has its own revision; for any other entry, the revision is the id.
struct EntryHead {
  /// Bytes of the words of a head with seven.
  static let wideSize = 56
  /// Bytes of the words of a head with three.
  static let narrowSize = 24

  /// The contents of the words.
  struct Fields {
    var id: UInt64
    var revision: UInt64
    var variant: UInt64
    var storedAt: Int64
    var keyCount: Int
    var metadataCount: Int
    var bodyCount: Int
    /// Whether the body is in an ``ApartBody``.
    var isApart = false

    var isNarrow: Bool {
      !isApart && revision == id && id >> 44 == 0 && keyCount >> 10 == 0 && metadataCount >> 16 == 0
        && bodyCount >> 13 == 0 && (storedAt << 20) >> 20 == storedAt
    }

    private var apartCount: Int { isApart ? MemoryLayout<ApartBody>.stride : 0 }

    /// Bytes of the words, including the ``ApartBody`` if there is one.
    var headCount: Int { isNarrow ? narrowSize : wideSize + apartCount }

    /// Writes the words.
    ///
    /// - Parameters:
    ///   - target: memory for ``headCount`` bytes, or for ``EntryHead/wideSize`` if bytes are skipped.
    ///   - skipped: the bytes between the end of seven words and the key; `nil` if the key follows at once.
    func write(to target: UnsafeMutableRawPointer, skipping skipped: Int? = nil) {
      if isNarrow, skipped == nil {
        let first = id << 24 | UInt64(bodyCount) << 11 | UInt64(keyCount) << 1
        let second = UInt64(bitPattern: storedAt) << 20 | (id >> 40) << 16 | UInt64(metadataCount)
        target.storeBytes(of: (first, second, variant), as: (UInt64, UInt64, UInt64).self)
        return
      }
      target.storeBytes(
        of: (1 | (isApart ? 2 : 0) | UInt64(skipped ?? apartCount) << 2, variant, UInt64(bodyCount)),
        as: (UInt64, UInt64, UInt64).self)
      target.storeBytes(
        of: (id, revision, UInt64(bitPattern: storedAt), UInt64(metadataCount) << 32 | UInt64(keyCount)),
        toByteOffset: 24, as: (UInt64, UInt64, UInt64, UInt64).self)
    }
  }

  let start: UnsafeRawPointer

  /// - Parameter start: the first byte of the words, which must stay valid while they are read.
  @inline(__always)
  init(start: UnsafeRawPointer) {
    self.start = start
  }

  @inline(__always)
  private func word(_ index: Int) -> UInt64 {
    start.loadUnaligned(fromByteOffset: index &* 8, as: UInt64.self)
  }

  private var isWide: Bool { word(0) & 1 != 0 }

  private var narrowID: UInt64 { word(0) >> 24 | (word(1) >> 16 & 0xF) << 40 }

  var variant: UInt64 { isWide ? word(1) : word(2) }
  var id: UInt64 { isWide ? word(3) : narrowID }
  var revision: UInt64 { isWide ? word(4) : narrowID }
  var storedAt: Int64 { Int64(bitPattern: isWide ? word(5) : word(1)) >> (isWide ? 0 : 20) }

  @inline(__always)
  private var keyStart: Int {
    let first = word(0)
    guard first & 1 == 0 else { return Self.wideSize &+ Int(truncatingIfNeeded: first >> 2) }
    return Self.narrowSize
  }

  @inline(__always)
  private var keyCount: Int {
    let first = word(0)
    return Int(truncatingIfNeeded: first & 1 == 0 ? first >> 1 & 0x3FF : word(6) & 0xFFFF_FFFF)
  }

  private var metadataStart: Int { keyStart &+ keyCount }

  // Inlined, because every hit needs the length of its body.
  @inline(__always)
  private var bodyStart: Int {
    let first = word(0)
    guard first & 1 == 0 else { return wideBodyStart }
    return Self.narrowSize &+ Int(truncatingIfNeeded: (first >> 1 & 0x3FF) &+ (word(1) & 0xFFFF))
  }

  @inline(never)
  private var wideBodyStart: Int { metadataStart &+ Int(truncatingIfNeeded: word(6) >> 32) }

  @inline(__always)
  var bodyCount: Int {
    let first = word(0)
    return Int(truncatingIfNeeded: first & 1 == 0 ? first >> 11 & 0x1FFF : word(2))
  }

  /// Bytes from the first word to the end of the body, or of the metadata if the body is apart.
  @inline(__always)
  var count: Int { bodyStart &+ (isApart ? 0 : bodyCount) }

  @inline(__always)
  private var isApart: Bool { word(0) & 3 == 3 }

  /// The body outside of the entry's object, if it is there. Valid while the entry exists.
  @inline(__always)
  var apart: UnsafePointer<ApartBody>? {
    isApart ? (start + Self.wideSize).assumingMemoryBound(to: ApartBody.self) : nil
  }

  @inline(__always)
  func hasKey(_ key: UnsafeRawBufferPointer) -> Bool {
    guard keyCount == key.count else { return false }
    guard let bytes = key.baseAddress else { return true }
    return memcmp(start + keyStart, bytes, key.count) == 0
  }

  /// The key. It is valid while the entry exists, and so are metadata and body.
  var key: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start + keyStart, count: keyCount) }

  @inline(__always)
  var metadata: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: start + metadataStart, count: bodyStart - metadataStart)
  }

  /// The body; call it only if the body is in the entry's object.
  @inline(__always)
  var body: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start + bodyStart, count: bodyCount) }
}
