// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A word, a literal or a mark of Swift source.
struct Token: Equatable {
  enum Kind {
    /// An identifier, a keyword or a number.
    case word
    case string
    /// An operator, a bracket or any other single character.
    case mark
    /// A line that begins with `#if`, `#else` or the like.
    case directive
  }

  var kind: Kind
  var text: String
  /// Whether white space or a comment stands before the token.
  var isSpaced: Bool
  /// Whether the token is the first of its line.
  var startsLine: Bool
}

/// Splits Swift source into tokens. Comments and white space are left out.
struct Lexer {
  private let bytes: [UInt8]
  private var position = 0
  private var isSpaced = false
  private var startsLine = true

  init(_ source: String) { bytes = Array(source.utf8) }

  static func tokens(of source: String) -> [Token] {
    var lexer = Lexer(source)
    var tokens: [Token] = []
    while let token = lexer.next() { tokens.append(token) }
    return tokens
  }

  private mutating func next() -> Token? {
    skipSpace()
    guard let byte = peek(0) else { return nil }
    let start = position
    let kind: Token.Kind
    if isStringStart {
      skipString()
      kind = .string
    } else if byte == UInt8(ascii: "`") {
      position += 1
      while let byte = peek(0), byte != UInt8(ascii: "`") { position += 1 }
      position = min(position + 1, bytes.count)
      kind = .word
    } else if startsLine, isDirective {
      while let byte = peek(0), byte != UInt8(ascii: "\n") { position += 1 }
      kind = .directive
    } else if Self.isWord(byte) {
      while let byte = peek(0), Self.isWord(byte) { position += 1 }
      kind = .word
    } else if Self.isOperator(byte) {
      while let byte = peek(0), Self.isOperator(byte), !isComment { position += 1 }
      kind = .mark
    } else {
      position += 1
      kind = .mark
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    defer { (isSpaced, startsLine) = (false, false) }
    return Token(kind: kind, text: text, isSpaced: isSpaced, startsLine: startsLine)
  }

  private func peek(_ offset: Int) -> UInt8? {
    position + offset < bytes.count ? bytes[position + offset] : nil
  }

  private func isNext(_ text: StaticString) -> Bool {
    (0..<text.utf8CodeUnitCount).allSatisfy { peek($0) == text.utf8Start[$0] }
  }

  private var isComment: Bool { isNext("//") || isNext("/*") }
  private var isDirective: Bool { isNext("#if") || isNext("#else") || isNext("#endif") }

  private mutating func skipSpace() {
    while let byte = peek(0) {
      if byte == UInt8(ascii: "\n") {
        startsLine = true
        position += 1
      } else if byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r") {
        position += 1
      } else if isNext("//") {
        while let byte = peek(0), byte != UInt8(ascii: "\n") { position += 1 }
      } else if isNext("/*") {
        skipBlockComment()
      } else {
        return
      }
      isSpaced = true
    }
  }

  private mutating func skipBlockComment() {
    var depth = 0
    repeat {
      if isNext("/*") {
        depth += 1
        position += 2
      } else if isNext("*/") {
        depth -= 1
        position += 2
      } else {
        position += 1
      }
    } while depth > 0 && position < bytes.count
  }

  /// Whether a string begins here, with or without `#` before its quotation mark.
  private var isStringStart: Bool {
    var offset = 0
    while peek(offset) == UInt8(ascii: "#") { offset += 1 }
    return peek(offset) == UInt8(ascii: "\"")
  }

  private mutating func skipString() {
    var hashes = 0
    while peek(0) == UInt8(ascii: "#") {
      hashes += 1
      position += 1
    }
    let quotes = isNext("\"\"\"") ? 3 : 1
    position += quotes
    while position < bytes.count {
      if isRun(of: "\"", count: quotes), isRun(of: "#", count: hashes, at: quotes) {
        position += quotes + hashes
        return
      }
      guard peek(0) == UInt8(ascii: "\\"), isRun(of: "#", count: hashes, at: 1) else {
        position += 1
        continue
      }
      position += 1 + hashes
      if peek(0) == UInt8(ascii: "(") {
        skipInterpolation()
      } else {
        position += 1
      }
    }
  }

  private func isRun(of character: Unicode.Scalar, count: Int, at offset: Int = 0) -> Bool {
    (0..<count).allSatisfy { peek(offset + $0) == UInt8(ascii: character) }
  }

  private mutating func skipInterpolation() {
    var depth = 0
    repeat {
      if isStringStart {
        skipString()
        continue
      }
      switch peek(0) {
      case UInt8(ascii: "("): depth += 1
      case UInt8(ascii: ")"): depth -= 1
      default: break
      }
      position += 1
    } while depth > 0 && position < bytes.count
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
      true
    default: false
    }
  }

  private static func isOperator(_ byte: UInt8) -> Bool {
    "/=-+!*%<>&|^~?.".utf8.contains(byte)
  }
}
