// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CHiredis
import NIOCore
import TestSupport
import Testing

@testable import HTTPCacheRedis

@Suite("The parser of replies")
struct ReplyReaderTests {
  struct Example: CustomTestStringConvertible, Sendable {
    var bytes: String
    var values: [RedisValue]
    var testDescription: String { bytes.debugDescription }
  }

  static let examples = [
    Example(bytes: "+OK\r\n", values: [.string(Array("OK".utf8))]),
    Example(bytes: "-ERR no\r\n", values: [.error("ERR no")]),
    Example(bytes: ":-12\r\n", values: [.integer(-12)]),
    Example(bytes: ":9223372036854775807\r\n", values: [.integer(.max)]),
    Example(bytes: "$-1\r\n*-1\r\n", values: [.null, .null]),
    Example(bytes: "$0\r\n\r\n", values: [.string([])]),
    Example(bytes: "$4\r\na\r\nb\r\n", values: [.string(Array("a\r\nb".utf8))]),
    Example(bytes: "*0\r\n", values: [.array([])]),
    Example(
      bytes: "*3\r\n:1\r\n*2\r\n$-1\r\n*0\r\n-X y\r\n+z\r\n",
      values: [.array([.integer(1), .array([.null, .array([])]), .error("X y")]), .string([122])]),
    Example(
      bytes: "*1\r\n*1\r\n*1\r\n*1\r\n:7\r\n",
      values: [.array([.array([.array([.array([.integer(7)])])])])]),
  ]

  @Test("Replies are parsed, wherever the network divides them", arguments: examples)
  func divided(example: Example) throws {
    let bytes = Array(example.bytes.utf8)
    for cut in 0...bytes.count {
      var reader = ReplyReader(limit: 1 << 20)
      var values: [RedisValue] = []
      for part in [bytes[..<cut], bytes[cut...]] {
        try reader.feed(ByteBuffer(bytes: part))
        while let value = try reader.next() { values.append(value) }
      }
      #expect(values == example.values)
    }
  }

