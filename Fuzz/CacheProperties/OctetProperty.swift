// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// Messages are octets: what the engine takes for equal is equal octet for octet, whatever Unicode takes for equal.
enum OctetProperty {
  /// The first two lines are two values of a field.
  static func values(_ bytes: [UInt8]) throws {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
    guard lines.count >= 2 else { return }
    // Also two values that differ in a single octet.
    var near = Array(lines[0])
    if let last = near.indices.last { near[last] = lines[1].first ?? 0xFF }
    for other in [Array(lines[1]), near] {
      try tags(Array(lines[0]), other)
      try selecting(Array(lines[0]), other)
      try targets(Array(lines[0]), other)
    }
  }

  /// Returns the octets that the field has: HTTPTypes replaces those that no value may have.
  private static func octets(_ field: HTTPField) -> [UInt8] {
    field.withUnsafeBytesOfValue { Array($0) }
  }

  private static func trimmed(_ bytes: some BidirectionalCollection<UInt8>) -> [UInt8] {
    let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    return Array(bytes.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
  }

  private static func tags(_ one: [UInt8], _ other: [UInt8]) throws {
    let fields = [one, other].map { HTTPField(name: .eTag, value: [0x22] + $0 + [0x22]) }
    let tags = fields.map { ResponseFields(HTTPFields([$0]), now: Vocabulary.start, targets: []).entityTag }
    guard let first = tags[0], let second = tags[1] else { return }
    let isSame = octets(fields[0]) == octets(fields[1])
    try require((first == second) == isSame, "tags: \(one) \(other)")
    try require(first.matchesStrongly(second) == isSame, "compared strongly: \(one) \(other)")
    try require(first.matchesWeakly(second) == isSame, "compared weakly: \(one) \(other)")
  }

  private static func selecting(_ one: [UInt8], _ other: [UInt8]) throws {
    guard let name = HTTPField.Name("X-Plain") else { return }
    for (name, withheld) in [(name, []), (.cookie, ["cookie"])] {
      let fields = [one, other].map { HTTPFields([HTTPField(name: name, value: $0)]) }
      let vary = VaryField.names([name.canonicalName])
      let selecting = fields.map { SelectingFields(vary, of: $0, withholding: withheld) }
      let values = fields.map { octets($0[0]) }
      let isSame =
        name == .cookie ? values[0] == values[1] : withoutBlanks(values[0]) == withoutBlanks(values[1])
      try require(selecting[0].match(fields[1]) == isSame, "\(name): \(one) \(other)")
      try require((selecting[0].variantKey == selecting[1].variantKey) == isSame, "keys: \(one) \(other)")
    }
  }

  /// Returns a value without the whitespace around commas outside quotes.
  private static func withoutBlanks(_ value: [UInt8]) -> [[UInt8]] {
    var members: [[UInt8]] = [[]]
    var quoted = false
    var escaped = false
    for byte in value {
      if byte == UInt8(ascii: ","), !quoted {
        members.append([])
        continue
      }
      members[members.count - 1].append(byte)
      if escaped {
        escaped = false
      } else if quoted, byte == UInt8(ascii: "\\") {
        escaped = true
      } else if byte == UInt8(ascii: "\"") {
        quoted.toggle()
      }
    }
    return members.map(trimmed)
  }

  private static func targets(_ one: [UInt8], _ other: [UInt8]) throws {
    let paths = [one, other].map { "/" + String(decoding: $0, as: UTF8.self) }
    let requests = paths.map { HTTPRequest(method: .get, scheme: "http", authority: "a.example", path: $0) }
    guard let first = TargetURI(requests[0]), let second = TargetURI(requests[1]) else { return }
    let isSame = one == other
    try require((first == second) == isSame, "targets: \(paths)")
    try require((CacheKey(first) == CacheKey(second)) == isSame, "keys: \(paths)")
  }
}
