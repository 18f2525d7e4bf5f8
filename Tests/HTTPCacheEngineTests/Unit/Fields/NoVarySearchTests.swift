// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import Testing

@Suite("No-Vary-Search", .timeLimit(.minutes(10)))
struct NoVarySearchTests {
  @Test("A No-Vary-Search field with too many keys is ignored")
  func manyKeys() {
    let keys = (0..<511).map { "a\($0)" }.joined(separator: ",")
    #expect(NoVarySearch(parsing: [keys + ",key-order"]) != nil)
    #expect(NoVarySearch(parsing: [keys + ",b,key-order"]) == nil)
  }

  @Test(
    "An invalid or default No-Vary-Search field has no effect",
    arguments: [
      [], [""], ["key-order=\"not a boolean\""], ["params=\"not an inner list\""], ["params=(not-a-string)"],
      ["params=?0"], ["params=?1"], ["params=?1, except=(\"x\")"], ["params=(\"a\"), except=(\"x\")"],
      ["params=(), except=()"], ["except=\"not an inner list\""], ["except=(not-a-string)"], ["except=?1"],
      ["params=()"], ["key-order=?0"], ["params=(\"a\""], ["unknown"], ["key-order=?1, params=7"],
    ])
  func isDefault(lines: [String]) {
    #expect(NoVarySearch(parsing: lines) == nil)
  }

  @Test(
    "Equivalent spellings of No-Vary-Search are parsed alike",
    arguments: [
      (["key-order=?1"], ["key-order"]), (["except=(\"x\")", "key-order"], ["key-order, except=(\"x\")"]),
      (["params=(\"a\" \"b\");x=1, later=7"], ["params=(\"b\" \"a\")"]),
      (["params=(\"%61+b\")"], ["params=(\"a b\")"]),
    ])
  func spellings(one: [String], other: [String]) {
    #expect(NoVarySearch(parsing: one) != nil)
    #expect(NoVarySearch(parsing: one) == NoVarySearch(parsing: other))
  }

  struct Case: Sendable, CustomTestStringConvertible {
    var rule: String
    var one: String
    var other: String
    var areEquivalent: Bool
    init(_ rule: String, _ one: String, _ other: String, _ areEquivalent: Bool) {
      (self.rule, self.one, self.other, self.areEquivalent) = (rule, one, other, areEquivalent)
    }
    var testDescription: String { "\(rule): \(one) \(other)" }
  }

  @Test(
    "URIs share a key exactly if No-Vary-Search makes them equivalent",
    arguments: [
      Case("key-order", "/a", "/a?", true),
      Case("key-order", "/a?a=x", "/a?%61=%78", true),
      Case("key-order", "/a?a=é", "/a?a=%C3%A9", true),
      Case("key-order", "/a?a=%f6", "/a?a=%ef%bf%bd", true),
      Case("key-order", "/a?a=x&&&&", "/a?a=x", true),
      Case("key-order", "/a?a=", "/a?a", true),
      Case("key-order", "/a?a=%20", "/a?a=+&", true),
      Case("key-order", "/a?b=1&a=2", "/a?a=2&b=1", true),
      Case("key-order", "/a?a=1&a=2", "/a?a=2&a=1", false),
      Case("key-order", "/a?a=1", "/b?a=1", false),
      Case("key-order", "/a?a=1", "/a?a=1&b=1", false),
      // Canonically equivalent to Unicode, and not the same code units.
      Case("key-order", "/a?a=%C3%A9", "/a?a=e%CC%81", false),
      // A name's end is not its value's beginning.
      Case("key-order", "/a?ab=c", "/a?a=bc", false),
      Case("key-order", "/a?a=%3D", "/a?a%3D=", false),
      Case("params=(\"utm\")", "/a?id=1&utm=x", "/a?id=1", true),
      Case("params=(\"utm\")", "/a?id=1&utm=x", "/a?utm=y&id=1&utm=z", true),
      Case("params=(\"utm\")", "/a?id=1&p=2", "/a?p=2&id=1", false),
      Case("params=(\"utm\"), key-order", "/a?id=1&p=2", "/a?p=2&utm=1&id=1", true),
      Case("params=(\"%C3%A9+%E6%B0%97\")", "/a?%C3%A9%20気=3", "/a", true),
      Case("except=(\"id\")", "/a?id=1&x=2", "/a?y=7&id=1", true),
      Case("except=(\"id\")", "/a?id=1", "/a?id=2", false),
      Case("except=()", "/a?id=1", "/a?x=2", true),
      // A combining mark behind the question mark is the beginning of a name.
      Case("except=(\"id\")", "/a?\u{301}=1&id=2", "/a?id=2", true),
      Case("params=(\"a\")", "/a?%", "/a?%2", false),
      Case("params=(\"a\")", "/a?b=%zz", "/a?b=%25zz", true),
    ])
  func equivalence(test: Case) throws {
    let rule = try #require(NoVarySearch(parsing: [test.rule]))
    func key(_ path: String, nonce: UInt64 = 7) -> CacheKey {
      CacheKey(TargetURI(scheme: "https", authority: "a.test", path: path), by: rule, nonce: nonce)
    }
    #expect((key(test.one) == key(test.other)) == test.areEquivalent)
    #expect(key(test.one) != key(test.one, nonce: 8))
  }
}
