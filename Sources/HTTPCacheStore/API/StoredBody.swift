// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The body of a stored entry: whole in memory, or read from disk in pieces.
///
/// A body stays readable while its entry is replaced, evicted or removed. The store verifies bytes from disk before you
/// get them. A mismatch throws, removes the entry, and is counted.
public struct StoredBody: Sendable {
  enum Storage: Sendable {
    case resident(ArraySlice<UInt8>)
    /// A small body, in one object with its head.
    case packed(EntryBlock)
    case file(any BodyReading)
  }

  let storage: Storage

  init(_ bytes: ArraySlice<UInt8>) {
    storage = .resident(bytes)
  }

  init(_ block: EntryBlock) {
    storage = .packed(block)
  }

  init(_ reader: any BodyReading) {
    storage = .file(reader)
  }

  /// The length of the body in bytes.
  public var count: Int {
    switch storage {
    case .resident(let bytes): bytes.count
    case .packed(let block): block.withHead { $0.bodyCount }
    case .file(let reader): reader.count
    }
  }

  /// Whether the body is in memory. Reading a body in memory never blocks and never throws.
  public var isResident: Bool {
    if case .file = storage { false } else { true }
  }

  /// The whole body if it is in memory; `nil` if it must be read from disk.
  ///
  /// - Complexity: O(1), and O(`count`) for a body of 4 KiB or less, which is copied: ``withResidentBytes(_:)`` does
  ///   not copy it.
  package var residentBytes: ArraySlice<UInt8>? {
    switch storage {
    case .resident(let bytes): bytes
    case .packed: copy(0..<count)
    case .file: nil
    }
  }

  /// Calls `work` with the whole body in place, without a copy, if it is in memory.
  ///
  /// - Returns: whether `work` was called; `false` if the body must be read from disk.
  /// - Complexity: O(1).
  @discardableResult
  package func withResidentBytes(_ work: (RawSpan) -> Void) -> Bool {
    switch storage {
    case .resident(let bytes): bytes.withUnsafeBytes { work($0.bytes) }
    case .packed(let block): block.withHead { work($0.body.bytes) }
    case .file: return false
    }
    return true
  }

  /// Copies a range of a body in memory into its own array.
  private func copy(_ range: Range<Int>) -> ArraySlice<UInt8> {
    var bytes: [UInt8] = []
    withResidentBytes { all in all.extracting(range).withUnsafeBytes { bytes = Array($0) } }
    return bytes[...]
  }

  /// Reads a piece of the body. Blocks on the disk unless ``isResident``.
  ///
  /// - Parameters:
  ///   - offset: where to begin, in bytes from the start of the body.
  ///   - maximumCount: maximum bytes to read. The result may be shorter: at most 1 MiB at a time for a body on disk.
  /// - Returns: the bytes. They are empty only at or after the end of the body, for a negative `offset`, and for a
  ///   `maximumCount` of 0 or less.
  /// - Throws: ``StoreError`` with the code `corrupt` if the checksum is wrong, or `inputOutput` if the disk cannot be
  ///   read. In both cases the store removes the entry.
  /// - Complexity: O(bytes read), and 64 KiB of checksums for a body on disk. O(1) for a body in memory of more than
  ///   4 KiB.
  public func read(from offset: Int, upTo maximumCount: Int) throws(StoreError) -> ArraySlice<UInt8> {
    try read(from: offset, upTo: maximumCount, atOnce: false) ?? []
  }

  /// Reads a piece of the body as ``read(from:upTo:)`` does.
  ///
  /// - Parameter atOnce: whether to return `nil` instead of waiting for the disk or failing. A call that may wait then
  ///   says what is wrong, if anything is.
  package func read(
    from offset: Int, upTo maximumCount: Int, atOnce: Bool
  ) throws(StoreError) -> ArraySlice<UInt8>? {
    guard offset >= 0, maximumCount > 0, offset < count else { return [] }
    switch storage {
    case .resident(let bytes):
      let start = bytes.startIndex + offset
      return bytes[start..<start + Swift.min(maximumCount, bytes.endIndex - start)]
    case .packed:
      return copy(offset..<offset + Swift.min(maximumCount, count - offset))
    case .file(let reader):
      return try reader.read(from: offset, upTo: maximumCount, atOnce: atOnce)
    }
  }

  /// Reads and verifies the block that contains a position of a body on disk, so that the next read from there cannot
  /// fail.
  ///
  /// The block, up to 64 KiB, stays in memory until that read takes it: the disk is not read twice. Call this before
  /// you promise the body to a client. For a body in memory it does nothing.
  ///
  /// - Parameters:
  ///   - offset: the position, in bytes from the start of the body.
  ///   - atOnce: whether to return `false` instead of waiting for the disk or failing.
  /// - Throws: as ``read(from:upTo:)``.
  @discardableResult
  package func prepare(from offset: Int, atOnce: Bool = false) throws(StoreError) -> Bool {
    guard case .file(let reader) = storage, offset >= 0, offset < count else { return true }
    return try reader.prepare(from: offset, atOnce: atOnce)
  }

  /// Reads the whole body into memory. Blocks on the disk unless ``isResident``.
  ///
  /// - Throws: as ``read(from:upTo:)``.
  /// - Complexity: O(`count`) for a body on disk or of 4 KiB or less, O(1) for any other in memory.
  public func readAll() throws(StoreError) -> ArraySlice<UInt8> {
    guard case .file(let reader) = storage else { return residentBytes ?? [] }
    var all: [UInt8] = []
    all.reserveCapacity(reader.count)
    while all.count < reader.count {
      all += try read(from: all.count, upTo: reader.count - all.count)
    }
    return all[...]
  }
}

/// Reads a body on disk. An implementation returns at least one byte before the end, or throws; if it must neither wait
/// nor fail, it may return `nil` or `false`.
protocol BodyReading: AnyObject, Sendable {
  var count: Int { get }
  func prepare(from offset: Int, atOnce: Bool) throws(StoreError) -> Bool
  func read(from offset: Int, upTo maximumCount: Int, atOnce: Bool) throws(StoreError) -> ArraySlice<UInt8>?
}
