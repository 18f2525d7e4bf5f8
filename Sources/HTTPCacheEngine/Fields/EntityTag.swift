// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// An entity tag, strong or weak (RFC 9110 §8.8.3).
///
/// The opaque part is kept as received, including the quotes, so that it can be sent back byte for byte. Some servers
/// omit the quotes; such a tag is kept unchanged, and equals only itself. A text that `If-None-Match` would read as a
/// list or as `*` is invalid: sent back, it would match other tags.
public struct EntityTag: Hashable, Sendable {
  /// Whether the tag is marked `W/`, so that only weak comparison is allowed.
  public let isWeak: Bool
  /// The opaque tag with its quotes, octet for octet as received.
  private let octets: Octets

  /// The opaque tag with its quotes, read as UTF-8.
  public var opaque: String { octets.description }

  /// - Parameters:
  ///   - weak: whether the tag is weak.
  ///   - opaque: the tag with its quotes.
  public init(weak: Bool = false, opaque: String) { self.init(weak: weak, Octets(opaque)) }

  private init(weak: Bool = false, _ octets: Octets) {
    isWeak = weak
    self.octets = octets
  }

  /// Parses one `ETag` field value; `nil` if it is not a single tag.
  public init?(parsing text: String) { self.init(parsing: Octets(text)) }

  /// Parses the value of a field of a message; `nil` if it is not a single tag.
  init?(parsingValueAt position: Int, of fields: HTTPFields) {
    // Nearly every value is a strong tag of plain characters, and needs no copy.
    let value = fields[position].value
    if value.withFieldBytes({ $0.isPlainQuoted }) {
      self.init(Octets(ofASCII: value))
    } else {
      self.init(parsing: Octets(valueOf: fields[position]))
    }
  }

  init?(parsing value: Octets) {
    // Normally the value is the tag, and needs no copy.
    let isStrong = value.withBytes { bytes in
      if bytes.isPlainQuoted { return true }
      return bytes.count > 0 && !bytes[0].isOptionalWhitespace && !bytes[bytes.count - 1].isOptionalWhitespace
        && !Self.isMarkedWeak(bytes, bytes.whole) && Self.isSingleTag(bytes, bytes.whole)
    }
    if isStrong {
      self.init(value)
      return
    }
    let parsed = value.withBytes { EntityTag($0, in: $0.trimmed($0.whole)) }
    guard let parsed else { return nil }
    self = parsed
  }

  init?(_ bytes: Span<UInt8>, in range: ByteRange) {
    guard !range.isEmpty else { return nil }
    if Self.isMarkedWeak(bytes, range) {
      let opaque = ByteRange(start: range.start + 2, end: range.end)
      guard Self.isSingleTag(bytes, opaque) else { return nil }
      self.init(weak: true, Octets(bytes, opaque))
    } else {
      guard Self.isSingleTag(bytes, range) else { return nil }
      self.init(Octets(bytes, range))
    }
  }

  /// Whether the range begins with `W/`, which is case-sensitive (§8.8.3).
  private static func isMarkedWeak(_ bytes: Span<UInt8>, _ range: ByteRange) -> Bool {
    range.count >= 2 && bytes[range.start] == UInt8(ascii: "W") && bytes[range.start + 1] == UInt8(ascii: "/")
  }

  /// Whether the range is an `opaque-tag`, or the same characters without its quotes; `etagc` is any visible character
  /// except the quote (§8.8.3).
  private static func isSingleTag(_ bytes: Span<UInt8>, _ range: ByteRange) -> Bool {
    let quote = UInt8(ascii: "\"")
    let isQuoted = range.count >= 2 && bytes[range.start] == quote && bytes[range.end - 1] == quote
    let inside = isQuoted ? ByteRange(start: range.start + 1, end: range.end - 1) : range
    if !bytes.isPlain(inside) {
      for index in inside.start..<inside.end
      where bytes[index] == quote || bytes[index] < 0x20 || bytes[index] == 0x7F {
        return false
      }
    }
    // Servers put spaces into quoted tags; they are harmless there.
    if isQuoted { return true }
    for index in inside.start..<inside.end where bytes[index] == 0x20 || bytes[index] == UInt8(ascii: ",") {
      return false
    }
    return !inside.isEmpty && !(inside.count == 1 && bytes[inside.start] == UInt8(ascii: "*"))
  }

  /// The field value, read as UTF-8.
  public var fieldValue: String { isWeak ? "W/" + opaque : opaque }

  /// The field value, octet for octet.
  var fieldBytes: [UInt8] { (isWeak ? Array("W/".utf8) : []) + octets.bytes }

  /// Whether both are strong and their opaque parts are equal (§8.8.3.2).
  public func matchesStrongly(_ other: EntityTag) -> Bool {
    !isWeak && !other.isWeak && octets == other.octets
  }

  /// Whether the opaque parts are equal, weak or not (§8.8.3.2).
  public func matchesWeakly(_ other: EntityTag) -> Bool {
    octets == other.octets
  }
}

/// The value of `If-None-Match`: any representation, or a list of entity tags (RFC 9110 §13.1.2).
package enum EntityTagCondition: Hashable, Sendable {
  case any
  case tags([EntityTag])

  /// Parses the field's lines; commas inside the quotes of a tag do not separate.
  package init(parsing lines: some Sequence<String>) { self.init(parsing: lines.map { Octets($0) }) }

  init(parsing lines: some Sequence<Octets>) {
    var tags: [EntityTag] = []
    for line in lines {
      let isAny = line.withBytes { bytes in
        var members = ListMembers(bytes.whole, quotedPairs: false)
        while let member = members.next(in: bytes) {
          if member.count == 1, bytes[member.start] == UInt8(ascii: "*") { return true }
          if let tag = EntityTag(bytes, in: member) { tags.append(tag) }
        }
        return false
      }
      if isAny {
        self = .any
        return
      }
    }
    self = .tags(tags)
  }

  /// Whether the client already has the stored representation with this tag: by weak comparison.
  package func matches(_ tag: EntityTag?) -> Bool {
    switch self {
    case .any: true
    case .tags(let tags):
      if let tag { tags.contains { $0.matchesWeakly(tag) } } else { false }
    }
  }

  /// Whether the client means the representation with this tag, for `If-Match` (§13.1.1): by strong comparison.
  func matchesStrongly(_ tag: EntityTag?) -> Bool {
    switch self {
    case .any: true
    case .tags(let tags):
      if let tag { tags.contains { $0.matchesStrongly(tag) } } else { false }
    }
  }
}

extension Span<UInt8> {
  /// Whether these bytes are a quoted text of ASCII without spaces, `!`, quotes and controls: nearly every entity tag is. With
  /// this check first, reading one takes 150 instructions instead of 260.
  @inline(__always)
  var isPlainQuoted: Bool {
    let quote = UInt8(ascii: "\"")
    return count >= 2 && self[0] == quote && self[count &- 1] == quote
      && isPlain(ByteRange(start: 1, end: count &- 1))
  }

  /// Whether a range has none of these characters.
  @inline(__always)
  fileprivate func isPlain(_ range: ByteRange) -> Bool {
    guard range.count >= 8 else {
      for position in range.start..<range.end where self[position] < 0x23 || self[position] > 0x7E {
        return false
      }
      return true
    }
    var (position, found) = (range.start, 0 as UInt64)
    while position < range.end {
      // The last word may overlap the one before it.
      let word = word(at: Swift.min(position, range.end &- 8))
      found |= word.bytes(below: 0x23) | word.bytes(equalTo: 0x7F) | (word & UInt64.upperBits)
      position &+= 8
    }
    return found == 0
  }
}
