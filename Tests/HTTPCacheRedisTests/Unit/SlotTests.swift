// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

@testable import HTTPCacheRedis

@Suite("Slots and redirections of a cluster")
struct SlotTests {
  @Test(
    "The slot of a key is that of its hash tag",
    arguments: [
      ("123456789", 0x31C3), ("{123456789}x", 0x31C3), ("a{123456789}{b}", 0x31C3), ("", 0), ("foo", 12182),
      ("{}foo", nil), ("foo{", nil), ("foo}{bar}", 5061), ("bar", 5061), ("foo{{bar}}", 4015), ("{bar", 4015),
    ] as [(String, Int?)])
  func tags(key: String, slot: Int?) {
    let computed = ClusterSlot.of(Array(key.utf8))
    #expect(computed == slot ?? Int(ClusterSlot.crc16(Array(key.utf8)[...])) % 16384)
  }

  static let server = RedisAddress.tcp(host: "10.0.0.1", port: 1)

  @Test(
    "Redirections are read, and malformed ones are not",
    arguments: [
      ("MOVED 3999 127.0.0.1:6381", .moved(slot: 3999, to: .tcp(host: "127.0.0.1", port: 6381))),
      ("MOVED 3999 ::1:6381", .moved(slot: 3999, to: .tcp(host: "::1", port: 6381))),
      ("MOVED 3999 :6381", .moved(slot: 3999, to: .tcp(host: "10.0.0.1", port: 6381))),
      ("MOVED 3999 ?:6381", .moved(slot: 3999, to: .tcp(host: "10.0.0.1", port: 6381))),
      ("ASK 1 h.example:2", .ask(.tcp(host: "h.example", port: 2))), ("TRYAGAIN Multiple keys", .tryAgain),
      ("MOVED", nil), ("MOVED x h:1", nil), ("MOVED 16384 h:1", nil), ("MOVED -1 h:1", nil),
      ("MOVED 1 h", nil),
      ("MOVED 1 h:0", nil), ("MOVED 1 h:65536", nil), ("MOVED 1 h:x", nil), ("ASK 1 h:1 x", nil),
      ("ERR", nil), ("", nil),
    ] as [(String, Redirection?)])
  func redirections(message: String, expected: Redirection?) {
    #expect(Redirection(.error(message), from: Self.server) == expected)
    #expect(Redirection(.string(Array(message.utf8)), from: Self.server) == nil)
  }

  @Test("A map is read, and malformed ones are not")
  func map() throws {
    func range(_ first: Int64, _ last: Int64, _ host: RedisValue, _ port: Int64) -> RedisValue {
      .array([.integer(first), .integer(last), .array([host, .integer(port), .string([])])])
    }
    let host = RedisValue.string(Array("h".utf8))
    let map = try #require(
      SlotMap(.array([range(0, 99, host, 7), range(101, 16383, .null, 8)]), from: Self.server))
    #expect(map[0] == .tcp(host: "h", port: 7))
    #expect(map[99] == .tcp(host: "h", port: 7))
    #expect(map[100] == nil)
    #expect(map[16383] == .tcp(host: "10.0.0.1", port: 8))
    #expect(map[16384] == nil)
    #expect(map[-1] == nil)
    for invalid: RedisValue in [
      .null, .array([]), .array([.null]), .array([range(5, 4, host, 7)]), .array([range(0, 16384, host, 7)]),
      .array([range(-1, 4, host, 7)]), .array([range(0, 4, host, 70000)]), .array([range(0, 4, host, -1)]),
    ] {
      #expect(SlotMap(invalid, from: Self.server) == nil)
    }
  }
}