  @Test(
    "A length beyond the limit is refused after each kind of reply, wherever the network divides them",
    arguments: examples)
  func announced(example: Example) {
    let bytes = Array((example.bytes + "$9999999999\r\n" + Self.padding).utf8)
    for cut in 0...bytes.count {
      var reader = ReplyReader(limit: 1000)
      #expect(throws: ReplyReader.Violation.self) {
        for part in [bytes[..<cut], bytes[cut...]] {
          try reader.feed(ByteBuffer(bytes: part))
          while try reader.next() != nil {}
        }
      }
    }
  }

  @Test("A reply of 1 MiB arrives in pieces of any length")
  func large() throws {
    let content = (0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    var reader = ReplyReader(limit: 2 << 20)
    var rest = (Array("*2\r\n$\(content.count)\r\n".utf8) + content + Array("\r\n:1\r\n".utf8))[...]
    var generator = SplitMix64(seed: 1)
    var value: RedisValue?
    while !rest.isEmpty {
      let part = rest.prefix(Int.random(in: 1...100_000, using: &generator))
      rest = rest.dropFirst(part.count)
      try reader.feed(ByteBuffer(bytes: part))
      #expect(value == nil)
      value = try reader.next()
    }
    #expect(value == .array([.string(content), .integer(1)]))
  }

  @Test(
    "What is not RESP 2, or more than the limit, is a violation",
    arguments: [
      "x", "HTTP/1.1 400 Bad Request\r\n", "$5\r\nabcdefg\r\n" + "?\r\n", "$-2\r\n", "*-2\r\n",
      "$9999999999\r\n" + padding,
      "$99999999999999999999\r\n" + padding, "$x" + padding, "*99999999\r\n", "*2147483648\r\n",
      "*9223372036854775807\r\n",
      "*2\r\n$600\r\n" + String(repeating: "a", count: 600) + "\r\n$600\r\n" + padding,
      String(repeating: "*1\r\n", count: 9), String(repeating: "*1\r\n", count: 100_000),
      "+" + String(repeating: "a", count: 70_000), "*" + String(repeating: "1", count: 70_000),
      "$" + String(repeating: "1", count: 70_000), ":12a\r\n", "$01\r\na\r\n", "*01\r\n:1\r\n", ":01\r\n",
      ":+1\r\n", ":-0\r\n", ":99999999999999999999\r\n", ",1.5\r\n",
      "#t\r\n", "_\r\n",
      "%1\r\n+a\r\n+b\r\n", ">1\r\n+a\r\n", "*2\r\n,1.5\r\n:1\r\n",
    ].map(Bytes.init))
  func violation(example: Bytes) throws {
    var reader = ReplyReader(limit: 1000)
    #expect(throws: ReplyReader.Violation.self) {
      try reader.feed(ByteBuffer(string: example.text))
      while try reader.next() != nil {}
    }
  }

  private static let padding = String(repeating: " ", count: 64)

  @Test("Arrays of up to seven levels are parsed")
  func levels() throws {
    var reader = ReplyReader(limit: 1000)
    try reader.feed(ByteBuffer(string: String(repeating: "*1\r\n", count: 7) + ":1\r\n"))
    #expect(try reader.next() != nil)
  }

  @Test("The limit counts the bytes and elements of one reply, and starts again with the next")
  func limit() throws {
    var reader = ReplyReader(limit: 1000)
    let reply = "*2\r\n$400\r\n\(String(repeating: "a", count: 400))\r\n:1\r\n"
    for _ in 0..<10 {
      try reader.feed(ByteBuffer(string: reply))
      #expect(try reader.next() != nil)
    }
  }

  @Test("Random bytes, and replies with random changes, never crash", arguments: 0..<20)
  func random(seed: UInt64) {
    var generator = SplitMix64(seed: seed)
    let signs = Array("+-:$*\r\n0123456789,#_%>=(|".utf8)
    for round in 0..<500 {
      var reader = ReplyReader(limit: 4096)
      var bytes: [UInt8]
      if round.isMultiple(of: 2) {
        bytes = (0..<Int.random(in: 1...200, using: &generator)).map { _ in
          signs.randomElement(using: &generator) ?? 0
        }
      } else {
        bytes = Self.examples.flatMap { Array($0.bytes.utf8) }
        for _ in 0..<3 {
          bytes[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(
            in: 0...255, using: &generator)
        }
      }
      do {
        for part in [bytes.prefix(bytes.count / 2), bytes.dropFirst(bytes.count / 2)] {
          try reader.feed(ByteBuffer(bytes: part))
          while try reader.next() != nil {}
        }
      } catch {
        // A violation is one of the possible results.
      }
    }
  }
}

@Suite("The form of commands")
struct CommandWriterTests {
  @Test("Commands have the same bytes as with hiredis' formatter", arguments: 0..<20)
  func sameAsHiredis(seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    let commands: [[[UInt8]]] = (0..<5).map { _ in
      (0..<Int.random(in: 1...30, using: &generator)).map { _ in
        (0..<(Int.random(in: 0...5, using: &generator) == 0
          ? 2000 : Int.random(in: 0...12, using: &generator)))
          .map { _ in UInt8.random(in: 0...255, using: &generator) }
      }
    }
    let expected = try commands.flatMap(formatted)
    #expect(Array(CommandWriter.write(commands, with: .init()).readableBytesView) == expected)
  }

  private func formatted(_ command: [[UInt8]]) throws -> [UInt8] {
    let bytes = command.flatMap { $0 }.map { CChar(bitPattern: $0) }
    return try bytes.withUnsafeBufferPointer { all in
      var offset = 0
      var pointers: [UnsafePointer<CChar>?] = command.map { argument in
        defer { offset += argument.count }
        return all.baseAddress.map { $0 + offset } ?? nil
      }
      var target: UnsafeMutablePointer<CChar>?
      let length = redisFormatCommandArgv(&target, Int32(command.count), &pointers, command.map(\.count))
      let text = try #require(target)
      defer { redisFreeCommand(text) }
      return UnsafeBufferPointer(start: text, count: Int(length)).map { UInt8(bitPattern: $0) }
    }
  }
}
