// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// A field with a client's preferences for a representation (RFC 9110 §12.5).
public enum NegotiationField: String, Hashable, Sendable, CaseIterable, Codable {
  /// `Accept`: media types.
  case accept
  /// `Accept-Charset`.
  case acceptCharset = "accept-charset"
  /// `Accept-Encoding`: content codings.
  case acceptEncoding = "accept-encoding"
  /// `Accept-Language`.
  case acceptLanguage = "accept-language"

  /// - Parameter name: the name in lowercase.
  @inline(__always)
  init?(name: String) {
    let kind: NegotiationField? = name.withFieldBytes { name in
      switch name.count {
      case 6: name.matches("accept", in: name.whole) ? .accept : nil
      case 14: name.matches("accept-charset", in: name.whole) ? .acceptCharset : nil
      case 15:
        name.matches("accept-encoding", in: name.whole)
          ? .acceptEncoding : name.matches("accept-language", in: name.whole) ? .acceptLanguage : nil
      default: nil
      }
    }
    guard let kind else { return nil }
    self = kind
  }
}

/// The values of ``NegotiationField``: lists of ranges, each with a weight.
///
/// A stored response may answer a request with another value only if the two are known to mean the same (RFC 9111 §4.1).
/// Of these fields, that is known of whitespace, of the split into lines, and of the spelling of a weight. It is not known
/// of the order: origins take the first of equal ranges. Nor of letter case: origins look for `text/html` byte by byte.
enum PreferenceField {
  /// Returns one spelling for all values that mean the same.
  ///
  /// Normalising a normalised value does not change it: otherwise two different values might become equal.
  ///
  /// - Parameters:
  ///   - value: the lines combined.
  ///   - beyondSpelling: whether order and letter case have no meaning either: see
  ///     ``CacheEngine/Configuration/normalizes``. No value is then equal to one that is normalised without.
  @inline(__always)
  static func normalized(
    _ value: Octets, of field: NegotiationField, beyondSpelling: Bool
  ) -> Octets {
    value.withBytes { bytes in
      if beyondSpelling { return reduced(bytes, of: field) }
      return Octets(spelled(bytes))
    }
  }

  /// Returns the members without whitespace around them and their parameters, each with its weight in the shortest form.
  private static func spelled(_ bytes: Span<UInt8>) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count)
    var list = ListMembers(bytes.whole)
    while let member = list.next(in: bytes) {
      let end = text.count
      if end > 0 { text.append(UInt8(ascii: ",")) }
      let start = text.count
      var parts = SemicolonParts(member)
      while let part = parts.next(in: bytes) {
        if text.count > start {
          if let weight = Weight(parameter: part, of: bytes) {
            if weight.thousandths != 1000 { text += ";q=\(weight.text)".utf8 }
            continue
          }
          text.append(UInt8(ascii: ";"))
        }
        text.append(bytes.extracting(part.start..<part.end))
      }
      // A single semicolon is a member that means the same as an empty one.
      if text.count == start { text.removeLast(start - end) }
    }
    return text
  }

  /// Returns the normalised Accept-Encoding of the most frequent clients: browsers and curl, and URLSession; `nil` for any
  /// other value. They need no memory, and take 300 instructions instead of 1,900. In every field, these values mean the same
  /// as without their blanks.
  @inline(__always)
  static func known(_ value: String) -> Octets? {
    func has(_ text: StaticString) -> Bool {
      value.withFieldBytes { $0.equals(text, inLowercase: false) }
    }
    return switch value.utf8.count {
    case 4: has("gzip") ? Octets(ofASCII: "gzip") : nil
    case 13: has("gzip, deflate") ? Octets(ofASCII: "gzip,deflate") : nil
    case 17: has("gzip, deflate, br") ? Octets(ofASCII: "gzip,deflate,br") : nil
    case 23:
      has("gzip, deflate, br, zstd")
        ? Octets(ofASCII: "gzip,deflate,br,zstd")
        : has("deflate, gzip, br, zstd") ? Octets(ofASCII: "deflate,gzip,br,zstd") : nil
    default: nil
    }
  }

  // MARK: - Beyond spelling

  /// The first octet of each reduced value: no value of a field begins with it (RFC 9110 §5.5).
  private static let reducedMark: UInt8 = 1

  /// Returns the members in lowercase, sorted. Of Accept-Encoding, only the codings in use count, and whether each is
  /// accepted.
  private static func reduced(_ bytes: Span<UInt8>, of field: NegotiationField) -> Octets {
    var members: [[UInt8]] = []
    var list = ListMembers(bytes.whole)
    let acceptsAny = field == .acceptEncoding && ranges(bytes).contains { $0.range == "*" && $0.weight > 0 }
    while let member = list.next(in: bytes) {
      guard field == .acceptEncoding, let (range, weight) = range(bytes, member) else {
        let member = folded(bytes, member)
        if !member.isEmpty { members.append(member) }
        continue
      }
      // Whether a coding is accepted counts, not how much. What is not listed is refused; the identity is accepted.
      let coding = ContentCoding.canonical(range)
      let isListed = coding == "identity" ? weight == 0 : weight > 0 || coding == "*" || acceptsAny
      if isListed { members.append(Array((weight == 0 ? coding + ";q=0" : coding).utf8)) }
    }
    // After sorting, an unclosed quote would include the members after it.
    if list.openQuote == nil { members.sort { $0.lexicographicallyPrecedes($1) } }
    return Octets([reducedMark] + members.joined(separator: [UInt8(ascii: ",")]))
  }

  /// Returns a member with its range and the names of its parameters in lowercase (language ranges: RFC 4647 §2; charsets:
  /// RFC 9110 §8.3.2; media types: §8.3.1).
  private static func folded(_ bytes: Span<UInt8>, _ member: ByteRange) -> [UInt8] {
    var text: [UInt8] = []
    func appendLowercase(_ range: ByteRange) {
      for position in range.start..<range.end { text.append(bytes[position].lowercasedASCII) }
    }
    var parts = SemicolonParts(member)
    while let part = parts.next(in: bytes) {
      if text.isEmpty {
        appendLowercase(part)
      } else if let weight = Weight(parameter: part, of: bytes) {
        if weight.thousandths != 1000 { text += ";q=\(weight.text)".utf8 }
      } else {
        text.append(UInt8(ascii: ";"))
        // The value may be case-sensitive (§8.3.1).
        let nameEnd = bytes.firstIndex(of: UInt8(ascii: "="), in: part) ?? part.start
        appendLowercase(ByteRange(start: part.start, end: nameEnd))
        text.append(bytes.extracting(nameEnd..<part.end))
      }
    }
    return text
  }

  // MARK: - Ranges

  /// Returns the ranges of a line, in lowercase, with their weights in thousandths; ranges with other parameters are
  /// omitted.
  static func ranges(_ line: Octets) -> [(range: String, weight: Int)] { line.withBytes { ranges($0) } }

  private static func ranges(_ bytes: Span<UInt8>) -> [(range: String, weight: Int)] {
    var ranges: [(String, Int)] = []
    var list = ListMembers(bytes.whole)
    while let member = list.next(in: bytes) {
      if let range = range(bytes, member) { ranges.append(range) }
    }
    return ranges
  }

  /// Returns the range of a member in lowercase, with its weight; `nil` if it has other parameters.
  private static func range(_ bytes: Span<UInt8>, _ member: ByteRange) -> (range: String, weight: Int)? {
    var parts = SemicolonParts(member)
    guard let range = parts.next(in: bytes), bytes.isASCII(range) else { return nil }
    var weight: Int? = 1000
    while let part = parts.next(in: bytes) {
      weight = Weight(parameter: part, of: bytes)?.thousandths
    }
    return weight.map { (bytes.lowercasedString(range), $0) }
  }
}

