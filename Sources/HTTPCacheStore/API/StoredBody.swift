/// The body of a stored entry: whole in memory, or read from disk in pieces.
///
/// A body stays readable while its entry is replaced, evicted or removed. What is read from disk is verified before it
/// is handed out: a mismatch throws, removes the entry and is counted.
public struct StoredBody: Sendable {
  enum Storage: Sendable {
    case resident(ArraySlice<UInt8>)
    case file(any BodyReading)
  }

  let storage: Storage

  init(_ bytes: ArraySlice<UInt8>) {
    storage = .resident(bytes)
  }

  init(_ reader: any BodyReading) {
    storage = .file(reader)
  }

  /// The length of the body in bytes.
  public var count: Int {
    switch storage {
    case .resident(let bytes): bytes.count
    case .file(let reader): reader.count
    }
  }

  /// The whole body when it is in memory, without a copy; `nil` when it must be read from disk.
  public var residentBytes: ArraySlice<UInt8>? {
    guard case .resident(let bytes) = storage else { return nil }
    return bytes
  }

  /// Reads a piece of the body.
  ///
  /// - Parameters:
  ///   - offset: where to begin, in bytes from the start of the body.
  ///   - maximumCount: the most bytes wanted. Fewer may come back: of a body on disk at most 1 MiB at a time.
  /// - Returns: the bytes; empty at or after the end of the body, and only there when `maximumCount` is positive.
  /// - Throws: ``StoreError`` of kind `corrupt` when the checksum is wrong, `io` when the disk cannot be read. Either
  ///   way the entry is removed from the store.
  public func read(from offset: Int, upTo maximumCount: Int) throws(StoreError) -> ArraySlice<UInt8> {
    guard offset >= 0, maximumCount > 0, offset < count else { return [] }
    switch storage {
    case .resident(let bytes):
      let start = bytes.startIndex + offset
      return bytes[start..<start + Swift.min(maximumCount, bytes.endIndex - start)]
    case .file(let reader):
      return try reader.read(from: offset, upTo: maximumCount)
    }
  }

  /// Reads the whole body into memory.
  ///
  /// - Throws: as ``read(from:upTo:)``.
  /// - Complexity: O(`count`) for a body on disk, O(1) for one in memory.
  public func readAll() throws(StoreError) -> ArraySlice<UInt8> {
    guard case .file(let reader) = storage else { return residentBytes ?? [] }
    var all: [UInt8] = []
    all.reserveCapacity(reader.count)
    while all.count < reader.count {
      all += try reader.read(from: all.count, upTo: reader.count - all.count)
    }
    return all[...]
  }
}

/// What a body on disk is read through. An implementation returns at least one byte before the end, or throws.
protocol BodyReading: AnyObject, Sendable {
  var count: Int { get }
  func read(from offset: Int, upTo maximumCount: Int) throws(StoreError) -> ArraySlice<UInt8>
}
