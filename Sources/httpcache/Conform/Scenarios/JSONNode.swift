// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A value of JSON, and where it is in its file: `JSONDecoder` names neither the line of a value nor names that nothing reads.
struct JSONNode: Sendable {
  indirect enum Content: Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONNode])
    case object([Member])
  }

  struct Member: Sendable {
    var name: String
    /// The position of the name, in bytes.
    var offset: Int
    var value: JSONNode
  }

  var content: Content
  /// The bytes of the value in the file.
  var range: Range<Int>

  /// Reads a file.
  static func parse(_ bytes: [UInt8]) throws(JSONProblem) -> JSONNode {
    var reader = JSONReader(bytes)
    return try reader.document()
  }

  /// The members of an object, in order.
  var members: [Member]? { if case .object(let members) = content { members } else { nil } }
  var list: [JSONNode]? { if case .array(let values) = content { values } else { nil } }

  /// The value without positions. Of several members with one name, the last counts.
  var value: JSONValue {
    switch content {
    case .null: .null
    case .bool(let value): .bool(value)
    case .number(let value): .number(value)
    case .string(let value): .string(value)
    case .array(let values): .array(values.map(\.value))
    case .object(let members):
      .object(Dictionary(members.map { ($0.name, $0.value.value) }, uniquingKeysWith: { $1 }))
    }
  }
}

/// What is wrong in a file of JSON, and at which byte.
struct JSONProblem: Error {
  var offset: Int
  var text: String
}

private struct JSONReader {
  private let bytes: [UInt8]
  private var position = 0
  private var depth = 0

  private static let depthLimit = 100

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func document() throws(JSONProblem) -> JSONNode {
    let node = try value()
    skipBlanks()
    guard position == bytes.count else { throw expected("the end of the file") }
    return node
  }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private func expected(_ what: String) -> JSONProblem {
    let found = next.map { "'\(Character(Unicode.Scalar($0)))'" } ?? "the end of the file"
    return JSONProblem(offset: position, text: "expected \(what), found \(found)")
  }

  private mutating func skipBlanks() {
    while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
  }

  /// Skips blanks and this byte; `false` if another one is next.
  private mutating func take(_ byte: Unicode.Scalar) -> Bool {
    skipBlanks()
    guard next == UInt8(ascii: byte) else { return false }
    position += 1
    return true
  }

  private mutating func value() throws(JSONProblem) -> JSONNode {
    skipBlanks()
    let start = position
    let content: JSONNode.Content =
      switch next {
      case UInt8(ascii: "\""): .string(try string())
      case UInt8(ascii: "["), UInt8(ascii: "{"): try container()
      default: try word()
      }
    return JSONNode(content: content, range: start..<position)
  }

  private mutating func container() throws(JSONProblem) -> JSONNode.Content {
    guard depth < Self.depthLimit else {
      throw JSONProblem(offset: position, text: "expected at most \(Self.depthLimit) levels of nesting")
    }
    depth += 1
    defer { depth -= 1 }
    return take("[") ? .array(try elements()) : .object(try members())
  }

  private mutating func elements() throws(JSONProblem) -> [JSONNode] {
    var values: [JSONNode] = []
    if take("]") { return values }
    repeat { values.append(try value()) } while take(",")
    guard take("]") else { throw expected("',' or ']'") }
    return values
  }

  private mutating func members() throws(JSONProblem) -> [JSONNode.Member] {
    _ = take("{")
    var members: [JSONNode.Member] = []
    if take("}") { return members }
    repeat {
      skipBlanks()
      let offset = position
      guard next == UInt8(ascii: "\"") else { throw expected("a name in quotation marks") }
      let name = try string()
      guard take(":") else { throw expected("':'") }
      members.append(JSONNode.Member(name: name, offset: offset, value: try value()))
    } while take(",")
    guard take("}") else { throw expected("',' or '}'") }
    return members
  }

  private mutating func string() throws(JSONProblem) -> String {
    let start = position
    position += 1
    while let byte = next, byte != UInt8(ascii: "\"") { position += byte == UInt8(ascii: "\\") ? 2 : 1 }
    guard position < bytes.count else { throw JSONProblem(offset: start, text: "the text has no end") }
    position += 1
    return try decode(String.self, from: start, "a text")
  }

  private mutating func word() throws(JSONProblem) -> JSONNode.Content {
    let start = position
    while let byte = next, byte.isWord { position += 1 }
    guard position > start else { throw expected("a value") }
    switch String(decoding: bytes[start..<position], as: UTF8.self) {
    case "null": return .null
    case "true": return .bool(true)
    case "false": return .bool(false)
    default: return .number(try decode(Double.self, from: start, "a value"))
    }
  }

  /// Leaves escapes and the syntax of numbers to Foundation.
  private func decode<Value: Decodable>(
    _ type: Value.Type, from start: Int, _ what: String
  ) throws(JSONProblem) -> Value {
    do {
      return try JSONDecoder().decode(type, from: Data(bytes[start..<position]))
    } catch {
      let found = String(decoding: bytes[start..<position], as: UTF8.self)
      throw JSONProblem(offset: start, text: "expected \(what), found \(found.prefix(40))")
    }
  }
}

extension UInt8 {
  /// Whether a number or a word of JSON may contain the byte.
  fileprivate var isWord: Bool {
    switch Character(Unicode.Scalar(self)) {
    case "a"..."z", "A"..."Z", "0"..."9", "+", "-", ".": true
    default: false
    }
  }
}
