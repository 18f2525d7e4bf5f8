// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Testing

@testable import HTTPCacheProxy

@Suite("Messages between a process and the one that takes its place")
struct SuccessionMessageTests {
  /// Another version of the program sends and reads these bytes.
  private static let forms: [(SuccessionMessage, [UInt8])] = [
    (.hello(version: 1, process: 0x0102_0304), [1, 5, 0, 0, 0, 1, 4, 3, 2, 1]),
    (.socket("a b"), [2, 3, 0, 0, 0, 0x61, 0x20, 0x62]),
    (.sockets(process: 258), [3, 4, 0, 0, 0, 2, 1, 0, 0]),
    (.refused("no"), [4, 2, 0, 0, 0, 0x6E, 0x6F]),
    (.release(directory: "/d"), [5, 2, 0, 0, 0, 0x2F, 0x64]),
    (.released, [6, 0, 0, 0, 0]),
    (.opening, [7, 0, 0, 0, 0]),
    (.paused, [8, 0, 0, 0, 0]),
    (.serving, [9, 0, 0, 0, 0]),
    (.removal(513, [7, 8]), [10, 10, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 7, 8]),
    (.removal(1, []), [10, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]),
    (.pseudonym("ab"), [12, 2, 0, 0, 0, 0x61, 0x62]),
    (.applied(.max), [11, 8, 0, 0, 0] + [UInt8](repeating: 255, count: 8)),
  ]

  private func read(_ bytes: [UInt8]) -> SuccessionMessage? {
    guard let (kind, count) = SuccessionMessage.head(bytes.prefix(5)), bytes.count == 5 + count else {
      return nil
    }
    return SuccessionMessage(kind: kind, Array(bytes.dropFirst(5)))
  }

  @Test("Each message has its bytes, from which it is read")
  func bytes() {
    for (message, bytes) in Self.forms {
      #expect(message.bytes == bytes)
      #expect(read(bytes) == message)
    }
  }

  @Test("A later version's first message is read, whatever follows its number")
  func later() {
    #expect(read([1, 7, 0, 0, 0, 9, 4, 0, 0, 0, 1, 2]) == .hello(version: 9, process: 4))
  }

  @Test("Invalid messages are no messages")
  func invalid() {
    for (_, bytes) in Self.forms where [1, 3, 10, 11].contains(bytes[0]) {
      let content = Array(bytes.dropFirst(5))
      #expect(SuccessionMessage(kind: bytes[0], Array(content.prefix(3))) == nil)
    }
    #expect(SuccessionMessage(kind: 13, []) == nil)
    #expect(SuccessionMessage.head([2, 0, 0, 0]) == nil)
    #expect(SuccessionMessage.head([2, 1, 0, 0, 1]) == nil)
    var generator = SplitMix64(seed: 5)
    for _ in 0..<20_000 {
      let content = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
        UInt8.random(in: .min ... .max, using: &generator)
      }
      let kind = UInt8.random(in: 0...13, using: &generator)
      guard let message = SuccessionMessage(kind: kind, content) else { continue }
      // What it has read, it writes, unless text was not UTF-8 or a later version has said more.
      if read(message.bytes) != message { Issue.record("\(message)") }
    }
  }
}
