/// An entity tag, strong or weak (RFC 9110 §8.8.3).
///
/// The opaque part is kept as it was received, quotes included, so that it can be sent back byte for byte. Servers
/// that leave the quotes out exist; such a tag is kept as it stands, and equals only itself.
public struct EntityTag: Hashable, Sendable {
  /// Whether the tag is marked `W/`: good for weak comparison only.
  public let isWeak: Bool
  /// The opaque tag with its quotes, as received.
  public let opaque: String

  public init(weak: Bool = false, opaque: String) {
    isWeak = weak
    self.opaque = opaque
  }

  /// Parses one `ETag` field value; `nil` if it is empty.
  public init?(parsing text: String) {
    let parsed = text.withFieldBytes { EntityTag($0, in: $0.trimmed($0.whole)) }
    guard let parsed else { return nil }
    self = parsed
  }

  init?(_ bytes: Span<UInt8>, in range: ByteRange) {
    guard !range.isEmpty else { return nil }
    // `W/` is case-sensitive (§8.8.3).
    if range.count >= 2, bytes[range.start] == UInt8(ascii: "W"),
      bytes[range.start + 1] == UInt8(ascii: "/")
    {
      guard range.count > 2 else { return nil }
      self.init(weak: true, opaque: bytes.string(ByteRange(start: range.start + 2, end: range.end)))
    } else {
      self.init(opaque: bytes.string(range))
    }
  }

  /// The tag as a field carries it.
  public var fieldValue: String { isWeak ? "W/" + opaque : opaque }

  /// Both are strong and their opaque parts are equal (§8.8.3.2).
  public func matchesStrongly(_ other: EntityTag) -> Bool {
    !isWeak && !other.isWeak && opaque == other.opaque
  }

  /// The opaque parts are equal, weak or not (§8.8.3.2).
  public func matchesWeakly(_ other: EntityTag) -> Bool {
    opaque == other.opaque
  }
}

/// The value of `If-None-Match`: any representation, or a list of entity tags (RFC 9110 §13.1.2).
public enum EntityTagCondition: Hashable, Sendable {
  case any
  case tags([EntityTag])

  /// Parses the field's lines; commas inside the quotes of a tag do not separate.
  public init(parsing lines: some Sequence<String>) {
    var tags: [EntityTag] = []
    for line in lines {
      let isAny = line.withFieldBytes { bytes in
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

  /// Whether a stored representation with this tag is one the client already has: by weak comparison.
  public func matches(_ tag: EntityTag?) -> Bool {
    switch self {
    case .any: true
    case .tags(let tags):
      if let tag { tags.contains { $0.matchesWeakly(tag) } } else { false }
    }
  }
}
