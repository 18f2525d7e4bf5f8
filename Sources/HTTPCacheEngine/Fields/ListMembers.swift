/// Walks the members of a comma-separated list (`#rule`, RFC 9110 §5.6.1), tolerantly.
///
/// Empty members are skipped; a comma inside a quoted string separates nothing; an unclosed quote runs
/// to the end of the value.
struct ListMembers {
  private var position: Int
  private let end: Int
  private let escape: UInt8?
  /// Whether the member read last has a quote that nothing closes.
  private(set) var isUnclosed = false

  /// - Parameter quotedPairs: whether a backslash in quotes takes the next character literally, as in a quoted
  ///   string (RFC 9110 §5.6.4) but not in an entity tag (§8.8.3).
  init(_ range: ByteRange, quotedPairs: Bool = true) {
    position = range.start
    end = range.end
    escape = quotedPairs ? UInt8(ascii: "\\") : nil
  }

  /// The next member without whitespace around it, or `nil` after the last.
  mutating func next(in bytes: Span<UInt8>) -> ByteRange? {
    while position < end {
      let start = position
      var quoted = false
      while position < end {
        let byte = bytes[position]
        if quoted {
          if byte == escape {
            position += 1
          } else if byte == UInt8(ascii: "\"") {
            quoted = false
          }
        } else if byte == UInt8(ascii: "\"") {
          quoted = true
        } else if byte == UInt8(ascii: ",") {
          break
        }
        position += 1
      }
      isUnclosed = quoted
      let member = bytes.trimmed(ByteRange(start: start, end: Swift.min(position, end)))
      position += 1  // Past the comma.
      if !member.isEmpty { return member }
    }
    return nil
  }
}
