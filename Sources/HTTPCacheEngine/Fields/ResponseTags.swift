// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// The tags of a response: names that it can be purged by, as ``CacheEngine/Configuration/tagFields`` carry them.
///
/// A tag is a group (RFC 9875) to an operator, but not to the origin: the invalidation of a response does not extend to all
/// that share one of its tags, of which there may be hundreds. The tags of each field are kept apart, so that a 304
/// replaces those of the fields that it has (RFC 9111 §3.2).
package struct ResponseTags: Hashable, Sendable {
  struct List: Hashable, Sendable {
    /// The name of the field, in lowercase.
    var field: String
    /// The tags as ``GroupName/inField(_:)-(String)`` writes them: printable ASCII.
    var tags: [String]
  }

  /// Maximum number of tags of a stored response, and of their bytes. CDNs allow 1,000 tags and 16 KB.
  static let most = 4096
  static let mostBytes = 64 << 10

  /// The fields in the order of their first lines. A field without tags is listed, too: it replaces its stored tags.
  var lists: [List] = []

  init() {}

  /// Whether there are no fields.
  package var isEmpty: Bool { lists.isEmpty }

  /// The tags of all fields.
  package var all: [String] { lists.count == 1 ? lists[0].tags : lists.flatMap(\.tags) }

  /// Whether there are more than are stored. A response without some of its tags could not be purged by them.
  var exceedsLimit: Bool {
    var (count, bytes) = (0, 0)
    for list in lists {
      count += list.tags.count
      for tag in list.tags { bytes += tag.utf8.count }
    }
    return count > Self.most || bytes > Self.mostBytes
  }

  /// Adds a line of a field. Beyond the limits, it adds as many tags as make them exceeded.
  mutating func add(_ line: HTTPField) {
    let name = line.name.canonicalName
    if !lists.contains(where: { $0.field == name }) { lists.append(List(field: name, tags: [])) }
    guard let place = lists.firstIndex(where: { $0.field == name }), !exceedsLimit else { return }
    lists[place].tags += Self.tags(in: line)
  }

  /// Returns the tags in a line of a field that are kept, and at least one more if there are more.
  ///
  /// They are separated as the products do that defined the field: by blanks, by commas, or by either.
  package static func tags(in line: HTTPField) -> [String] {
    let (byBlanks, byCommas) =
      switch line.name.canonicalName {
      case "surrogate-key": (true, false)
      case "cache-tag", "edge-cache-tag", "x-magento-tags": (false, true)
      default: (true, true)
      }
    return line.withOctets { bytes in
      var (tags, position, size) = ([String](), 0, 0)
      while position < bytes.count, tags.count <= most, size <= mostBytes {
        var range = ByteRange(start: position, end: position)
        while range.end < bytes.count,
          !(byCommas && bytes[range.end] == UInt8(ascii: ",")
            || byBlanks && bytes[range.end].isOptionalWhitespace)
        {
          range.end += 1
        }
        position = range.end + 1
        range = bytes.trimmed(range)
        if range.isEmpty { continue }
        let tag = GroupName.inField(bytes.bytes.array(range)[...])
        size += tag.utf8.count
        tags.append(tag)
      }
      return tags
    }
  }

  /// Returns the tags after an update: those of its fields replace the present ones, and the others stay.
  func updated(by update: ResponseTags) -> ResponseTags {
    if update.isEmpty { return self }
    var updated = ResponseTags()
    updated.lists = lists.filter { list in !update.lists.contains { $0.field == list.field } }
    updated.lists += update.lists.filter { !$0.tags.isEmpty }
    return updated
  }
}

// MARK: - The stored form

/// See ``StoredForm``.
extension ResponseTags {
  func write(to writer: inout ByteWriter) {
    writer.write(UInt32(lists.count))
    for list in lists {
      writer.write(list.field)
      writer.write(UInt32(list.tags.count))
      for tag in list.tags { writer.write(tag) }
    }
  }

  /// Reads what ``write(to:)`` wrote; `nil` for any other bytes.
  init?(decoding bytes: RawSpan) {
    var lists: [List] = []
    let isRead = Self.read(bytes) { field, tag in
      if let tag {
        lists[lists.count - 1].tags.append(bytes.string(tag))
      } else {
        lists.append(List(field: bytes.string(field), tags: []))
      }
    }
    guard isRead else { return nil }
    self.lists = lists
  }

  static func canDecode(_ bytes: RawSpan) -> Bool { read(bytes) { _, _ in } }

  /// - Parameter part: gets each field without a tag, and then with each of its tags.
  private static func read(_ bytes: RawSpan, _ part: (_ field: ByteRange, _ tag: ByteRange?) -> Void) -> Bool
  {
    var reader = StoredFormReader(position: 0)
    guard let count = reader.count(bytes) else { return false }
    // Reserves nothing for the counts: they may be any numbers, and the bytes run out first.
    for _ in 0..<count {
      guard let field = reader.text(bytes), let tags = reader.count(bytes) else { return false }
      part(field, nil)
      for _ in 0..<tags {
        guard let tag = reader.text(bytes) else { return false }
        part(field, tag)
      }
    }
    return reader.position == bytes.byteCount
  }
}
