// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheStore
import TestSupport
import Testing

@testable import HTTPCacheRedis

@Suite("The form of entries in Redis")
struct RedisEntryValueTests {
  @Test("Each content belongs to the variant of its name, in any order of the fields")
  func fields() {
    let fields = [
      ("1", "head 1"), ("b1", "content 1"), ("12", "head 12"), ("b12", "content 12"), ("7", "head 7"),
    ]
    let expected = ["1": "content 1", "12": "content 12", "7": "none"]
    for seed in 0..<200 {
      var generator = SplitMix64(seed: UInt64(seed))
      var variants = RedisEntryValue.Fields(reply(fields.shuffled(using: &generator)))
      var found: [String: String] = [:]
      while let (head, content) = variants.next() {
        let name = String(decoding: head.dropFirst(5), as: UTF8.self)
        found[name] = content.map { String(decoding: $0, as: UTF8.self) } ?? "none"
      }
      #expect(found == expected, "seed \(seed)")
    }
  }

  @Test(
    "Fields that no cache wrote are passed over",
    arguments: [
      ([("b1", "content")], 0), ([("b", "content"), ("b1", "content"), ("2", "head")], 1),
      ([("1", "head"), ("bb1", "content")], 1), ([("", "head"), ("b", "content")], 1), ([], 0),
    ])
  func strangeFields(fields: [(String, String)], count: Int) {
    var variants = RedisEntryValue.Fields(reply(fields))
    var found = 0
    while variants.next() != nil { found += 1 }
    #expect(found == count)
  }

  @Test("Names and values of other kinds are malformed variants, and a name without a value is passed over")
  func otherKinds() {
    for odd in [RedisValue.null, .integer(1), .array([]), .error("no")] {
      var variants = RedisEntryValue.Fields([.string([0x31]), odd, odd, .string([0x31]), .string([0x32])])
      var values: [RedisEntryValue?] = []
      while let (head, _) = variants.next() { values.append(RedisEntryValue(head)) }
      #expect(values.count == 2)
      #expect(values.allSatisfy { $0 == nil })
    }
  }

  @Test(
    "Only decimal numbers that fit are times, lengths and stamps",
    arguments: [
      ("1:2:4:0:0:head", true), ("1:2:4:18446744073709551615:16384:head", true),
      ("9223372036854775807:2:4:0:0:head", true), ("9223372036854775808:2:4:0:0:head", false),
      ("1:2:4:18446744073709551616:1:head", false), ("1:2:4:99999999999999999999:1:head", false),
      ("1:2:4:0:16385:head", false), ("1:2:5:0:0:head", false), ("1:2:3:0:0:head", false),
      ("-1:2:4:0:0:head", false), ("+1:2:4:0:0:head", false), (" 1:2:4:0:0:head", false),
      (":2:4:0:0:head", false), ("1:2:4:0:0", false), ("1:2:4:0:", false), ("", false),
      ("1x:2:4:0:0:head", false),
    ])
  func numbers(text: String, isValid: Bool) {
    let value = RedisEntryValue(Array(text.utf8))
    #expect((value != nil) == isValid)
    if let value { #expect(value.head == Array("head".utf8)) }
  }

  @Test("The name of an entry has the hash of its key in hexadecimal digits, without leading zeros")
  func names() {
    let keys = RedisKeys(prefix: "p:")
    for number in 0..<5000 {
      let key = Array("\(number)".utf8)
      let digits = String(XXH3.hash(key, seed: 7), radix: 16)
      #expect(keys.entry(key, 7) == Array("p:{\(digits)}:e".utf8))
      #expect(keys.lease(key, 7) == Array("p:{\(digits)}:l".utf8))
    }
  }

  private func reply(_ fields: [(String, String)]) -> [RedisValue] {
    fields.flatMap { [.string(Array($0.utf8)), .string(Array($1.utf8))] }
  }
}
