// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// An entry as it was read from disk: an array with the whole record, whose beginning is overwritten with an
/// ``EntryHead``.
///
/// Nothing is copied. A block, a separate object for the body, and their references took half of a read's instructions,
/// not counting those of the checksum. The head takes the place of the record's own, which is no longer needed.
///
/// Only lookups return this type: memory makes an ``EntryBlock`` of the entries that it keeps.
struct EntryRecord: Sendable {
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// - Parameters:
  ///   - capacity: the number of bytes to read.
  ///   - keyStart: the number of bytes before the key, of which the head needs ``EntryHead/wideSize``. Metadata and
  ///     body follow the key.
  ///   - read: reads the bytes, and returns what they are; `nil` if they must not become an entry.
  init?<Failure: Error>(
    capacity: Int, keyStart: Int,
    reading read: (UnsafeMutableRawBufferPointer) throws(Failure) -> EntryHead.Fields?
  ) throws(Failure) {
    precondition(keyStart >= EntryHead.wideSize, "no room for the head of an entry")
    bytes = try [UInt8](capacity: capacity) { buffer throws(Failure) in
      guard let fields = try read(buffer), let start = buffer.baseAddress else { return 0 }
      let end = keyStart + fields.keyCount + fields.metadataCount + fields.bodyCount
      precondition(end <= capacity, "an entry extends beyond its record")
      fields.write(to: start, skipping: keyStart - EntryHead.wideSize)
      return end
    }
    if bytes.isEmpty { return nil }
  }

  /// The head in place: valid as long as the record lives; see ``EntryBlock/unsafeHead``.
  @inline(__always)
  var unsafeHead: EntryHead {
    // No record is empty.
    EntryHead(start: bytes.withUnsafeBytes { $0.baseAddress.unsafelyUnwrapped })
  }

  func withHead<Result>(_ read: (EntryHead) -> Result) -> Result {
    withExtendedLifetime(bytes) { read(unsafeHead) }
  }

  var body: ArraySlice<UInt8> { bytes.suffix(withHead { $0.bodyCount }) }
}