/// A quality value (RFC 9110 §12.4.2).
struct Weight: Hashable {
  /// From 0 to 1000.
  let thousandths: Int

  /// The shortest spelling.
  var text: String {
    guard thousandths > 0, thousandths < 1000 else { return thousandths == 0 ? "0" : "1" }
    var (digits, count) = (thousandths, 3)
    while digits % 10 == 0 { (digits, count) = (digits / 10, count - 1) }
    let written = String(digits)
    return "0." + String(repeating: "0", count: count - written.utf8.count) + written
  }

  /// Reads a parameter `q`; `nil` if it is another, or invalid.
  init?(parameter part: ByteRange, of bytes: Span<UInt8>) {
    let value = ByteRange(start: Swift.min(part.start + 2, part.end), end: part.end)
    guard bytes.matches("q=", in: ByteRange(start: part.start, end: value.start)) else { return nil }
    self.init(bytes, value)
  }

  /// Reads a quality value; `nil` if it is invalid.
  private init?(_ bytes: Span<UInt8>, _ range: ByteRange) {
    guard range.count >= 1, range.count <= 5,
      bytes[range.start] == UInt8(ascii: "0") || bytes[range.start] == UInt8(ascii: "1"),
      range.count == 1 || bytes[range.start + 1] == UInt8(ascii: ".")
    else { return nil }
    var value = Int(bytes[range.start] - UInt8(ascii: "0")) * 1000
    var place = 100
    for index in Swift.min(range.start + 2, range.end)..<range.end {
      guard bytes[index].isDigit else { return nil }
      value += Int(bytes[index] - UInt8(ascii: "0")) * place
      place /= 10
    }
    guard value <= 1000 else { return nil }
    thousandths = value
  }
}

/// Iterates over the parts of a member between semicolons outside quotes; empty parts are skipped.
private struct SemicolonParts {
  private var position: Int
  private let end: Int

  init(_ range: ByteRange) {
    position = range.start
    end = range.end
  }

  mutating func next(in bytes: Span<UInt8>) -> ByteRange? {
    while position < end {
      let start = position
      var isQuoted = false
      while position < end, isQuoted || bytes[position] != UInt8(ascii: ";") {
        if bytes[position] == UInt8(ascii: "\"") {
          isQuoted.toggle()
        } else if isQuoted, bytes[position] == UInt8(ascii: "\\") {
          position += 1
        }
        position += 1
      }
      let part = bytes.trimmed(ByteRange(start: start, end: Swift.min(position, end)))
      position += 1
      if !part.isEmpty { return part }
    }
    return nil
  }
}
