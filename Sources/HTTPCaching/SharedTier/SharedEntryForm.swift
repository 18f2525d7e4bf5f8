// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore

/// The head of an entry in a shared tier: a stored form, and what is needed to check it.
///
/// | bytes | what |
/// |---|---|
/// | 1 | version |
/// | 8, 8 | epoch and number of the log before the request to the origin |
/// | 4, text | the whole key |
/// | 4, text | the stored form, with the age at the time of storing as initial age |
/// | 8, 8 | length and checksum of the content |
/// | 8 | checksum of all bytes before it |
///
/// Checksums are XXH3 with seed 0: they find damage. They do not protect against an attacker who can write to the tier.
enum SharedEntryForm {
  static let version: UInt8 = 1

  /// A checked entry.
  struct Found: Sendable {
    var stored: StoredResponse
    /// The scopes of the response under its key.
    var scopes: [[UInt8]]
    var body: [UInt8]
    var position: SharedLogPosition
  }

  /// The head of an entry that says which fields select the variants that have keys of their own: a mark, the names, and a
  /// checksum of both.
  static func head(ofNames names: [String]) -> [UInt8] {
    var bytes = SharedBytes()
    bytes.add(RecordMark.variantIndex.rawValue)
    bytes.add(Array(names.joined(separator: ",").utf8))
    bytes.add(checksum(bytes.bytes))
    return bytes.bytes
  }

  /// Reads the names; `nil` for any other entry.
  static func names(_ found: FoundSharedEntry) -> [String]? {
    var reader = SharedBytesReader(found.head)
    guard reader.byte() == RecordMark.variantIndex.rawValue, let names = reader.text() else { return nil }
    let end = reader.position
    guard let whole = reader.number(), reader.isAtEnd, checksum(found.head[..<end]) == whole else {
      return nil
    }
    return names.split(separator: 0x2C).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Returns the key of a variant that has its own. All nodes know it, so it has no nonce: each entry has its position in
  /// the log, by which a removal of its resource concerns it.
  static func key(of variantKey: [UInt8], under key: CacheKey) -> [UInt8] {
    key.bytes + CacheKey.variantMark + variantKey
  }

  static func checksum(_ bytes: [UInt8]) -> UInt64 { checksum(bytes[...]) }

  private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.withUnsafeBytes { XXH3.hash($0, seed: 0) }
  }

  static func head(
    _ stored: StoredResponse, body: [UInt8], key: [UInt8], position: SharedLogPosition, at now: Timestamp
  ) -> [UInt8] {
    var aged = stored
    aged.facts.initialAge = stored.facts.currentAge(at: now)
    aged.facts.responseTime = now
    var bytes = SharedBytes()
    bytes.add(version)
    bytes.add(position.epoch)
    bytes.add(position.number)
    bytes.add(key)
    bytes.add(aged.encoded())
    bytes.add(UInt64(body.count))
    bytes.add(checksum(body))
    bytes.add(checksum(bytes.bytes))
    return bytes.bytes
  }

  /// The parts of a head, which is checked.
  private struct Head {
    /// The key that the entry is under: that of the resource, or of one of its many variants.
    var place: ArraySlice<UInt8>
    var stored: StoredResponse
    var position: SharedLogPosition
    var bodyLength, bodyChecksum: UInt64

    /// The checksum is not a signature: all is parsed as what it is, bytes from the network.
    init?(_ bytes: [UInt8]) {
      var reader = SharedBytesReader(bytes)
      guard reader.byte() == version, let epoch = reader.number(), let number = reader.number(),
        let place = reader.text(), let form = reader.text(), let length = reader.number(),
        let content = reader.number()
      else { return nil }
      let end = reader.position
      guard let whole = reader.number(), reader.isAtEnd, checksum(bytes[..<end]) == whole else { return nil }
      guard let stored = StoredResponse(decoding: form), stored.parts == nil else { return nil }
      (self.place, self.stored, bodyLength, bodyChecksum) = (place, stored, length, content)
      position = SharedLogPosition(epoch: epoch, number: number)
    }
  }

  /// The scopes of an entry of the tier: those of the response, and what a removal in every partition names.
  static func scopes(of stored: StoredResponse, under key: CacheKey) -> [[UInt8]] {
    let own = stored.scopes(under: key)
    return own + ([Array(StoredKey(StoreKey(key.bytes)).url.utf8)] + own).map { anywhere($0) }
  }

  /// A key or a scope without its partition. No scope of a response begins with NUL.
  static func anywhere(_ bytes: [UInt8]) -> [UInt8] { [0] + StoredKey.withoutPartition(bytes) }

  /// Whether the entries with these heads have the same content.
  static func haveSameContent(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    guard let one = Head(one), let other = Head(other) else { return false }
    return one.bodyLength == other.bodyLength && one.bodyChecksum == other.bodyChecksum
  }

  /// What says whether a removal concerns an entry: the key of its resource, its scopes, and its position in the log; `nil` for
  /// anything else than the head of a response.
  static func subject(
    ofHead bytes: [UInt8]
  ) -> (key: [UInt8], scopes: [[UInt8]], position: SharedLogPosition)? {
    guard let head = Head(bytes), let key = StoredKey(StoreKey(Array(head.place))).resource else {
      return nil
    }
    return (key.bytes, head.stored.scopes(under: key), head.position)
  }

  /// Reads an entry; `nil` for anything else than a complete response of this key.
  ///
  /// - Parameters:
  ///   - key: the key of the resource.
  ///   - place: the key that the entry was found under.
  ///   - now: the present time by the clock of this node, from which the age counts.
  static func read(_ found: FoundSharedEntry, key: CacheKey, place: [UInt8], at now: Timestamp) -> Found? {
    guard let body = found.body, let head = Head(found.head), head.place.elementsEqual(place),
      head.bodyLength == UInt64(body.count), checksum(body) == head.bodyChecksum
    else { return nil }
    var stored = head.stored
    if let length = stored.value(of: .contentLength), Int(length) != body.count { return nil }
    let (age, isBeyond) = stored.facts.initialAge.addingReportingOverflow(
      max(0, found.elapsed.wholeMilliseconds))
    stored.facts.initialAge = isBeyond ? .max : age
    stored.facts.responseTime = now
    stored.contentLength = Int64(body.count)
    return Found(stored: stored, scopes: stored.scopes(under: key), body: body, position: head.position)
  }
}
